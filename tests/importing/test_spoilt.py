"""Spoilt folders and files: a few hundred cases of what `python -m attack.imports` does for as long as one likes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
CASES = 800
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_spoilt_models_work_or_are_refused() -> None:
    """In a process of its own, bounded in memory and time, without the checks of shapes that tests have."""
    pytest.importorskip("gguf")
    paths = [str(HERE.parent / "src"), str(HERE), str(HERE / "importing"), *filter(None, sys.path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "attack.imports", "--cases", str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    worked, refused = (int(word) for word in done.stdout.split() if word.isdigit())
    assert worked + refused == CASES
    assert refused > CASES / 2
    assert worked > CASES / 20
