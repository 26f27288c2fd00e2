"""Images as numbers: decoded and brought to one size once, kept on disk under a fingerprint, and mapped into memory."""

import json
import shutil
from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.datasets.data import Report, Split, short_hash
from regard.datasets.images.fit import Fit, Shape, fitted
from regard.datasets.images.images import ANY, Images, note_classes
from regard.datasets.images.picture import open_picture
from regard.disk import read_json
from regard.disk.cache import bound, cache, discard, used, workshop
from regard.disk.mapped import DAMAGE, FACTS, is_whole, mapped, settle, summed
from regard.errors import InputError
from regard.figures import size
from regard.listener import SILENT, Listener

FORMAT, TRIES = 1, 2
IMAGES, LABELS, NAMES, ENDS = "images", "labels", "names", "ends"
KINDS: dict[str, Any] = {IMAGES: np.uint8, LABELS: np.int64, NAMES: np.uint8, ENDS: np.int64}
UNKNOWN = "of a class that is not learnt"
EVERY = 64  # images between two words to the listener
REMEDY = "REGARD_CACHE names another place"

__all__ = ["Fit", "Pixels", "Shape", "fitted", "open_picture", "pixels"]


@dataclass(frozen=True)
class Pixels:
    """The images of a split, all of one size: row n is `images[n]`, and shows the class of number `labels[n]`."""

    images: NDArray[np.uint8]
    """(N, channels, rows, columns), mapped: read when they are looked at."""
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    _names: NDArray[np.uint8]
    _ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def names(self, number: int) -> str:
        """What people know an image by."""
        start = int(self._ends[number - 1]) if number else 0
        return bytes(self._names[start : int(self._ends[number])]).decode()

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many images each class has."""
        return np.bincount(self.labels, minlength=len(self.classes))


def pixels(  # noqa: PLR0917  (an order of six parts, and who wants to know)
    images: Images,
    split: Split,
    shape: Shape,
    channels: int,
    fit: Fit,
    report: Report,
    listener: Listener = SILENT,
    classes: Sequence[str] | None = None,
) -> Pixels:
    """The images of a split, ready to be learnt from; from the cache if nothing has changed.

    What becomes of each goes into the report. `classes` are those whose places are the labels: those of the data's own
    training images, unless a model has learnt others. Images that show none of them are left out; where images are not
    told apart, none is.
    """
    images.look(listener)
    known = tuple(images.classes if classes is None else classes) if images.labelled else (ANY,)
    made = _Order(images, split, shape, channels, fit, known)
    folder = cache("pixels") / made.name
    used(folder)
    trouble = ""
    for _ in range(TRIES):  # what is damaged is made again, and so is what another process removed meanwhile
        if not is_whole(folder):
            _write(made, folder, listener)
            bound(folder.parent, keep=[folder.name])
        try:
            found, told = _opened(folder, made)
        except DAMAGE as error:
            trouble = str(error)
            listener.say(f"{folder.parent}: damaged ({trouble}); decoding again")
            discard(folder)
        else:
            vars(report).update(vars(told))
            report.files = images.files(split)  # the same content may have another name now
            return found
    raise InputError(f"{folder.parent}: damaged ({trouble}); {REMEDY}")


@dataclass(frozen=True)
class _Order:
    """What is to be made."""

    images: Images
    split: Split
    shape: Shape
    channels: int
    fit: Fit
    classes: tuple[str, ...]

    @property
    def name(self) -> str:
        options = (self.split, self.shape, self.channels, self.fit, self.classes)
        return short_hash(FORMAT, self.images.fingerprint(), *options)

    @property
    def each(self) -> int:
        """Bytes of one image."""
        return self.channels * self.shape[0] * self.shape[1]


def _write(made: _Order, folder: Path, listener: Listener) -> None:
    """Whole or not at all: the folder gets its name only when everything is in it."""
    home = folder.parent
    try:
        with workshop(home) as parts:
            _check_room(made, home)
            part = parts / folder.name
            part.mkdir()
            report = _decode(made, part, listener)
            if not made.images.unchanged():  # else other images would be kept under the name of these
                raise InputError("the images changed while they were read; begin again")
            sums = {name: summed(part / name) for name in KINDS}
            (part / FACTS).write_text(json.dumps({"report": asdict(report), "sums": sums}))
            settle(part, folder)
    except OSError as error:
        raise InputError(f"{home}: {error.strerror or error}; {REMEDY}") from error


def _check_room(made: _Order, home: Path) -> None:
    needed, free = made.images.count(made.split) * made.each, shutil.disk_usage(home).free
    if needed > free:
        raise InputError(
            f"{home}: the {made.split} images need {size(needed)} and {size(free)} are free\n"
            f"choose a smaller size or data.limit, or make room; {REMEDY}"
        )


def _decode(made: _Order, part: Path, listener: Listener) -> Report:
    """Every image as it comes: no more than one is held."""
    images, split, report = made.images, made.split, Report()
    places = {label: place for place, label in enumerate(made.classes)}
    labels, ends = array("q"), array("q")
    work, total = f"decoding the {split} images", images.count(split)
    listener.at(work, 0, total)
    with ExitStack() as files:
        pixels, names = (files.enter_context((part / name).open("wb")) for name in (IMAGES, NAMES))
        for number, picture in images.numbered(split, report):
            place = places.get(picture.label) if images.labelled else 0
            if place is None:
                report.drop_kept(UNKNOWN, number, picture.name)
            else:
                pixels.write(fitted(picture.pixels, made.shape, made.channels, made.fit).tobytes())
                labels.append(place)
                ends.append(names.write(picture.name.encode()) + (ends[-1] if ends else 0))
            if report.read % EVERY == 0:
                listener.at(work, report.read, total)
        for name, numbers in ((LABELS, labels), (ENDS, ends)):
            files.enter_context((part / name).open("wb")).write(numbers.tobytes())
    if not images.labelled:
        return report
    counts = np.bincount(np.array(labels, np.int64), minlength=len(places))
    _refuse_unlearnt(made, counts)
    note_classes(report, dict(zip(made.classes, counts.tolist(), strict=True)), split)
    return report


def _refuse_unlearnt(made: _Order, counts: NDArray[np.int64]) -> None:
    """A class whose training images are all broken could never be learnt."""
    lost = [label for label, count in zip(made.classes, counts.tolist(), strict=True) if not count]
    if lost and made.split == "train" and made.classes == tuple(made.images.classes):
        raise InputError(f"class {lost[0]!r}: none of its images can be read; mend them, or remove the class")


def _opened(folder: Path, made: _Order) -> tuple[Pixels, Report]:
    facts = read_json(folder / FACTS)
    for name in KINDS:
        if facts["sums"][name] != summed(folder / name):
            raise ValueError(f"{folder.name}/{name} is not what was written")
    held = {name: mapped(folder / name, np.dtype(kind)) for name, kind in KINDS.items()}
    images = held[IMAGES].reshape(len(held[LABELS]), made.channels, *made.shape)
    if len(held[ENDS]) != len(images) or not (held[LABELS] < len(made.classes)).all():
        raise ValueError("its parts do not belong together")
    return Pixels(images, held[LABELS], made.classes, held[NAMES], held[ENDS]), Report.open(facts["report"])
