"""How the learning rate goes over the steps: a factor between 0 and 1."""

from abc import ABC, abstractmethod
from math import cos, pi
from typing import Annotated

from annotated_doc import Doc
from pydantic import Field

from regard.recipe import Share

WarmupSteps = Annotated[
    int,
    Field(ge=0, le=10**12),
    Doc("Steps over which the learning rate rises from zero to its full height; 0 is none."),
]


class Schedule(ABC):
    """A factor for every step; all begin with a warm-up."""

    def __init__(self, warmup_steps: int) -> None:
        self.warmup_steps = warmup_steps

    def factor(self, step: int, total: int) -> float:
        """For step 0, 1, … of `total`."""
        if step < self.warmup_steps:
            return (step + 1) / (self.warmup_steps + 1)
        return self.after(step, total)

    @abstractmethod
    def after(self, step: int, total: int) -> float:
        """Once it is warm."""


class InverseSqrt(Schedule):
    """Falls with the root of the steps: √(warmup_steps / step) [Vaswani et al. 2017]."""

    def __init__(self, *, warmup_steps: WarmupSteps = 1000) -> None:
        super().__init__(warmup_steps)

    def after(self, step: int, total: int) -> float:
        return (max(self.warmup_steps, 1) / max(step, 1)) ** 0.5 if step > self.warmup_steps else 1.0


class Cosine(Schedule):
    """Half a cosine, down to `min_factor` at the end."""

    def __init__(
        self,
        *,
        warmup_steps: WarmupSteps = 200,
        min_factor: Annotated[
            Share, Doc("Share of the learning rate that is left at the end; 0 ends at nothing.")
        ] = 0.0,
    ) -> None:
        super().__init__(warmup_steps)
        self.min_factor = min_factor

    def after(self, step: int, total: int) -> float:
        done = (step - self.warmup_steps) / max(1, total - self.warmup_steps)
        return self.min_factor + (1 - self.min_factor) * (1 + cos(pi * min(done, 1.0))) / 2


class WarmupStableDecay(Schedule):
    """Constant, then a straight line down to zero over the last `decay_share` of the steps."""

    def __init__(
        self,
        *,
        warmup_steps: WarmupSteps = 200,
        decay_share: Annotated[
            Share, Doc("Last share of all steps, over which the rate falls to zero; 0 is none.")
        ] = 0.3,
    ) -> None:
        super().__init__(warmup_steps)
        self.decay_share = decay_share

    def after(self, step: int, total: int) -> float:
        last = self.decay_share * total
        return 1.0 if not last else max(0.0, min(1.0, (total - step) / last))


class Constant(Schedule):
    """Once it is warm, the rate stays the same to the end."""

    def __init__(self, *, warmup_steps: WarmupSteps = 0) -> None:
        super().__init__(warmup_steps)

    def after(self, step: int, total: int) -> float:
        return 1.0
