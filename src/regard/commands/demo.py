"""regard demo: the tour. Two models learn German numbers while you watch."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.show import columns, console, line

if TYPE_CHECKING:
    from regard.trained import Trained

RECIPES = {"numbers-gru": "GRU + additive attention", "numbers-transformer": "Transformer"}
SHOWN = "siebentausenddreihundertzweiundfünfzig"


def demo(out: Annotated[Path, typer.Option(help="Where runs and pictures go.")] = Path("out/demo")) -> None:
    """Train two small translators from nothing, and look at what they look at: two minutes on two cores."""
    line("German says units before tens: ", ("siebenundvierzig", "bold"), " is seven-and-forty, forty-seven.")
    line("Two small models learn that from 8,000 examples, starting from nothing.\n")
    runs = {name: _learn(name, title, out / name) for name, title in RECIPES.items()}
    _compare(runs)
    shown = runs["numbers-transformer"]
    line("\nWhere the Transformer looked while it wrote each word of")
    line(f"{SHOWN}:\n")
    written = shown.answerer.translate([SHOWN])[0].text
    console.print(str(shown.answerer.align(SHOWN, written)))
    pictures = [
        run.answerer.align(SHOWN, written).draw(out / f"{name}-alignment.png", RECIPES[name])
        for name, run in runs.items()
    ]
    console.print()
    line("Look at ", (str(pictures[0]), "bold"), " and ", (str(pictures[1]), "bold"), ".")
    line("\nNext:")
    line("  ", (f"regard translate {out}/numbers-gru neunundneunzig --attention", "bold"))
    line("  ", (f"regard evaluate {out}/numbers-transformer", "bold"))
    line("  ", ("regard train transformer-tiny data.train=FILE data.source=de data.target=en", "bold"))
    line("  where FILE.de and FILE.en are your own sentences, line by line.")


def _learn(name: str, title: str, folder: Path) -> "Trained":
    from regard.commands.reporter import Reporter
    from regard.tasks.translation.evaluation import TranslationScores
    from regard.trained import open_run
    from regard.training.stop import Stop
    from regard.training.train import training
    from regard.verbs import evaluate

    line((title, "bold"), f" (recipe {name})")
    if (folder / "recipe.toml").is_file():
        shutil.rmtree(folder)  # a demo begins from nothing
    stop = Stop()
    with Reporter() as report:
        for event in training(name, out=folder, stop=stop):
            report(event)
    trained = open_run(folder)
    found = evaluate(trained)
    assert isinstance(found, TranslationScores)
    right = (f"{100 * found.exact:.1f} %", "green")
    line(right, f" of {found.pairs} numbers it has never seen are right, to the letter.\n")
    return trained


def _compare(runs: "dict[str, Trained]") -> None:
    """A few unseen numbers side by side."""
    data = next(iter(runs.values())).task.data
    unseen = [source for source, _ in data.read("test")][:60:12]
    table = columns("never seen in training", *(RECIPES[name] for name in runs))
    answers = [run.answerer.translate(unseen) for run in runs.values()]
    for row in zip(unseen, *answers, strict=True):
        table.add_row(row[0], *(found.text for found in row[1:]))
    console.print(table)
