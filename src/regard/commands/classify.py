"""regard classify: what images show, by files, folders, patterns or a pipe of names."""

import json as jsons
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cells import CsvWriter
from regard.commands.ahead import check_ahead
from regard.commands.asked_images import ImageNames, Refusals, groups_read, is_several
from regard.commands.completing import runs as complete_runs
from regard.commands.show import plainly
from regard.commands.shown import Shown
from regard.commands.streams import Unread
from regard.commands.translate import Device, Int8, Quiet
from regard.datasets.lines import one_line
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.commands.asked_images import Read
    from regard.tasks.classification import Classified, Classifier
    from regard.tasks.classification.showing import Pictures


def classify(
    run: Annotated[Path, typer.Argument(help="A run folder of a classifier.", autocompletion=complete_runs)],
    image: ImageNames = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many classes of each, likeliest first.")] = 3,
    show: Annotated[
        Path | None,
        typer.Option(help="Draw where it looked: a picture (.png, .svg, .pdf), or a folder for those of many images."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over pictures that are there already.")] = False,
    device: Device = "auto",
    int8: Int8 = False,
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
    if overwrite and show is None:
        raise InputError("--overwrite: nothing is written without --show")
    check_ahead(run)
    from regard.tasks.classification.showing import Pictures
    from regard.tasks.images.places import Places
    from regard.verbs import check_verb, classifier_of, opened

    check_verb(run, "classify", "classifier")  # first: its texts would be names of no images
    read = groups_read(image, "classify")
    if show is not None:
        Places(show, overwrite=overwrite).check(is_several(image))
    with Shown(quiet) as heard, Unread(files=show is not None) as unread:
        classifier = classifier_of(opened(run, device=device, int8=int8, listener=heard))
        pictures = None if show is None else Pictures(classifier, show, overwrite)
        writer = _Writer(classifier, heard, top, _Form(json, csv), pictures, unread)
        for group in read(classifier.together):
            writer.answer(group)
        writer.end()


class _Form:
    """How a line is written: for people, as JSON, or as a row of a table."""

    def __init__(self, json: bool, csv: bool) -> None:
        self.json, self.csv = json, csv
        self._rows = CsvWriter(sys.stdout)

    def head(self, top: int) -> None:
        """The heads of a table."""
        if self.csv:
            more = [f"{name}_{place}" for place in range(2, top + 1) for name in ("class", "probability")]
            self._rows.row(("image", "class", "probability", *more))

    def found(self, one: "Classified") -> None:
        pairs = list(zip(one.labels, one.probabilities, strict=True))
        if self.json:
            classes = [{"class": label, "probability": round(chance, 6)} for label, chance in pairs]
            return self._json({"image": one.name, "classes": classes})
        if self.csv:
            self._rows.row((one.name, *(cell for label, chance in pairs for cell in (label, f"{chance:.6f}"))))
            sys.stdout.flush()
            return None
        likely = "\t".join(f"{one_line(label)}\t{chance:.4f}" for label, chance in pairs)
        return plainly(f"{one_line(one.name)}\t{likely}")

    def refused(self, error: InputError) -> None:
        """What a machine is told of an image that was not classified; people hear of it otherwise."""
        if self.json:
            self._json({"refused": error.on_command_line})

    def _json(self, row: dict[str, Any]) -> None:
        plainly(jsons.dumps(row, ensure_ascii=False))


class _Writer:
    """Classifies, writes and draws some images at a time; what could not be read is told, and the others go on."""

    def __init__(
        self,
        classifier: "Classifier",
        heard: Shown,
        top: int,
        form: _Form,
        pictures: "Pictures | None",
        unread: Unread,
    ) -> None:
        self.classifier, self.heard, self.form, self.unread = classifier, heard, form, unread
        self.top = min(top, len(classifier.facts.classes))
        self.pictures = pictures
        self.refusals = Refusals(heard, "classified")
        self.form.head(self.top)

    def answer(self, read: "list[Read]") -> None:
        """Some more images."""
        ready = [one for one in read if not isinstance(one, InputError)]
        found = iter(self.classifier.classify([pixels for _, pixels in ready], [name for name, _ in ready], self.top))
        self.heard.clear()
        for one in read:
            if isinstance(one, InputError):
                with self.unread.lines():
                    self.form.refused(one)
                self.refusals.refuse(one)
                continue
            self.refusals.answer()
            classified = next(found)
            with self.unread.lines():
                self.form.found(classified)
            if self.pictures is not None:
                self.pictures.draw(classified, one[1], self.heard)
        self.heard.at("classifying", self.refusals.answered)

    def end(self) -> None:
        """What there is to say behind all lines."""
        if self.pictures is not None and self.pictures.places.given:
            self.heard.say(f"look at {self.pictures.places.told}")
        self.refusals.end()
