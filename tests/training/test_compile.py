"""training.compile: the same losses from compiled layers, and a clear word where there is no compiler."""

import shutil
from pathlib import Path

import pytest
import torch._inductor.config as inductor
from toyruns import STACKS, recipe, whole

from regard.errors import FailedError
from regard.training.learner import Step
from regard.training.loop import Event

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")]


def losses(events: list[Event]) -> list[float]:
    return [event.loss for event in events if isinstance(event, Step)]


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize("stack", STACKS)
def test_compiled_layers_learn_as_the_others_do(stack: str, tmp_path: Path) -> None:
    plain = losses(whole(recipe(stack), tmp_path / "plain"))
    compiled = losses(whole(recipe(stack, compile=True), tmp_path / "compiled"))
    assert len(plain) == 6
    assert compiled == pytest.approx(plain, abs=1e-5)


def test_a_missing_compiler_is_named_and_so_is_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inductor.cpp, "cxx", (None, "no-such-compiler"))
    monkeypatch.setattr(inductor, "force_disable_caches", True)
    with pytest.raises(FailedError, match=r"training\.compile: .*no-such-compiler.*\nset training\.compile=false"):
        whole(recipe("transformer", compile=True), tmp_path / "run")
