"""The time left is that of recent steps, with the validations still to come."""

import pytest

from regard.commands import pace
from regard.commands.pace import Pace


class Clock:
    """Seconds that pass when told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(pace.time, "monotonic", lambda: self.now)


def steps(at: Pace, clock: Clock, first: int, last: int, seconds: float) -> None:
    for number in range(first, last + 1):
        clock.now += seconds
        at.step(number, 1000, seconds, alone=True)


def test_a_slow_beginning_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    at = Pace(0, 1000)
    steps(at, clock, 1, 5, 10.0)
    assert at.left == pytest.approx(9950, rel=0.1)
    steps(at, clock, 6, 500, 0.2)
    assert at.left == pytest.approx(100, rel=0.05)  # not (50 + 99) / 500 a step
    assert at.speed == pytest.approx(5000, rel=0.05)


def test_validations_to_come_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    at = Pace(0, 400)
    steps(at, clock, 1, 100, 0.1)
    clock.now += 30.0
    at.validated(100)
    assert at.left == pytest.approx(300 * 0.1 + 3 * 30, rel=0.05)


def test_a_resumed_run_begins_with_nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    at = Pace(900, 1000)
    assert at.left == 0.0
    steps(at, clock, 901, 910, 1.0)
    assert at.left == pytest.approx(90, rel=0.05)
