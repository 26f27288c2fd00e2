"""regard classify: what images show, by files, folders, patterns or a pipe of names."""

import csv as tables
import json as jsons
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.completing import runs as complete_runs
from regard.commands.shown import Shown
from regard.commands.translate import Device, Quiet
from regard.datasets.lines import one_line
from regard.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from regard.commands.asked import Asked as Line
    from regard.tasks.classification import Classified, Classifier
    from regard.tasks.classification.asked import Asked

TOGETHER = 64  # images that are read and classified at a time, where so many are waiting
PIPE = "-"


def classify(
    run: Annotated[Path, typer.Argument(help="A run folder of a classifier.", autocompletion=complete_runs)],
    image: Annotated[
        list[str] | None,
        typer.Argument(
            help="Images, folders, archives or patterns such as 'photos/*.jpg'; a pipe of names if not said."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many classes of each, likeliest first.")] = 3,
    show: Annotated[
        Path | None,
        typer.Option(help="Draw where it looked: a picture (.png, .svg, .pdf), or a folder for those of many images."),
    ] = None,
    device: Device = "auto",
    int8: Annotated[bool, typer.Option("--int8", help="Eight-bit matrices: faster, a little less exact.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per image, for machines.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="A table with commas and a line of heads.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what images show: a line for each, its likeliest classes and how likely they are.

    regard classify runs/mine cat.jpg photos/ --top 5

    find photos -name '*.png' | regard classify runs/mine --csv > found.csv

    regard classify runs/mine cat.jpg --show look.png
    """
    if json and csv:
        raise InputError("--json and --csv: one of them")
    from regard.verbs import classifier_of, opened

    names = _names(image or [])
    with Shown(quiet) as heard:
        classifier = classifier_of(opened(run, device=device, int8=int8, listener=heard))
        writer = _Writer(classifier, heard, top, _Form(json, csv), show)
        for some in names:
            asked = (one for name in some for one in ([name] if isinstance(name, InputError) else _images(name)))
            while group := list(islice(asked, min(TOGETHER, classifier.together))):
                writer.answer(group)
        writer.end()


def _names(typed: list[str]) -> Iterator[list[str | InputError]]:
    """Names of images, folders and archives: those that were typed, or those of a pipe as they come."""
    from regard.commands.asked import asked_lines
    from regard.commands.waiting import waiting
    from regard.tasks.classification.asked import check_name

    if PIPE in typed and len(typed) > 1:
        raise InputError("-: names come from a pipe or from the command line, not from both")
    if typed and typed != [PIPE]:
        for name in typed:
            check_name(name)
        return iter([[*typed]])
    if not typed and sys.stdin.isatty():
        raise InputError("nothing to classify: name an image, a folder or an archive of them, or send names by a pipe")
    lines = asked_lines([], [Path(PIPE)], "images", "classify")
    return ([_name(line) for line in some if line.text.strip() or line.refused] for some in waiting(lines, TOGETHER))


def _name(line: "Line") -> str | InputError:
    return InputError(f"{line.place}: {line.refused}") if line.refused else line.text


def _images(name: str) -> "Iterator[Asked | InputError]":
    """What a name stands for; one that stands for nothing stops nothing but itself."""
    from regard.tasks.classification.asked import named_images

    try:
        yield from named_images(name)
    except InputError as error:
        yield error


class _Form:
    """How a line is written: for people, as JSON, or as a row of a table."""

    def __init__(self, json: bool, csv: bool) -> None:
        self.json, self.csv = json, csv
        self._rows = tables.writer(sys.stdout, lineterminator="\n")

    def head(self, top: int) -> None:
        """The heads of a table."""
        if self.csv:
            more = [f"{name}_{place}" for place in range(2, top + 1) for name in ("class", "probability")]
            self._rows.writerow(("image", "class", "probability", *more))

    def found(self, one: "Classified") -> None:
        pairs = list(zip(one.labels, one.probabilities, strict=True))
        if self.json:
            classes = [{"class": label, "probability": round(chance, 6)} for label, chance in pairs]
            return self._json({"image": one.name, "classes": classes})
        if self.csv:
            self._rows.writerow((one.name, *(cell for label, chance in pairs for cell in (label, f"{chance:.6f}"))))
            return sys.stdout.flush()
        likely = "\t".join(f"{one_line(label)}\t{chance:.4f}" for label, chance in pairs)
        print(f"{one_line(one.name)}\t{likely}", flush=True)
        return None

    def refused(self, error: InputError) -> None:
        """What a machine is told of an image that was not classified; people hear of it otherwise."""
        if self.json:
            self._json({"refused": error.on_command_line})

    def _json(self, row: dict[str, Any]) -> None:
        print(jsons.dumps(row, ensure_ascii=False), flush=True)


def _read(asked: "Asked | InputError") -> "tuple[str, NDArray[np.uint8]] | InputError":
    """An image by its name, or why there is none."""
    if isinstance(asked, InputError):
        return asked
    try:
        return asked.name, asked.pixels()
    except InputError as error:
        return error


class _Writer:
    """Reads, classifies, writes and draws some images at a time; what cannot be read is told, and the others go on."""

    def __init__(self, classifier: "Classifier", heard: Shown, top: int, form: _Form, show: Path | None) -> None:
        from regard.commands.warned import Warned
        from regard.tasks.classification.showing import Pictures

        self.classifier, self.heard, self.form = classifier, heard, form
        self.top = min(top, len(classifier.facts.classes))
        self.pictures = None if show is None else Pictures(classifier, show)
        self.done, self.warned = 0, Warned(heard, "classified", ("image", "images"))
        self._only: InputError | None = None  # refused before all else: it may be all that there is to say
        self.form.head(self.top)

    def answer(self, asked: "list[Asked | InputError]") -> None:
        """Some more images."""
        read = [_read(one) for one in asked]
        ready = [one for one in read if not isinstance(one, InputError)]
        found = iter(self.classifier.classify([pixels for _, pixels in ready], [name for name, _ in ready], self.top))
        self.heard.clear()
        for one in read:
            if isinstance(one, InputError):
                self._refuse(one)
                continue
            self._say_only()
            classified = next(found)
            self.form.found(classified)
            if self.pictures is not None:
                self.pictures.draw(classified, one[1], self.heard)
        self.done += len(ready)
        self.heard.at("classifying", self.done)

    def _refuse(self, error: InputError) -> None:
        self.form.refused(error)
        self._say_only()
        if not self.done and not self.warned.any:
            self._only = error
        else:
            self.warned.refuse(error.on_command_line)

    def _say_only(self) -> None:
        if self._only is not None:
            self.warned.refuse(self._only.on_command_line)
            self._only = None

    def end(self) -> None:
        """What there is to say behind all lines."""
        if self._only is not None:
            raise self._only
        drawn = [] if self.pictures is None else self.pictures.drawn
        if drawn:
            some = f"{len(drawn):,} pictures in {drawn[0].parent}"
            self.heard.say(f"look at {drawn[0] if len(drawn) == 1 else some}")
        self.warned.sum_up()
        if not self.done:
            self.heard.say("nothing was classified: there was no name")
