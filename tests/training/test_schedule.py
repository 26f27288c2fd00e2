"""Learning rates over the steps."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.recipe import RecipeError
from regard.training.menu import MENU
from regard.training.schedule import Constant, Cosine, InverseSqrt, Schedule, WarmupStableDecay
from regard.training.settings import TrainingOptions

many = settings(deadline=None, max_examples=100, derandomize=True)


def made(kind: str, warmup: int) -> Schedule:
    schedule: Schedule = MENU.order("schedule", {"kind": kind, "warmup_steps": warmup}, "schedule").build()
    return schedule


@many
@given(kind=st.sampled_from(list(MENU.parts["schedule"])), warmup=st.integers(0, 50), total=st.integers(1, 300))
def test_every_schedule_rises_to_one_and_never_again(kind: str, warmup: int, total: int) -> None:
    """No step is wasted at a rate of zero, none is above the rate asked for."""
    schedule = made(kind, warmup)
    factors = [schedule.factor(step, total) for step in range(total)]
    assert all(0 < factor <= 1 for factor in factors)
    warm, after = factors[:warmup], factors[warmup:]
    assert all(one < other for one, other in pairwise(warm))
    if kind != "warmup_stable_decay" or warmup <= 0.7 * total:
        assert after[:1] in ([], [1.0])
    assert all(one >= other for one, other in pairwise(after))


def test_a_warm_up_is_a_straight_line() -> None:
    assert [made("constant", 4).factor(step, 10) for step in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1])


@many
@given(warmup=st.integers(1, 100), step=st.integers(0, 100_000))
def test_inverse_root_is_that_of_vaswani(warmup: int, step: int) -> None:
    """d^-1/2 min(n^-1/2, n w^-3/2), over its greatest value; ours is warm one step later, to begin above zero."""
    peak = warmup**-0.5
    if step > warmup:
        assert InverseSqrt(warmup_steps=warmup).factor(step, 0) == pytest.approx(step**-0.5 / peak)
    else:
        published = max(step, 1) * warmup**-1.5 / peak
        assert InverseSqrt(warmup_steps=warmup).factor(step, 0) == pytest.approx(published, abs=2 / warmup)


def test_cosine_is_half_way_in_the_middle_and_at_its_floor_in_the_end() -> None:
    schedule = Cosine(warmup_steps=10, min_factor=0.2)
    assert schedule.factor(10, 110) == 1.0
    assert schedule.factor(60, 110) == pytest.approx(0.6)
    assert schedule.factor(110, 110) == pytest.approx(0.2)
    assert schedule.factor(500, 110) == pytest.approx(0.2)


def test_decay_is_constant_and_then_a_line_to_zero() -> None:
    schedule = WarmupStableDecay(warmup_steps=0, decay_share=0.4)
    assert [schedule.factor(step, 10) for step in (0, 5, 6, 7, 8, 9)] == pytest.approx([1, 1, 1, 0.75, 0.5, 0.25])
    assert schedule.factor(10, 10) == 0.0
    assert {WarmupStableDecay(warmup_steps=0, decay_share=0.0).factor(step, 10) for step in range(10)} == {1.0}


def test_constant_stays() -> None:
    assert {Constant().factor(step, 10) for step in (0, 9, 1000)} == {1.0}


@pytest.mark.parametrize(
    ("epochs", "steps", "accumulate", "batches", "total"),
    [(3, 0, 1, 7, 21), (3, 0, 2, 7, 11), (3, 0, 21, 7, 1), (3, 5, 2, 7, 5), (0, 5, 1, 7, 5)],
)
def test_how_long_is_said_in_epochs_or_steps(
    epochs: int, steps: int, accumulate: int, batches: int, total: int
) -> None:
    table = {"epochs": epochs, "steps": steps, "accumulate": accumulate}
    settings: TrainingOptions = MENU.order("training", table, "training").build()
    assert settings.total(batches) == total


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"epochs": 0}, "epochs and steps are both 0; say how long to train"),
        ({"stps": 3}, "training.stps: unknown; did you mean 'steps'?"),
        ({"ema": 1.0}, "training.ema: wanted a number ≥ 0 and < 1, given 1.0"),
        ({"schedule": "cosin"}, "training.schedule.kind: no schedule is called 'cosin'; did you mean 'cosine'?"),
        (
            {"optimizer": {"kind": "adamw", "learning_rate": 0.0}},
            "training.optimizer.learning_rate: wanted a number > 0, given 0.0",
        ),
        (
            {"machine": {"precision": "half"}},
            "training.machine.precision: wanted one of auto, float32, bfloat16, given 'half'",
        ),
        ({"max_grad_norm": -1.0}, "training.max_grad_norm"),
        ({"smoothing": 1}, "training.smoothing: unknown; it is called task.label_smoothing now"),
    ],
)
def test_what_training_cannot_be_is_refused_by_key(table: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError) as caught:
        MENU.order("training", table, "training").build()
    assert said in str(caught.value)
