"""The tour of images: a small Vision Transformer learns to read letters, and shows where it looks."""

import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.commands.demos.tour import Tour
from regard.commands.show import columns, console, line

if TYPE_CHECKING:
    from regard.looking.images import Look
    from regard.tasks.task import Evaluation
    from regard.trained import Trained

RECIPE, TITLE = "glyphs-vit", "A small Vision Transformer"
SHOWN, APART = 5, 37  # images that it is asked about, and how far they are apart in the test split
PICTURE = "looks.png"


def show(tour: Tour) -> None:
    """Train a small Vision Transformer from nothing, let it read letters, and look at where it looks."""
    from regard.commands.shown import Shown
    from regard.looking.images import draw_looks

    folder = tour.folder(RECIPE)
    if tour.tells:
        line("To a Transformer an image is a ", ("sequence of patches", "bold"), ": squares, one after the other.")
        console.print("This one learns to read letters and digits in many fonts, from nothing but pixels.\n")
    run, scores = tour.learn(RECIPE, TITLE, folder)
    if not tour.json:
        _how_good(scores)
    read, looks = _read(run)
    with Shown(quiet=tour.json) as heard:
        picture = draw_looks(looks, run.run.folder / PICTURE, heard)
    if tour.json:
        return tour.for_machines({folder: (RECIPE, scores)}, picture, read=read)
    _answers(read)
    _look(looks, picture)
    named = shlex.quote(str(folder))
    tour.next(
        f"regard classify {named} IMAGE --show look.png",
        f"regard evaluate {named}",
        f"regard train {RECIPE} data.train=FOLDER",
    )
    line("  where IMAGE is a picture of one letter, and FOLDER has a folder of such images for each class.")
    line("  Photographs, which may be mirrored and have colours: ", ("regard train vit-32 data.train=FOLDER", "bold"))
    return None


def _how_good(found: "Evaluation") -> None:
    from regard.tasks.classification.evaluation import ClassificationScores

    assert isinstance(found, ClassificationScores)
    line((f"{found.accuracy:.1f} %", "green"), f" of {found.images:,} letters it has never seen are read right;")
    if pairs := found.confused:
        line("most often ", (pairs[0][0], "bold"), " is taken for ", (pairs[0][1], "bold"), ".\n")


def _read(run: "Trained") -> "tuple[list[dict[str, Any]], dict[str, Look]]":
    """What it says of a few letters of the test split, and where it looked."""
    unseen = list(islice(run.task.data.read("test"), 0, SHOWN * APART, APART))
    found = run.answerer.classify([one.pixels for one in unseen], [one.name for one in unseen], top=2)
    read = [
        {"name": one.name, "is": one.label, "named": answer.labels, "probabilities": answer.probabilities}
        for one, answer in zip(unseen, found, strict=True)
    ]
    titles = (f"{n}: {answer.label}, {100 * answer.probability:.0f} %" for n, answer in enumerate(found, 1))
    return read, {title: run.answerer.look(one.pixels) for title, one in zip(titles, unseen, strict=True)}


def _answers(read: list[dict[str, Any]]) -> None:
    table = columns("never seen in training", "it says", " how sure", "or else")
    for one in read:
        sure = f"{100 * one['probabilities'][0]:.1f} %"
        table.add_row(one["is"], one["named"][0], sure, one["named"][1])
    console.print(table)


def _look(looks: "dict[str, Look]", picture: Path) -> None:
    console.print("\nA letter, and where the model looked before it named it (attention rollout):\n")
    console.print(str(next(iter(looks.values()))))
    line("\nAs a picture, with the others: ", (str(picture), "bold"))
