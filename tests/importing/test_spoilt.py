"""Spoilt folders and files: a few hundred cases of what `python -m attack.imports` does for as long as one likes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
CASES = {"language": 500, "images": 400}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize("kind", CASES)
def test_spoilt_models_work_or_are_refused(kind: str) -> None:
    """In a process of its own, bounded in memory and time, without the checks of shapes that tests have."""
    pytest.importorskip("gguf")
    paths = [str(HERE.parent / "src"), str(HERE), str(HERE / "importing"), *filter(None, sys.path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "attack.imports", "--of", kind, "--cases", str(CASES[kind])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    worked, refused = (int(word) for word in done.stdout.split() if word.isdigit())
    assert worked + refused == CASES[kind]
    assert refused > CASES[kind] / 2
    assert worked > CASES[kind] / 20
