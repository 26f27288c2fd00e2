"""What a task owes the training loop: batches, a loss, a score."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from regard.model.assembly import Assembly

B = TypeVar("B", bound="Piece")


@runtime_checkable
class Piece(Protocol):
    """A batch, as far as the loop needs to know it."""

    @property
    def tokens(self) -> int: ...

    @property
    def targets(self) -> int: ...

    def to(self: B, device: torch.device) -> B: ...

    def part(self: B, number: int, of: int) -> B: ...


@runtime_checkable
class Endless(Protocol):
    """Batches by step number; `len` is an epoch."""

    def __len__(self) -> int: ...

    def __getitem__(self, step: int) -> Any: ...


@dataclass(frozen=True)
class Loss:
    """Sums over all predictions: what is learnt from, and the plain −log p that people read."""

    total: Tensor
    plain: Tensor


class Task(ABC):
    """Where data and model meet."""

    metrics: dict[str, int]
    """The scores of `validate`: +1 where more is better, −1 where less is."""

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """What the data say about the model: vocabularies, classes."""

    @abstractmethod
    def tokens(self) -> dict[str, Any]:
        """What must be kept to read and write as in training."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What else a run should know about its data."""

    def extras(self) -> dict[str, dict[str, Tensor]]:
        """Tensors worth keeping beside the weights, by the name of their file."""
        return {}

    @abstractmethod
    def batches(self, tokens: int, seed: int) -> Endless:
        """The training data, in an order that depends on nothing but seed and step."""

    @abstractmethod
    def loss(self, model: Assembly, batch: Any, smoothing: int | float = 0.0, sampling: int | float = 0.0) -> Loss:
        """`smoothing` spreads a share of the target over all words; `sampling` gives the model that share of its
        own words instead of the right ones."""

    @abstractmethod
    def validate(self, model: Assembly, stopped: Callable[[], bool]) -> dict[str, float] | None:
        """Scores on held-out data; None when `stopped` said so before they were known."""
