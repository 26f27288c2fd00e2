"""What a task is: one life, from the sections of a recipe to answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from regard.datasets.data import Data, Report, Split
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.looking.scene import Scene
from regard.model.assembly import Assembly
from regard.recipe import Size
from regard.tasks.evaluation import Evaluation, Table

__all__ = ["Batch", "Batches", "Evaluation", "Exam", "Kept", "Loss", "Table", "Task"]

Kept = Mapping[str, bytes]
"""What a run keeps for its task: the contents of files by their names."""

B = TypeVar("B", bound="Batch")


@runtime_checkable
class Batch(Protocol):
    """What one process learns from at once, as far as the loop needs to know it."""

    @property
    def size(self) -> int:
        """How much it is, in the task's unit: tokens, images."""

    @property
    def predictions(self) -> int:
        """How many predictions there are to be right or wrong about: what the loss is divided by."""

    def to(self: B, device: torch.device) -> B:
        """The same on a device."""

    def part(self: B, number: int, of: int) -> B:
        """What one of several processes learns from."""


@runtime_checkable
class Batches(Protocol):
    """Batches by step number, without end; `len` is an epoch."""

    def __len__(self) -> int: ...

    def __getitem__(self, step: int) -> Any: ...


@dataclass(frozen=True)
class Loss:
    """Sums over all predictions: what is learnt from, and the plain loss that people read."""

    total: Tensor
    plain: Tensor


@dataclass(frozen=True)
class Exam:
    """What a model is examined on, and who wants to know how far it has come.

    `quick` is how training does it now and then: the same on fewer rows, in the quickest way.
    """

    data: Data[Any]
    split: Split
    quick: bool = False
    stopped: Callable[[], bool] = lambda: False
    listener: Listener = SILENT


class Task(ABC):
    """Where data and model meet.

    The constructor's keyword-only parameters are what a recipe may say: plain ones in its section [task], parts in
    sections of their own. `kept` is what a run has kept; without it, `prepare` learns from the data what there is
    to learn.
    """

    metrics: ClassVar[Mapping[str, int]]
    """The scores of an evaluation: +1 where more is better, −1 where less is."""
    unit: ClassVar[str] = "tokens"
    """What batches are counted in."""
    assembly: ClassVar[type[Assembly]]
    """The kind of model it trains."""
    example: ClassVar[str] = "regard describe {run}"
    """The command that uses a trained run."""
    own_data: ClassVar[str] = "data.train=FILE"
    """What names one's own data on the command line."""
    at_use: ClassVar[tuple[str, ...]] = ()
    """Sections and keys of a recipe that may be changed for a trained run: how it answers, not what it is."""
    at_reading: ClassVar[tuple[str, ...]] = ()
    """Keys that say how files named at use are read, and nothing of the run's own data: `data_from` finds them in
    `said`."""

    inherits: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Sections of a recipe whose outcome comes along with the weights of another run (a tokenizer's vocabulary), each
    with the parts of the model that fit no other outcome."""
    batch_option: ClassVar[str] = ""
    """The key of a recipe that makes batches smaller, for those who run out of memory."""

    data: Data[Any]

    def __init__(self, kept: Kept | None) -> None:
        self.kept = kept
        self.said: dict[str, Any] = {}
        """What was said at use of the keys in `at_reading`."""

    @abstractmethod
    def prepare(self, listener: Listener) -> dict[Split, Report]:
        """Read the data and make them ready for training; say what became of each split."""

    def inherit(self, section: str, kept: Kept) -> None:  # noqa: B027  (most have nothing to inherit)
        """Take the outcome of a section from what another run has kept, instead of learning it: before `prepare`."""

    def follow(self, kept: Kept) -> None:  # noqa: B027  (most have nothing of the kind)
        """Take what goes with the weights of another run, whatever its sections: how pixels were scaled; before
        `prepare`."""

    def outgrown(self, kept: Kept) -> tuple[str, ...]:
        """Parts of the model that begin anew where all else begins with the weights of another run, given what that has
        kept: a head for other classes."""
        return ()

    @abstractmethod
    def sizes(self) -> Mapping[str, Size]:
        """What the data say about the model: vocabularies, classes, the shape of images."""

    @classmethod
    def expected(cls, recipe: Mapping[str, Any]) -> Mapping[str, Size]:  # noqa: ARG003  (most know nothing yet)
        """The same as far as the tables of a recipe tell, before any data are read."""
        return {}

    @abstractmethod
    def files(self) -> dict[str, bytes]:
        """What a run must keep so that the task can be opened without its data: tokenizers, names of classes."""

    @abstractmethod
    def batches(self, seed: int) -> Batches:
        """The training data, in an order that depends on nothing but seed and step."""

    @abstractmethod
    def loss(self, model: Any, batch: Any) -> Loss:
        """What the model learns from a batch."""

    def carried(self, model: Any) -> dict[str, Tensor]:
        """What the next batch goes on from beside the weights, a row of each tensor for a row of the batch: what a
        recurrent model remembers of the text before. Zeros before the first; most carry nothing."""
        return {}

    def carry(self, state: Mapping[str, Tensor]) -> None:  # noqa: B027  (most carry nothing)
        """Go on from what `carried` gave."""

    @abstractmethod
    def answerer(self, model: Any, quick: bool = False) -> Any:
        """A trained model, ready to answer as the recipe says; `quick` as for an exam of that kind."""

    def scene(self, answerer: Any, text: Any, target: str = "", tokens: int = 0) -> Scene:
        """What a model reads and writes for one input, a text or an image, to be looked at; `target` is what it is to
        have written, and `tokens` how many it is to write."""
        kind = type(self).__name__.lower()
        raise InputError(f"a task of its own has to say what there is to look at ({kind} does not): Task.scene")

    @abstractmethod
    def evaluate(self, answerer: Any, exam: Exam) -> Evaluation | None:
        """Scores on held-out data; None when the exam was stopped before they were known."""

    def manner(self, answerer: Any) -> str:
        """How it answers, in a few words: `beam of 5`."""
        return "as the recipe says"

    def unlike(self, other: Any) -> list[str]:
        """What must be minded where scores of this and another run of the same task stand side by side."""
        return []

    def data_from(self, named: str) -> Data[Any]:
        """Other data of the same kind, from what a user names; all of it is the split `test`."""
        kind = type(self.data).__name__.lower()
        said = f"{named}: the data of this task ({kind}) come from no files, so no others can be named; "
        raise InputError(said, call="leave out on=…", flag="leave out --on")

    def learnt_from(self, data: Data[Any]) -> bool | None:
        """Whether files that `data_from` gave are among those it was trained on, by their paths; None if that cannot be
        known, since the training data are not here."""
        try:
            return self.data.trains_on(data.origins("test"))
        except (InputError, OSError):
            return None

    def check_model(self, model: Any) -> None:  # noqa: B027  (most have nothing to refuse)
        """Refuse, before any data are read, a model that cannot learn whatever they are."""

    def check(self, model: Any) -> None:  # noqa: B027  (most have nothing to refuse)
        """Refuse, before a run is made, a model that cannot learn these data."""
