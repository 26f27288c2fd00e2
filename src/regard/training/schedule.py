"""How the learning rate goes over the steps: a factor between 0 and 1."""

from abc import ABC, abstractmethod
from math import cos, pi

from regard.recipe import Number, Share


class Schedule(ABC):
    """A factor for every step; all begin with a warm-up."""

    def __init__(self, warmup: int) -> None:
        self.warmup = warmup

    def factor(self, step: int, total: int) -> float:
        """For step 0, 1, … of `total`."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        return self.after(step, total)

    @abstractmethod
    def after(self, step: int, total: int) -> float:
        """Once it is warm."""


class InverseRoot(Schedule):
    """Falls with the root of the steps: √(warmup / step) [Vaswani et al. 2017]."""

    def __init__(self, *, warmup: Number = 1000) -> None:
        super().__init__(warmup)

    def after(self, step: int, total: int) -> float:
        return (max(self.warmup, 1) / max(step, 1)) ** 0.5 if step > self.warmup else 1.0


class Cosine(Schedule):
    """Half a cosine, down to `floor` at the end."""

    def __init__(self, *, warmup: Number = 200, floor: Share = 0.0) -> None:
        super().__init__(warmup)
        self.floor = floor

    def after(self, step: int, total: int) -> float:
        done = (step - self.warmup) / max(1, total - self.warmup)
        return self.floor + (1 - self.floor) * (1 + cos(pi * min(done, 1.0))) / 2


class Decay(Schedule):
    """Constant, then a straight line down to zero over the last `share` of the steps."""

    def __init__(self, *, warmup: Number = 200, share: Share = 0.3) -> None:
        super().__init__(warmup)
        self.share = share

    def after(self, step: int, total: int) -> float:
        last = self.share * total
        return 1.0 if not last else max(0.0, min(1.0, (total - step) / last))


class Constant(Schedule):
    """The same to the end."""

    def __init__(self, *, warmup: Number = 0) -> None:
        super().__init__(warmup)

    def after(self, step: int, total: int) -> float:
        return 1.0
