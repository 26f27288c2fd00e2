"""The tour of translation: two small models learn German numbers, and one shows where it looks."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from regard.commands.demos.tour import Tour
from regard.commands.show import columns, console, line

if TYPE_CHECKING:
    from regard.tasks.task import Evaluation
    from regard.trained import Trained

RECIPES = {"numbers-gru": "GRU + additive attention", "numbers-transformer": "Transformer"}
SHOWN = "neuntausendzweihundertsiebenundvierzig"
LOOKED_AT = "numbers-transformer"
PICTURE = "alignment.png"


def show(tour: Tour) -> None:
    """Train two small translators from nothing, and look at what they look at."""
    folders = {name: tour.folder(name) for name in RECIPES}
    if tour.tells:
        line("German says units before tens: ", ("siebenundvierzig", "bold"), " is seven-and-forty, forty-seven.")
        console.print("Two small models learn that from 8,000 examples, starting from nothing.\n")
    runs: dict[str, Trained] = {}
    found: dict[Path, tuple[str, Evaluation]] = {}
    for name, folder in folders.items():
        runs[name], scores = tour.learn(name, RECIPES[name], folder)
        found[folder] = name, scores
        if not tour.json:
            _how_good(scores)
    picture = _draw(runs[LOOKED_AT], RECIPES[LOOKED_AT], tour.json)
    if tour.json:
        return tour.for_machines(found, picture)
    _compare(runs)
    _look(runs[LOOKED_AT])
    line("\nThe same as a picture: ", (str(picture), "bold"))
    gru, transformer = (shlex.quote(str(folder)) for folder in folders.values())
    tour.next(
        f"regard translate {gru} neunundneunzig --attention",
        f"regard evaluate {transformer}",
        "regard train transformer-tiny data.train=FILE data.source=de data.target=en",
    )
    line("  where FILE.de and FILE.en are your own sentences, line by line.")
    return None


def _how_good(found: "Evaluation") -> None:
    from regard.tasks.translation.evaluation import TranslationScores

    assert isinstance(found, TranslationScores)
    right = (f"{100 * found.exact:.1f} %", "green")
    line(right, f" of {found.pairs} numbers it has never seen are right, to the letter.\n")


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
