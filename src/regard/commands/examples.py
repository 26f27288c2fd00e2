"""regard look --examples: the examples of the notes as pages, each told as soon as it is written."""

from collections.abc import Sequence
from pathlib import Path

import typer

from regard.commands.show import as_json, line, plainly
from regard.commands.shown import Shown
from regard.errors import InputError

OUT = Path("out/examples")


def check_asked(run: Path | None, given: object, examples: bool, more: bool) -> None:
    """A run is looked at, or examples are made: not both, and not neither."""
    if examples and (run is not None or given):
        raise InputError("--examples makes runs of its own: leave out the run and what is asked of it")
    if more and not examples:
        raise InputError("--only and --smollm2 choose examples: say --examples too")
    if run is None and not examples:
        raise typer.BadParameter("missing argument 'RUN': a run folder, or --examples")


def show_examples(out: Path | None, only: Sequence[str], smollm2: bool, json: bool, quiet: bool) -> None:
    """One line for each page; the list of all is index.html."""
    from regard.examples.pages import INDEX, make

    folder, found = out or OUT, []
    with Shown(quiet or json) as heard:
        for story in make(folder, only, smollm2, heard):
            heard.clear()
            found.append(story.facts() | {"page": str(folder / story.page)})
            if not (json or quiet):
                line((str(folder / story.page), "bold"), f": {story.verdict}")
    if json:
        return as_json(found)
    return plainly(folder / INDEX) if quiet else line("Open ", (str(folder / INDEX), "bold"), " in a browser.")
