"""A text ten times larger than the memory that is left for it is encoded and trained on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def trained(folder: Path, *asked: str) -> list[int]:
    """Steps, bytes of text, and bytes that were taken and allowed beyond those a short text takes."""
    paths = [str(HERE.parents[1] / "src"), *filter(None, sys.path)]
    more = {"PYTHONPATH": os.pathsep.join(paths), "REGARD_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "within.py"), str(folder), *asked]
    environment = os.environ | more | {"MALLOC_ARENA_MAX": "1"}  # room is not taken from a thread for another
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [int(word) for word in done.stdout.split() if word.lstrip("-").isdigit()]


def test_a_text_of_30_mib_within_3(tmp_path: Path) -> None:
    """Gone on with, in the words of a run."""
    steps, size, _, room = trained(tmp_path, "3", "words", "on")
    assert steps == 12
    assert size >= 10 * room == 10 * 3 * 2**20


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_text_of_320_mib_within_32(tmp_path: Path) -> None:
    """Byte pairs are learnt from it, too."""
    steps, size, _, room = trained(tmp_path, "32", "bpe")
    assert steps == 12
    assert size >= 10 * room == 10 * 32 * 2**20
