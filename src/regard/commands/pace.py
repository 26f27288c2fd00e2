"""How long training still takes, from how fast it has been of late."""

import time

HALF = 10.0  # seconds after which a step counts half


class Pace:
    """Speed of the last steps; validations are timed apart, and those to come are counted in."""

    def __init__(self, step: int = 0, total: int = 0) -> None:
        self.total, self._step, self._at = total, step, time.monotonic()
        self._seconds, self._steps, self._size = 0.0, 0.0, 0.0
        self._looked, self._every, self._look = step, 0, 0.0

    def step(self, number: int, size: int, seconds: float, alone: bool) -> None:
        """One step more; `alone` says that since the last one nothing else was done, so that the clock counts."""
        now = time.monotonic()
        spent = max(now - self._at if alone else seconds, 1e-9)
        keep = 0.5 ** (spent / HALF)
        self._seconds, self._steps = self._seconds * keep + spent, self._steps * keep + 1
        self._size = self._size * keep + size
        self._step, self._at = number, now

    def validated(self, step: int) -> None:
        """All since the last step was a validation."""
        self._look = time.monotonic() - self._at
        self._every, self._looked = max(self._every, step - self._looked), step

    @property
    def speed(self) -> float:
        """Size of batches per second."""
        return self._size / self._seconds if self._seconds else 0.0

    @property
    def left(self) -> float:
        """Seconds to the end, with the validations on the way."""
        if not self._steps:
            return 0.0
        steps = (self.total - self._step) * self._seconds / self._steps
        looks = -(-(self.total - self._looked) // self._every) if self._every else 0
        return steps + looks * self._look
