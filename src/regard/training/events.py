"""What happens while a model is trained: the command prints it, a study plots it, a test takes three."""

from dataclasses import dataclass
from pathlib import Path

from regard.datasets.data import Report, Split
from regard.figures import figure


@dataclass(frozen=True)
class Prepared:
    """The data were read: what became of each split."""

    splits: dict[Split, Report]


@dataclass(frozen=True)
class Started:
    """Training begins or goes on. `unit` is what batches are counted in."""

    folder: Path
    step: int
    total: int
    steps_per_epoch: int
    parameters: int
    unit: str


@dataclass(frozen=True)
class Step:
    """What one step was like: the mean loss of its predictions, before it learnt from them."""

    number: int
    loss: float
    size: int
    predictions: int
    seconds: float
    lr_factor: float
    grad_norm: float


@dataclass(frozen=True)
class Behind:
    """That the run whose weights a training began with had a better score on the same data than any here so far."""

    score: str
    best: float
    start: float

    def __str__(self) -> str:
        start, best = (figure(self.score, value) for value in (self.start, self.best))
        return f"the run it began from had {self.score} {start}, better than {best} here"


@dataclass(frozen=True)
class Validated:
    """Held-out data were scored."""

    step: int
    scores: dict[str, float]
    best: bool
    behind: Behind | None = None


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int


@dataclass(frozen=True)
class Ended:
    """Why it ended: `done`, `patience`, or `stopped` from outside."""

    step: int
    why: str
    behind: Behind | None = None


Event = Prepared | Started | Step | Validated | Saved | Ended
