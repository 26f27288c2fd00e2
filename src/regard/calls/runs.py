"""regard.runs and regard.pack: which runs there are, and a slim copy of one to hand on."""

from pathlib import Path

from regard.calls.given import name_of
from regard.calls.hearing import work_heard
from regard.figures import text_table
from regard.listener import Listener
from regard.markup import table
from regard.run import Run
from regard.run.overview import HEADS, Overview
from regard.run.overview import runs as found_in
from regard.trained import Trained
from regard.trained import pack as packed
from regard.verbs import RunLike


class RunList(list[Overview]):
    """Runs in figures, those that changed last first; printed, a table."""

    def __str__(self) -> str:
        return text_table(HEADS, [one.row() for one in self]) if self else "no runs"

    def _repr_html_(self) -> str:
        return table(HEADS, [one.row() for one in self]) if self else "no runs"


def runs(folder: str | Path = "runs") -> RunList:
    """The runs in a folder and a little below it: `for one in regard.runs(): print(one.folder, one.scores)`.

    Each is an `Overview`: its folder, task, state, steps, best score, size and age. `open_run(one.folder)` opens it.
    """
    return RunList(found_in(name_of("folder", folder, "the name of a folder")))


def pack(run: RunLike, out: str | Path, *, progress: bool | None = None, listener: Listener | None = None) -> Run:
    """Copy what it takes to use a run into a new folder: its best weights, recipe, tokenizers and a card.

    Neither data nor optimizer state nor any path of this machine goes along; the copy is a run that can be used, not
    trained on.
    """
    source = run.run if isinstance(run, Trained) else run
    folder, copy = name_of("run", source, "a run, or its folder"), name_of("out", out, "the name of a new folder")
    with work_heard(progress, listener) as heard:
        return packed(folder, copy, heard)
