"""regard.train and regard.plan: a recipe in, a trained run out, or what that would be."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from types import FrameType
from typing import Any

from regard.calls.given import name_of
from regard.calls.hearing import training_heard, work_heard
from regard.errors import InputError, RecipeError
from regard.listener import Listener
from regard.recipe import Recipe
from regard.recipe.override import Override
from regard.run import Run
from regard.run.curve import keep_picture
from regard.training.events import Ended, Event, Started
from regard.training.plan import Plan
from regard.training.plan import plan as planned
from regard.training.stop import Stop
from regard.training.train import training


def train(
    recipe: str | Path | Mapping[str, Any] | Recipe | Run = "",
    *overrides: Override,
    out: str | Path | None = None,
    resume: bool = False,
    start: str | Path | Run | None = None,
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
    named, overrides, out = _asked(recipe, overrides, out, start, resume)
    if not callable(on_event):
        raise InputError(f"on_event: wanted what can be called with an event, given {type(on_event).__name__}")
    given = [repr(one) for one in (named, *overrides) if one]
    given += [f"out={str(out)!r}"] if out is not None else []
    command = f"regard.train({', '.join([*given, *['resume=True'] * resume])})"
    run, last = None, None
    with training_heard(progress, listener) as (heard, show), _stop_on_interrupt() as stop:
        events = training(named, *overrides, out=out, resume=resume, listener=heard, stop=stop, command=command)
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


def plan(
    recipe: str | Path | Mapping[str, Any] | Recipe | Run = "",
    *overrides: Override,
    out: str | Path | None = None,
    resume: bool = False,
    start: str | Path | Run | None = None,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> Plan:
    """What `train` would do with the same arguments: the data, the model, how long it takes here, and the memory.

    Everything is checked as `train` does, a few steps are timed, and nothing is kept. `print` shows it as a table.
    """
    named, overrides, out = _asked(recipe, overrides, out, start, resume)
    with work_heard(progress, listener) as heard:
        return planned(named, *overrides, out=out, resume=resume, listener=heard)


Given = str | Mapping[str, Any]


def _asked(
    recipe: object, overrides: tuple[Override, ...], out: object, start: object, resume: object
) -> tuple[Given, tuple[Override, ...], Path | None]:
    """What is trained, what is changed of it, and where it goes; anything that is none of it is refused."""
    if isinstance(recipe, Recipe):  # what it does not say itself, such as sizes of vocabularies, is still to be found
        table, said = recipe.table(), {"kind", *recipe.model.model_fields_set}
        recipe = table | {"model": {key: value for key, value in table["model"].items() if key in said}}
    named = fspath(recipe) if isinstance(recipe, PathLike) else recipe
    if not isinstance(named, str | Mapping):
        raise RecipeError(f"wanted a recipe (a name, a file, tables or a Recipe), given {type(recipe).__name__}")
    if not isinstance(resume, bool):
        raise InputError(f"resume: wanted True or False, given {resume!r}")
    if start is not None:
        overrides = (*overrides, {"from": str(name_of("start", start, "a run folder"))})
    return named, overrides, None if out is None else name_of("out", out, "the name of a folder")


@contextmanager
def _stop_on_interrupt() -> Iterator[Stop]:
    """^C asks once and interrupts the second time; where a program has a handler of its own, that one stays."""
    stop = Stop()

    def ask(_: int, __: FrameType | None) -> None:
        if stop.asked or not stop.heeded:
            raise KeyboardInterrupt
        stop.ask(0)

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
