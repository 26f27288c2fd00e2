"""regard evaluate: how good a run is on data it has not seen."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.completing import runs as complete_runs
from regard.commands.show import as_json, columns, console, line
from regard.commands.shown import Shown

if TYPE_CHECKING:
    from regard.tasks.task import Evaluation, Table


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[a.b=c]…", help="How it answers, such as decoding.beam_size=1.")
    ] = None,
    on: Annotated[str, typer.Option(help="Other data: NAME for NAME.de and NAME.en, or one .tsv or .jsonl.")] = "",
    beam: Annotated[int, typer.Option(min=0, help="Size of the beam; 1 is greedy, 0 as the recipe says.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where answers and plot go; the run if not said.")] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Eight-bit matrices: faster, a little less exact.")] = False,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Score only likely words: faster.")] = False,
    against: Annotated[list[Path] | None, typer.Option(help="Another run, scored beside it on the same data.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Score a run on its test data, with tables and a picture; what is scored depends on its task."""
    from regard.decoding.resize import beam_keys
    from regard.run import Run
    from regard.trained import open_run
    from regard.verbs import evaluate as evaluated

    keys = [*(overrides or ()), *(["task.shortlist=true"] if shortlist else [])]
    all_found: dict[str, Evaluation] = {}
    folders = [run, *(against or [])]
    beams = [beam_keys(Run.open(one).recipe.get("decoding", {}), beam) for one in folders]
    with Shown() as heard:
        asked = zip(folders, beams, strict=True)
        opened = [open_run(one, *keys, *more, listener=heard, int8=int8) for one, more in asked]
        for one, trained in zip(folders, opened, strict=True):
            name = trained.recipe.name if trained.recipe.name not in all_found else str(one)
            all_found[name] = evaluated(trained, on=on, like=opened[0], listener=heard)
    found, folder = next(iter(all_found.values())), out or run
    folder.mkdir(parents=True, exist_ok=True)
    written = [picture] if (picture := found.draw(folder, all_found)) else []
    for name, content in found.files().items():
        written.append(folder / name)
        written[-1].write_bytes(content)
    if json:
        rows = {name: one.facts() for name, one in all_found.items()}
        return as_json(found.facts() | ({"against": dict(list(rows.items())[1:])} if against else {}))
    for table in [*found.tables(), *([found.beside(all_found)] if against else [])]:
        if table is not None:
            _show(table)
    if written:
        more = [part for path in written[1:] for part in (" and ", (str(path), "bold"))]
        line("Look at ", (str(written[0]), "bold"), *more, ".")
    return None


def _show(table: "Table") -> None:
    shown = columns(*table.heads)
    shown.show_header = any(head.strip() for head in table.heads)
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)
    console.print()
