"""The library that multiplies while a model is trained: measured, written into the run, and kept when it goes on."""

import os
from pathlib import Path

import pytest
from heard import Heard
from toyruns import fingerprint, recipe, until, whole

from regard import matmul
from regard.matmul import SWITCH
from regard.run import Run
from regard.tasks.translation.task import Translation
from regard.training.events import Step, Validated
from regard.training.plan import plan
from regard.training.train import training


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(matmul.VARIABLE, raising=False)
    monkeypatch.setattr(os, "fsync", os.fstat)


def machine(monkeypatch: pytest.MonkeyPatch, speedup: float) -> list:
    """A machine on which oneDNN is so many times as fast."""
    asked = []
    monkeypatch.setattr(matmul, "measure", lambda sizes: asked.append(sizes) or (speedup, 1.0))
    return asked


def resumed(folder: Path, *overrides: str, listener: Heard | None = None) -> None:
    list(training(str(folder), *overrides, resume=True, listener=listener or Heard()))


def facts(folder: Path) -> dict:
    return Run.open(folder).facts["machine"]


@pytest.mark.parametrize(("speedup", "precision"), [(2.0, "bf16"), (1.0, "ieee")])
def test_steps_and_validations_multiply_with_it_and_nothing_else_does(tmp_path, monkeypatch, speedup, precision):
    machine(monkeypatch, speedup)
    before, used = SWITCH.fp32_precision, set()
    for name in ("loss", "evaluate"):
        inner = getattr(Translation, name)
        monkeypatch.setattr(
            Translation,
            name,
            lambda *args, _inner=inner, _name=name: used.add((_name, SWITCH.fp32_precision)) or _inner(*args),
        )
    for event in until(recipe(), tmp_path / "run", lambda event: isinstance(event, Validated)):
        if isinstance(event, Step):
            assert SWITCH.fp32_precision == before
    assert used == {("loss", precision), ("evaluate", precision)}
    assert facts(tmp_path / "run")["matmul"] == {"bf16": "onednn", "ieee": "mkl"}[precision]


def test_a_run_goes_on_with_its_own_to_the_same_bits(tmp_path, monkeypatch):
    machine(monkeypatch, 2.0)
    whole(recipe("gru-additive"), tmp_path / "whole")
    until(recipe("gru-additive"), tmp_path / "stopped", lambda event: isinstance(event, Step) and event.number == 4)
    machine(monkeypatch, 1.0)
    (tmp_path / "cache").rename(tmp_path / "no-cache")
    heard = Heard()
    resumed(tmp_path / "stopped", listener=heard)
    assert facts(tmp_path / "stopped")["matmul"] == "onednn"
    assert not [said for said in heard.said if "processor" in said]
    assert fingerprint(tmp_path / "stopped") == fingerprint(tmp_path / "whole")


def test_another_processor_is_said(tmp_path, monkeypatch):
    until(recipe(matmul="mkl"), tmp_path / "run", lambda event: isinstance(event, Step))
    run = Run.open(tmp_path / "run")
    run.note(machine=facts(tmp_path / "run") | {"processor": "another"})
    heard = Heard()
    resumed(tmp_path / "run", listener=heard)
    (said,) = [said for said in heard.said if "processor" in said]
    assert said.endswith("results may differ in the last digits from those of a run that was not interrupted")
    assert facts(tmp_path / "run")["processor"] == matmul.describe_processor()


def test_on_another_processor_it_is_measured_anew(tmp_path, monkeypatch):
    """There the same switch may round to bfloat16."""
    machine(monkeypatch, 2.0)
    until(recipe(), tmp_path / "run", lambda event: isinstance(event, Step))
    run = Run.open(tmp_path / "run")
    assert facts(tmp_path / "run")["matmul"] == "onednn"
    run.note(machine=facts(tmp_path / "run") | {"processor": "another"})
    (tmp_path / "cache").rename(tmp_path / "no-cache")
    monkeypatch.setattr(matmul, "measure", lambda sizes: (2.0, 1000.0))
    resumed(tmp_path / "run")
    assert facts(tmp_path / "run")["matmul"] == "mkl"


def test_a_run_from_before_there_was_a_choice_goes_on_as_it_began(tmp_path, monkeypatch):
    asked = machine(monkeypatch, 2.0)
    until(recipe(matmul="mkl"), tmp_path / "run", lambda event: isinstance(event, Step))
    run = Run.open(tmp_path / "run")
    kept = {key: value for key, value in run.facts.items() if key != "machine"}
    (tmp_path / "run/run.json").write_text(matmul.json_text(kept))
    resumed(tmp_path / "run", "training.machine.matmul=auto")
    assert facts(tmp_path / "run")["matmul"] == "mkl"
    assert not asked


def test_a_recurrent_model_is_measured_with_few_rows(tmp_path, monkeypatch):
    asked = machine(monkeypatch, 2.0)
    plan(recipe("lstm"), out=tmp_path / "run")
    plan(recipe("transformer"), out=tmp_path / "run")
    recurrent, transformer = ({rows for rows, _, _ in sizes} for sizes in asked)
    assert (recurrent, transformer) == ({32}, {512})


def test_a_dry_run_says_it(tmp_path, monkeypatch):
    machine(monkeypatch, 2.0)
    found = plan(recipe("transformer"), out=tmp_path / "run")
    assert ("products", "onednn (oneDNN is 2.00 times as fast as MKL here)") in found.rows()


def test_both_libraries_learn_the_same(tmp_path):
    losses = {
        library: [
            event.loss
            for event in whole(recipe("transformer", matmul=library), tmp_path / library)
            if isinstance(event, Step)
        ]
        for library in ("mkl", "onednn")
    }
    assert len(losses["mkl"]) == 6
    assert losses["onednn"] == pytest.approx(losses["mkl"], rel=1e-3)
