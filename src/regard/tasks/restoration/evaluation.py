"""What an evaluation of a restorer holds, and how people see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.cells import CsvWriter
from regard.figures import figure
from regard.listener import Listener
from regard.pictures import picture_in
from regard.tasks.evaluation import Evaluation, Table
from regard.tasks.restoration.pictures import Sample, draw_samples

Column = NDArray[np.float32]


@dataclass(frozen=True)
class Likeness:
    """How like images are to what they should be, one figure an image: decibels (PSNR) and structural similarity."""

    psnr: Column
    ssim: Column


@dataclass(frozen=True, repr=False)
class RestorationScores(Evaluation):
    """How well a restorer gives back images it has not seen, which were spoilt always in the same way.

    PSNR is the mean over images, of pixels as a file holds them: 10 dB more are a tenth of the squared error.
    """

    scores: dict[str, float]
    images: int
    loss: float
    before: Likeness
    after: Likeness
    names: list[str]
    samples: list[Sample]
    seconds: float

    @property
    def size(self) -> str:  # type: ignore[override]
        return f"{self.images:,} images"

    @property
    def psnr(self) -> float:
        """Of restored images."""
        return _mean(self.after.psnr)

    @property
    def psnr_corrupted(self) -> float:
        """Of the same before they were restored."""
        return _mean(self.before.psnr)

    @property
    def ssim(self) -> float:
        """Of restored images."""
        return _mean(self.after.ssim)

    @property
    def ssim_corrupted(self) -> float:
        """Of the same before they were restored."""
        return _mean(self.before.ssim)

    @property
    def worse(self) -> float:
        """Per cent of images that were better left alone, by their PSNR."""
        return 100 * _mean((self.after.psnr < self.before.psnr).astype(np.float32))

    def facts(self) -> dict[str, Any]:
        names = ("scores", "images", "loss", "psnr", "psnr_corrupted", "ssim", "ssim_corrupted", "worse", "seconds")
        return {name: getattr(self, name) for name in names}

    def tables(self) -> list[Table]:
        speed = f"{self.images / max(self.seconds, 1e-9):,.0f} images/s"
        gained = self.psnr - self.psnr_corrupted, self.ssim - self.ssim_corrupted
        likeness = [
            ("PSNR", f"{self.psnr_corrupted:.2f} dB", f"{self.psnr:.2f} dB", f"{gained[0]:+.2f} dB"),
            ("structural similarity", f"{self.ssim_corrupted:.3f}", f"{self.ssim:.3f}", f"{gained[1]:+.3f}"),
        ]
        rows = [
            ("images", f"{self.images:,}", speed),
            ("loss", figure("loss", self.loss), "mean squared error, in deviations of the pixels"),
            ("better left alone", f"{self.worse:.1f} %", "of the images, by their PSNR"),
        ]
        return [
            Table(("", " spoilt", " restored", " gained"), list[tuple[str, ...]](likeness)),
            Table(("", " ", ""), list[tuple[str, ...]](rows)),
        ]

    def beside(self, others: Mapping[str, Evaluation]) -> Table | None:
        found = [one for one in others.values() if isinstance(one, RestorationScores)]
        rows = [
            ("PSNR", f"{self.psnr_corrupted:.2f} dB", *(f"{one.psnr:.2f} dB" for one in found)),
            ("structural similarity", f"{self.ssim_corrupted:.3f}", *(f"{one.ssim:.3f}" for one in found)),
            ("loss", "", *(figure("loss", one.loss) for one in found)),
        ]
        return Table(("", " spoilt", *(f" {name}" for name in others)), list[tuple[str, ...]](rows))

    def files(self) -> dict[str, bytes]:
        text = StringIO()
        table = CsvWriter(text)
        table.row(("image", "psnr_corrupted", "psnr", "ssim_corrupted", "ssim", "data"))
        columns = (self.before.psnr, self.after.psnr, self.before.ssim, self.after.ssim)
        for name, *figures in zip(self.names, *(column.tolist() for column in columns), strict=True):
            table.row((name, *(f"{one:.4f}" for one in figures), self.data))
        return {self.file("restored.csv"): text.getvalue().encode("utf-8", "replace")}

    def draw(
        self, path: str | Path, others: Mapping[str, Evaluation] | None = None, listener: Listener | None = None
    ) -> Path | None:
        shown: Mapping[str, Evaluation] = {"": self} if others is None or len(others) == 1 else others
        found = {name: one.samples for name, one in shown.items() if isinstance(one, RestorationScores)}
        if not self.samples or any(len(some) != len(self.samples) for some in found.values()):
            return None
        return draw_samples(found, picture_in(path, self.file("restored.png")), listener, self.subject)


def _mean(figures: Column) -> float:
    return float(figures.mean(dtype=np.float64)) if len(figures) else 0.0
