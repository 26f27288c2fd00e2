"""regard evaluate: how good a run is on data it has not seen."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.ahead import check_ahead
from regard.commands.completing import runs as complete_runs
from regard.commands.show import as_json, columns, console, line
from regard.commands.shown import Shown
from regard.commands.translate import Device, Int8, Quiet, Set
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.listener import Listener
    from regard.tasks.task import Evaluation, Table
    from regard.trained import Trained


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[a.b=c]…", help="How it answers, such as decoding.kind=greedy.")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            help="Other data: NAME for NAME.de and NAME.en, a .tsv, .csv or .jsonl; text files, folders, patterns; "
            "a folder of images."
        ),
    ] = "",
    beam: Annotated[int, typer.Option(min=0, help="Size of the beam; 1 is greedy, 0 as the recipe says.")] = 0,
    set_: Set = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where scores, answers and picture go; the run if not said.")
    ] = None,
    device: Device = "auto",
    int8: Int8 = False,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Score only likely words: faster.")] = False,
    against: Annotated[
        list[Path] | None, typer.Option(help="Other runs, scored beside it on the same data: --against A B.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Score a run on its test data, with tables and a picture; what is scored depends on its task.

    regard evaluate runs/mine --beam 1

    regard evaluate runs/mine --against runs/base runs/other
    """
    keys, others = _told_apart(overrides or [], against or [])
    keys = [*keys, *(set_ or ()), *(["task.shortlist=true"] if shortlist else [])]
    check_ahead(run)
    from regard.verbs import compare, opened
    from regard.verbs import evaluate as evaluated

    with Shown(quiet) as heard:
        runs = [opened(one, *keys, beam=beam, device=device, int8=int8, listener=heard) for one in [run, *others]]
        warnings = compare(runs, on)
        for warning in warnings:
            heard.say(warning)
        names = _names([one.run.folder for one in runs])
        found = {
            name: evaluated(one, on=on, like=runs[0], listener=heard) for name, one in zip(names, runs, strict=True)
        }
        for name, beside in [*found.items()][1:]:  # of the first one it is said above the tables
            if beside.scored is not None and beside.scored.learnt:
                warnings.append(f"{name} was trained on {beside.scored.data}")
                heard.say(warnings[-1])
        how = [*keys, *([f"beam={beam}"] if beam else []), *(["int8"] if int8 else [])]
        for one in runs if out is None else ():
            one.run.check_still_there()
        written = _keep(found, out or runs[0].run.folder, heard)
        if not _keep_scores(found, runs, out, on, how) and written:
            heard.say(f"{out or run}: the scores cannot be kept there")
    first, *rest = found.values()
    if json:
        more = {"against": {name: one.document() for name, one in zip(names[1:], rest, strict=True)}} if rest else {}
        return as_json(first.document() | more | {"warnings": warnings})
    _show(first, found)
    if written:
        also = [part for path in written[1:] for part in (" and ", (str(path), "bold"))]
        line("Look at ", (str(written[0]), "bold"), *also, ".")
    return None


def _told_apart(words: list[str], against: list[Path]) -> tuple[list[str], list[Path]]:
    """Keys, and the runs to compare with: `--against A B` names two."""
    from regard.recipe.read import is_run

    runs = [word for word in words if "=" not in word and (against or is_run(word))]
    if runs and not against:
        raise InputError(f"{runs[0]}: one run is scored at a time; to compare them say --against {' '.join(runs)}")
    return [word for word in words if word not in runs], [*against, *map(Path, runs)]


def _names(folders: list[Path]) -> list[str]:
    """The names of folders where they differ, or else their whole places."""
    short = [folder.absolute().name for folder in folders]
    long = [str(folder) for folder in folders]
    named = short if len(set(short)) == len(short) else long
    return named if len(set(named)) == len(named) else [f"{name} ({n})" for n, name in enumerate(named, 1)]


def _keep(found: "Mapping[str, Evaluation]", folder: Path, heard: "Listener") -> list[Path]:
    """Answers and picture; where they cannot be kept, that is said, and the scores are shown all the same."""
    from regard.disk import place, write
    from regard.disk.write import reason

    folder, first, written = place(folder), next(iter(found.values())), list[Path]()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if picture := first.draw(folder, found, heard):
            written.append(picture)
        for name, content in first.files().items():
            write(folder / name, content)
            written.append(folder / name)
    except OSError as error:
        heard.say(f"{folder}: nothing can be kept there ({reason(error)}); --out names another place")
    return written


def _keep_scores(
    found: "Mapping[str, Evaluation]", runs: "list[Trained]", out: Path | None, on: str, how: list[str]
) -> bool:
    """In each run, or where else they are wanted those of the first; False where that cannot be."""
    from regard.disk import place
    from regard.run import scores

    done = True
    for one, trained in zip(found.values(), runs, strict=True):
        assert one.scored is not None
        own = not on and one.scored.data_hash == runs[0].run.facts.get("data") == trained.run.facts.get("data")
        named = "" if own else one.scored.data
        split, learnt = one.scored.split, one.scored.learnt
        if out is None:
            kept = trained.run.keep_scores(one.scores, step=trained.step, on=named, split=split, how=how, learnt=learnt)
            done = done and kept
        elif trained is runs[0]:
            done = scores.keep(place(out), scores.entry(one.scores, trained.step, named, split, how, learnt))
    return done


def _show(first: "Evaluation", found: "Mapping[str, Evaluation]") -> None:
    line(first.about[:1].upper() + first.about[1:])
    console.print()
    for table in [*first.tables(), *([first.beside(found)] if len(found) > 1 else [])]:
        if table is not None and table.rows:
            _table(table)
    for note in first.notes():
        line(note, style="dim")
    if first.notes():
        console.print()


def _table(table: "Table") -> None:
    shown = columns(*table.heads)
    shown.show_header = any(head.strip() for head in table.heads)
    for row in table.rows:
        shown.add_row(*(cell.replace("[", "\\[") for cell in row))
    console.print(shown)
    console.print()
