"""How many threads a training takes: as told, as before, or as many as are worth it beside other work."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from heard import Heard
from toyruns import Table, fingerprint, whole
from toyruns import recipe as toy

from regard import processor
from regard.run import Run
from regard.training import threads
from regard.training.events import Step
from regard.training.plan import plan
from regard.training.train import training


@pytest.fixture(autouse=True)
def free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine of eight cores that has nothing else to do."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here
    beside(monkeypatch, 8)
    monkeypatch.setattr(threads, "SLOW", 1e9)
    monkeypatch.setattr(threads, "TRIES", 1)
    before = torch.get_num_threads()
    yield monkeypatch
    assert torch.get_num_threads() == before


def beside(patch: pytest.MonkeyPatch, free: int, most: int = 8) -> None:
    for name, number in {"cores": 8, "free_cores": free, "thread_limit": most}.items():
        patch.setattr(threads, name, lambda number=number: number)


def recipe(**said: Any) -> Table:
    """Three steps that two threads would take no faster."""
    return toy(**{"steps": 3, "validate_every": 0} | said)


def chosen(folder: Path) -> tuple[int, str]:
    machine = json.loads((folder / "run.json").read_text())["machine"]
    return machine["threads"], machine["why"]


def seen(folder: Path, *overrides: str, heard: Heard | None = None) -> set[int]:
    """The threads of the steps that a run goes on with."""
    events = training(str(folder), *overrides, resume=True, listener=heard or Heard())
    return {torch.get_num_threads() for event in events if isinstance(event, Step)}


def test_a_number_that_is_said_is_taken_and_kept(tmp_path: Path) -> None:
    within = set()
    for event in training(recipe(threads=2), out=tmp_path / "run"):
        within |= {torch.get_num_threads()} if isinstance(event, Step) else set()
    assert within == {2}
    assert chosen(tmp_path / "run") == (2, "as training.machine.threads says")


def test_beside_other_work_it_is_one(tmp_path: Path, free: pytest.MonkeyPatch) -> None:
    beside(free, 1)
    found = plan(recipe(), out=tmp_path / "run")
    assert (found.threads.count, found.threads.cores) == (1, 8)
    (row,) = [said for name, said in found.rows() if name == "threads"]
    assert row == f"1 on 8 cores with a load of {found.threads.load:.1f}: the other cores are at other work"
    told = plan(recipe(threads=4), out=tmp_path / "run").threads
    assert (told.count, told.why) == (4, "as training.machine.threads says; 1 may be faster beside other work")


@pytest.mark.parametrize(
    ("seconds", "count", "why"),
    [
        ({1: 0.4, 2: 0.5}, 1, "2 are not worth it (0.8 times as fast)"),
        ({1: 0.4, 2: 0.25, 4: 0.2, 8: 0.19}, 4, "8 are not worth it (1.1 times as fast)"),
        ({1: 0.8, 2: 0.4, 4: 0.2, 8: 0.1}, 8, "8 times as fast as one"),
    ],
)
def test_more_threads_must_be_worth_it(
    tmp_path: Path, free: pytest.MonkeyPatch, seconds: dict[int, float], count: int, why: str
) -> None:
    free.setattr(threads, "_step_seconds", lambda _: seconds[torch.get_num_threads()])
    found = plan(recipe(), out=tmp_path / "run").threads
    assert (found.count, found.why) == (count, why)


def test_what_was_learnt_while_timing_is_forgotten(tmp_path: Path, free: pytest.MonkeyPatch) -> None:
    table = recipe(stack="gru-additive", dropout=0.2, ema=0.9, threads=1)
    whole(table, tmp_path / "plain")
    free.setattr(threads, "GAIN", 1e9)  # two are timed, and never worth it
    table["training"]["machine"]["threads"] = "auto"
    whole(table, tmp_path / "timed")
    assert chosen(tmp_path / "timed")[1].startswith("2 are not worth it")
    assert fingerprint(tmp_path / "timed") == fingerprint(tmp_path / "plain")


def test_a_resumed_run_takes_as_many_as_before(tmp_path: Path, free: pytest.MonkeyPatch) -> None:
    whole(recipe(threads=2), tmp_path / "run")
    beside(free, 1)
    assert seen(tmp_path / "run", "training.steps=4", "training.machine.threads=auto") == {2}
    assert seen(tmp_path / "run", "training.steps=5", "training.machine.threads=1") == {1}
    assert chosen(tmp_path / "run")[0] == 1
    assert seen(tmp_path / "run", "training.steps=6", "training.machine.threads=auto") == {1}


def test_nobody_takes_more_than_there_are(tmp_path: Path, free: pytest.MonkeyPatch) -> None:
    whole(recipe(threads=1), tmp_path / "run")
    Run.open(tmp_path / "run").note(machine={"threads": 3})
    beside(free, 1, most=2)
    assert plan(recipe(threads=1000), out=tmp_path / "new").threads.count == 2
    heard = Heard()
    assert seen(tmp_path / "run", "training.steps=4", "training.machine.threads=auto", heard=heard) == {2}
    (said,) = [text for text in heard.said if text.startswith("threads: ")]
    assert said.endswith("than 2, and this run began with 3: its last bits may differ")


@pytest.mark.parametrize("known", ["many", 0, -3, True, [2]])
def test_a_number_that_cannot_be_is_none(tmp_path: Path, known: object) -> None:
    whole(recipe(threads=1), tmp_path / "run")
    Run.open(tmp_path / "run").note(machine={"threads": known})
    assert seen(tmp_path / "run", "training.steps=4", "training.machine.threads=auto") == {threads.DEFAULT}


@pytest.mark.parametrize(
    ("minute", "now", "free"),
    [(0.2, 1, 8), (12.6, 14, 1), (2.1, 1, 8), (3.0, 4, 5), (40.0, 2, 7)],
)
def test_cores_are_free_that_neither_the_last_minute_nor_this_moment_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minute: float, now: int, free: int
) -> None:
    (tmp_path / "loadavg").write_text(f"{minute} 0.00 0.00 {now}/180 4321\n")
    monkeypatch.setattr(processor, "LOAD", tmp_path / "loadavg")
    monkeypatch.setattr(os, "getloadavg", lambda: (minute, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert processor.free_cores() == free
    monkeypatch.setattr(processor, "GIVEN", "")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    processor.spare_cores()
    assert os.environ.get("OMP_NUM_THREADS") == (None if free == 8 else str(free))


def test_what_the_user_says_of_threads_is_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "GIVEN", "3")
    monkeypatch.setattr(processor, "free_cores", lambda: 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    processor.spare_cores()
    assert (os.environ["OMP_NUM_THREADS"], processor.thread_limit()) == ("3", 3)


def test_a_container_has_the_cores_it_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    monkeypatch.setattr(processor, "ALLOWED", tmp_path / "cpu.max")
    assert processor.cores() == 64
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert processor.cores() == 64
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    assert processor.cores() == 2
