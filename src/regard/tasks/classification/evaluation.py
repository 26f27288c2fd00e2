"""What an evaluation of a classifier holds, and how people see it."""

from collections import Counter
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
from regard.tasks.classification.pictures import Mistake, draw_confusion, mistakes_sheet
from regard.tasks.evaluation import Evaluation, Table

TOP = 5  # classes that are named, of which one is to be right
SHOWN = 12  # classes, and pairs of classes, that a table has
WIDEST, DRAWN = 100, 1_000  # classes whose confusions are told to machines, and drawn


@dataclass(frozen=True)
class ClassScores:
    """One class: its images, the share of them that was recognised (recall), and the share of predictions of this class
    that are right (precision)."""

    name: str
    count: int
    recall: float
    precision: float


@dataclass(frozen=True, repr=False)
class ClassificationScores(Evaluation):
    """How good a classifier is on images it has not seen, in per cent.

    The calibration error is the mean distance between confidence (the probability of the predicted class) and accuracy,
    in fifteen bins.
    """

    scores: dict[str, float]
    images: int
    loss: float
    accuracy: float
    top5: float
    calibration_error: float
    classes: tuple[str, ...]
    mistakes: list[Mistake]
    names: list[str]
    labels: NDArray[np.int64]
    answers: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    seconds: float

    @property
    def size(self) -> str:  # type: ignore[override]
        return f"{self.images:,} images"

    @property
    def confusion(self) -> NDArray[np.int64]:
        """How often each class (rows) was predicted as each (columns)."""
        count = len(self.classes)
        return np.bincount(self.labels * count + self.answers, minlength=count**2).reshape(count, count)

    @property
    def by_class(self) -> list[ClassScores]:
        """Every class that there are images of."""
        same = self.labels[self.labels == self.answers]
        found = (np.bincount(some, minlength=len(self.classes)) for some in (same, self.labels, self.answers))
        rows = zip(self.classes, *(some.tolist() for some in found), strict=True)
        return [
            ClassScores(name, there, 100 * right / there, 100 * right / max(1, named))
            for name, right, there, named in rows
            if there
        ]

    @property
    def confused(self) -> list[tuple[str, str, int]]:
        """Pairs of a true class and another that was predicted, the most frequent first."""
        wrong = self.labels != self.answers
        pairs = Counter(zip(self.labels[wrong].tolist(), self.answers[wrong].tolist(), strict=True))
        return [(self.classes[one], self.classes[other], count) for (one, other), count in pairs.most_common(SHOWN)]

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: getattr(self, name) for name in ("scores", "images", "loss", "accuracy", "top5")}
        found |= {"calibration_error": self.calibration_error, "seconds": self.seconds}
        found["by_class"] = [vars(one) for one in self.by_class]
        found["mistakes"] = [one.facts() for one in self.mistakes]
        if len(self.classes) <= WIDEST:
            found |= {"classes": list(self.classes), "confusion": self.confusion.tolist()}
        return found

    def tables(self) -> list[Table]:
        speed = f"{self.images / max(self.seconds, 1e-9):,.0f} images/s"
        rows = [
            ("images", f"{self.images:,}", speed),
            ("accuracy", f"{self.accuracy:.2f} %", f"± {self.error:.2f} standard error (test images; one training)"),
            *([("top-5 accuracy", f"{self.top5:.2f} %", "")] if len(self.classes) > TOP else []),
            ("loss", figure("loss", self.loss), ""),
            ("calibration error", f"{self.calibration_error:.2f} %", self._sure()),
        ]
        worst = sorted(self.by_class, key=lambda one: (one.recall, one.precision))[:SHOWN]
        classes = [(one.name, f"{one.count:,}", f"{one.recall:.1f} %", f"{one.precision:.1f} %") for one in worst]
        pairs = [(one, other, f"{count:,}") for one, other, count in self.confused]
        heads = ("class", " images", " recall", " precision")
        return [
            Table(("", " ", ""), list[tuple[str, ...]](rows)),
            Table(heads, list[tuple[str, ...]](classes)),
            Table(("true class", "predicted class", " times"), list[tuple[str, ...]](pairs)),
        ]

    @property
    def error(self) -> float:
        """The standard error of the accuracy of this one training, from the number of images: how much it would vary
        with other test images, not from one training to another."""
        share = self.accuracy / 100
        return float(100 * (share * (1 - share) / max(1, self.images)) ** 0.5)

    def _sure(self) -> str:
        sure = 100 * float(self.probabilities.mean()) if len(self.probabilities) else 0.0
        return f"mean confidence {sure:.1f} %, accuracy {self.accuracy:.1f} %"

    def notes(self) -> list[str]:
        there = len(self.by_class)
        said = [f"the {SHOWN} hardest of {there:,} classes are shown"] if there > SHOWN else []
        missing = len(self.classes) - there
        return [*said, *([f"of {missing:,} classes there is no image here"] if missing else [])]

    def beside(self, others: Mapping[str, Evaluation]) -> Table | None:
        found = [one for one in others.values() if isinstance(one, ClassificationScores)]
        rows = [
            ("accuracy", *(f"{one.accuracy:.2f} %" for one in found)),
            ("top-5 accuracy", *(f"{one.top5:.2f} %" for one in found)),
            ("loss", *(figure("loss", one.loss) for one in found)),
            ("calibration error", *(f"{one.calibration_error:.2f} %" for one in found)),
        ]
        return Table(("", *(f" {name}" for name in others)), list[tuple[str, ...]](rows))

    def files(self) -> dict[str, bytes]:
        made = {self.file("predictions.csv"): self._predictions()}
        drawn = {self.file("mistakes.png"): mistakes_sheet(self.mistakes, self.subject)} if self.mistakes else {}
        return made | drawn

    def _predictions(self) -> bytes:
        text = StringIO()
        table = CsvWriter(text)
        table.row(("image", "class", "predicted", "probability", "data"))
        for name, label, answer, chance in zip(self.names, self.labels, self.answers, self.probabilities, strict=True):
            table.row((name, self.classes[label], self.classes[answer], f"{chance:.4f}", self.data))
        return text.getvalue().encode("utf-8", "replace")

    def draw(
        self, path: str | Path, others: Mapping[str, Evaluation] | None = None, listener: Listener | None = None
    ) -> Path | None:
        shown: Mapping[str, Evaluation] = {"": self} if others is None or len(others) == 1 else others
        if not self.images or len(self.classes) > DRAWN:
            return None
        found = {name: one.confusion for name, one in shown.items() if isinstance(one, ClassificationScores)}
        path = picture_in(path, self.file("confusion.png"))
        return draw_confusion(found, self.classes, path, listener, self.subject)
