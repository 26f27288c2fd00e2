"""regard demo: the tour. Two models learn German numbers while you watch."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.show import columns, console, line
from regard.commands.translate import Quiet

if TYPE_CHECKING:
    from regard.tasks.translation.evaluation import TranslationScores
    from regard.trained import Trained

RECIPES = {"numbers-gru": "GRU + additive attention", "numbers-transformer": "Transformer"}
SHOWN = "neuntausendzweihundertsiebenundvierzig"
COMMAND = "regard demo"  # how a run says that the demo made it
LOOKED_AT = "numbers-transformer"
PICTURE = "alignment.png"


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where runs and pictures go.")] = Path("out/demo"),
    json: Annotated[bool, typer.Option("--json", help="One JSON line per event, for machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train two small translators from nothing, and look at what they look at: two minutes on two cores."""
    from regard.disk import place

    out, tell = place(out), not (json or quiet)
    folders = {name: _folder(out, name, tell) for name in RECIPES}
    if tell:
        line("German says units before tens: ", ("siebenundvierzig", "bold"), " is seven-and-forty, forty-seven.")
        console.print("Two small models learn that from 8,000 examples, starting from nothing.\n")
    found = {name: _learn(name, folder, json, quiet) for name, folder in folders.items()}
    runs = {name: run for name, (run, _) in found.items()}
    picture = _draw(runs[LOOKED_AT], RECIPES[LOOKED_AT], json)
    if json:
        return _as_json({name: scores for name, (_, scores) in found.items()}, folders, picture)
    _compare(runs)
    _look(runs[LOOKED_AT])
    line("\nThe same as a picture: ", (str(picture), "bold"))
    return _next(folders)


def _folder(out: Path, name: str, tell: bool) -> Path:
    """Where a model of the demo goes: with what an earlier demo made it goes on, what anybody else made stays."""
    number, folder = 1, out / name
    while folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        if _made_by_demo(folder):
            break
        number += 1
        folder = out / f"{name}-{number}"
    if tell and number > 1:
        line(f"{out / name} is not the demo's and stays as it is; this one goes to {folder}.")
    return folder


def _made_by_demo(folder: Path) -> bool:
    """Whether an earlier demo made all of a run, and nobody has trained it further."""
    from regard.errors import InputError
    from regard.run import Run

    try:
        commands = Run.open(folder).facts.get("commands") if not folder.is_symlink() else None
    except InputError:
        return False
    return isinstance(commands, list) and len(commands) == 1 and str(commands[0]).startswith(COMMAND)


def _learn(name: str, folder: Path, json: bool, quiet: bool) -> "tuple[Trained, TranslationScores]":
    from regard.commands.reporter import Reporter, stopped
    from regard.recipe.read import is_run
    from regard.run.curve import keep_picture
    from regard.tasks.translation.evaluation import TranslationScores
    from regard.training.events import Ended
    from regard.training.stop import Stop
    from regard.training.train import training
    from regard.verbs import evaluate, opened

    stop, last = Stop(), None
    if not (json or quiet):
        line((RECIPES[name], "bold"), f" (recipe {name})")
    again = is_run(folder)
    if again and not (json or quiet):
        line(f"{folder} is there from an earlier demo; remove it to begin from nothing.")
    with stop.on_signals(), Reporter(json, False, quiet, stop) as report:
        command = f"{COMMAND} --out {shlex.quote(str(folder.parent))}"
        recipe, out = (str(folder), None) if again else (name, folder)
        for last in training(recipe, out=out, resume=again, stop=stop, listener=report, command=command):
            report(last)
        keep_picture(folder, folder.name, report)
    if isinstance(last, Ended) and last.why == "stopped":
        stopped(folder, last.step, stop, to_people=not (json or quiet))
        sys.exit(stop.code)
    trained = opened(folder)
    found = evaluate(trained)
    assert isinstance(found, TranslationScores)
    if not json:
        right = (f"{100 * found.exact:.1f} %", "green")
        line(right, f" of {found.pairs} numbers it has never seen are right, to the letter.\n")
    return trained, found


def _compare(runs: "dict[str, Trained]") -> None:
    """A few unseen numbers side by side."""
    data = next(iter(runs.values())).task.data
    unseen = [source for source, _ in data.read("test")][:60:12]
    table = columns("never seen in training", *(RECIPES[name] for name in runs))
    answers = [run.answerer.translate(unseen) for run in runs.values()]
    for row in zip(unseen, *answers, strict=True):
        table.add_row(row[0], *(found.text for found in row[1:]))
    console.print(table)


def _look(run: "Trained") -> None:
    console.print("\nWhere the Transformer looked (columns) while it wrote each word (rows) of")
    line((SHOWN, "bold"), ": the units come first, and are written last.\n")
    written = run.answerer.translate([SHOWN])[0].text
    console.print(str(run.answerer.align(SHOWN, written)))


def _draw(run: "Trained", title: str, json: bool) -> Path:
    from regard.commands.shown import Shown

    seen = run.answerer.align(SHOWN, run.answerer.translate([SHOWN])[0].text)
    with Shown(quiet=json) as heard:
        drawn: Path = seen.draw(run.run.folder / PICTURE, title, heard)
    return drawn


def _as_json(found: "dict[str, TranslationScores]", folders: dict[str, Path], picture: Path) -> None:
    from regard.disk.files import json_text

    scores: dict[str, Any] = {name: one.document() | {"folder": str(folders[name])} for name, one in found.items()}
    print(json_text({"event": "demo", "runs": scores, "picture": str(picture)}), flush=True)


def _next(folders: dict[str, Path]) -> None:
    gru, transformer = folders.values()
    console.print("\nNext:")
    line("  ", (f"regard translate {shlex.quote(str(gru))} neunundneunzig --attention", "bold"))
    line("  ", (f"regard evaluate {shlex.quote(str(transformer))}", "bold"))
    line("  ", ("regard train transformer-tiny data.train=FILE data.source=de data.target=en", "bold"))
    line("  where FILE.de and FILE.en are your own sentences, line by line.")
