"""Steps that are taken to be timed, and taken back: how many threads are worth it, how many steps fit into a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

import torch

from regard.errors import NoNumbersError
from regard.figures import steps
from regard.listener import Listener
from regard.model.weights import load, shell
from regard.tasks.task import Exam
from regard.training.events import Step
from regard.training.learner import Learner
from regard.training.ready import Prepared, Ready
from regard.training.threads import Threads, choose_threads, kept_threads, must_measure

LEAST, MOST = 3, 20  # steps that are timed
LONGEST = 10.0  # seconds that they may take
SHARE = 0.1  # of the time for all of training that may go into timing it


@dataclass(frozen=True)
class Rehearsal:
    """What was found before the first step; `timed` are the steps that were needed for it."""

    threads: Threads
    timed: list[Step]


def rehearse(made: Prepared, stand: Ready) -> Rehearsal:
    """Settle how many threads compute, and of a new run with `training.minutes` how many steps it takes in all.

    A resumed run has as many of both as it began with, so that it ends with the same bits.
    """
    learner, run = stand.learner, made.asked.run
    minutes = made.settings.minutes if run is None else 0
    kept = None if run is None else kept_threads(run.facts.get("machine"))
    timed = list[Step]()
    with undone(learner) if minutes or (run is None and must_measure(learner)) else nullcontext():
        threads = choose_threads(learner, run is not None, kept, made.listener)
        torch.set_num_threads(threads.count)
        if minutes:
            timed = time_steps(learner, 0, made.listener, min(LONGEST, 60 * SHARE * minutes))
            learner.total = _fitting(made, learner, timed)
    return Rehearsal(threads, timed)


def _fitting(made: Prepared, learner: Learner, timed: list[Step]) -> int:
    """Steps that fit into `training.minutes`, with the validations between them."""
    minutes, every = made.settings.minutes, validate_every(learner)
    step = sum(one.seconds for one in timed) / len(timed)
    look = _validation_seconds(made, learner, 60 * SHARE * minutes) if made.together.leads else 0.0
    step, look = made.together.share((step, look))
    total = count_steps(60 * minutes, step, look, every)
    fit = f"time for {steps(total)} ({step:.3g} s a step, {look:.3g} s a validation)"
    made.listener.say(f"training.minutes={minutes:g}: {fit}")
    warm = made.settings.schedule.warmup_steps
    if warm > total // 2:
        made.listener.say(
            f"training.schedule: {warm:,} of its {total:,} steps are warm-up; "
            f"training.schedule.warmup_steps={max(1, total // 10)} is more usual"
        )
    return total


def count_steps(seconds: float, step: float, look: float, every: int) -> int:
    """Steps of so many seconds each that fit into a time, at least one, with a validation after `every` of them and at
    the end."""
    whole, rest = divmod(seconds, step * every + look)
    return max(1, int(whole) * every + max(0, int((rest - look) / step)))


def validate_every(learner: Learner) -> int:
    """Steps between two validations."""
    epoch = -(-len(learner.batches) // learner.settings.accumulate)
    return learner.settings.checkpoints.validate_every or epoch


def _validation_seconds(made: Prepared, learner: Learner, longest: float) -> float:
    """How long a validation takes. One that takes longer than it may is not done to its end."""
    model = load(shell(made.recipe.model.build), learner.weights(0)).to(made.together.device).eval()
    began = time.monotonic()
    made.listener.at("timing a validation")
    stopped = lambda: time.monotonic() - began > longest  # noqa: E731
    exam = Exam(made.task.data, "valid", quick=True, stopped=stopped, listener=made.listener)
    with suppress(NoNumbersError):  # of weights that have learnt nothing yet
        made.task.evaluate(made.task.answerer(model, quick=True), exam)
    return time.monotonic() - began


@contextmanager
def undone(learner: Learner) -> Iterator[None]:
    """What is learnt within is forgotten."""
    weights = {name: tensor.clone() for name, tensor in learner.weights(0).items()}
    state = {name: tensor.clone() for name, tensor in learner.state().items()}
    try:
        yield
    finally:
        learner.restore(weights, state)


def time_steps(learner: Learner, first: int, listener: Listener, longest: float = LONGEST) -> list[Step]:
    """A few steps from one on. The first of them makes what the others find, and is not counted."""
    taken, began = list[Step](), time.monotonic()
    while len(taken) < LEAST or (len(taken) < MOST and time.monotonic() - began < longest):
        listener.at("timing a few steps", len(taken), MOST)
        taken.append(learner.step(first + len(taken)))
    return taken[1:]
