"""regard.train: a recipe in, a trained run out."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from regard.calls.hearing import training_heard
from regard.listener import Listener
from regard.recipe import Recipe
from regard.recipe.override import Override
from regard.run import Run
from regard.run.curve import keep_picture
from regard.training.events import Ended, Event, Started
from regard.training.stop import Stop
from regard.training.train import training


def train(
    recipe: str | Path | Mapping[str, Any] | Recipe = "",
    *overrides: Override,
    out: str | Path | None = None,
    resume: bool = False,
    start: str | Path | None = None,
    on_event: Callable[[Event], None] = lambda _: None,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Run:
    """Train a recipe to its end: `train("gru-additive", "data.kind=numbers", out="runs/numbers")`.

    To go on with a run: `train("runs/numbers", resume=True)`, for longer than first said with `"training.steps=2000"`.
    To train a run on other data: `train({"data.train": "mine"}, start="runs/base", out="runs/mine")`: what is not said
    is as in that run, and its best weights and its vocabulary are begun with.

    `recipe` is a name, a file, tables or a `Recipe`; with `resume` a run folder. `overrides` are `"a.b=c"` or
    mappings such as `{"data.kind": "numbers"}`. `on_event` is called with everything that happens (`Started`, `Step`,
    `Validated`, …). `progress` shows how it goes: None does so in a notebook only; a `listener` hears it instead.
    ^C ends it after the step at hand, with all saved.
    """
    named = _tables(recipe)
    begun = [] if start is None else [{"from": str(start)}]
    given = [repr(one) for one in (named, *overrides) if one]
    given += [f"{key}={str(value)!r}" for key, value in (("out", out), ("start", start)) if value is not None]
    command = f"regard.train({', '.join([*given, *['resume=True'] * resume])})"
    run, last = None, None
    with training_heard(progress, listener) as (heard, show), _stop_on_interrupt() as stop:
        events = training(named, *overrides, *begun, out=out, resume=resume, listener=heard, stop=stop, command=command)
        try:
            for event in events:
                show(event)
                on_event(event)
                run, last = Run.open(event.folder) if isinstance(event, Started) else run, event
        finally:
            if run is not None:
                keep_picture(run.folder, str(run.recipe.get("name", "")), heard)
    assert run is not None
    if stop.asked and isinstance(last, Ended) and last.why == "stopped":
        raise KeyboardInterrupt(f"stopped and saved; go on with regard.train({str(run.folder)!r}, resume=True)")
    return run


def _tables(recipe: str | Path | Mapping[str, Any] | Recipe) -> str | Mapping[str, Any]:
    if isinstance(recipe, Recipe):
        return recipe.table()
    return str(recipe) if isinstance(recipe, Path) else recipe


@contextmanager
def _stop_on_interrupt() -> Iterator[Stop]:
    """^C asks once and interrupts the second time; where a program has a handler of its own, that one stays."""
    stop = Stop()

    def ask(_: int, __: FrameType | None) -> None:
        if stop.asked or not stop.heeded:
            raise KeyboardInterrupt
        stop.asked = True

    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not ours or before is not signal.default_int_handler:
        yield stop
        return
    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
