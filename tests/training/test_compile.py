"""training.machine.compile: the same learning by compiled layers, and a clear word where there is no compiler.

In processes of their own: what checks types at run time in these tests does not get along with the compiler.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w
from toyruns import recipe

pytestmark = pytest.mark.slow


def trained(folder: Path, stack: str, compiled: bool, **environment: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    (folder / "toy.toml").write_text(tomli_w.dumps(recipe(stack, compile=compiled)))
    command = [sys.executable, "-m", "regard", "train", str(folder / "toy.toml"), "--out", str(folder / "run")]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)


def held_out(run: Path) -> list[float]:
    """The losses of its validations."""
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [line["valid"]["loss"] for line in lines if "valid" in line]


@pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "g++")), reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize("stack", ["gru-additive", "convolution", "transformer", "experts"])
def test_compiled_layers_learn_as_the_others_do(stack: str, tmp_path: Path) -> None:
    for compiled in (False, True):
        ended = trained(tmp_path / str(compiled), stack, compiled)
        assert ended.returncode == 0, ended.stderr
    plain, fused = (held_out(tmp_path / str(compiled) / "run") for compiled in (False, True))
    assert len(plain) == 2
    assert fused == pytest.approx(plain, abs=1e-5)


def test_a_missing_compiler_is_named_and_so_is_the_remedy(tmp_path: Path) -> None:
    none = {"CXX": "no-such-compiler", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    ended = trained(tmp_path / "run", "transformer", True, **none)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "training.machine.compile: " in ended.stderr
    assert "no-such-compiler" in ended.stderr
    assert "set training.machine.compile=false" in ended.stderr
