"""Runs that mean harm: some cases of what `make fuzz` does for as long as one likes.

Judged in processes of their own: what a user would see, without the checks of shapes that tests have.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attack.folders import FOLDERS
from attack.full import PLACES

HERE = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")


def judged(*words: str, before: tuple[str, ...] = ()) -> str:
    """What a judge said, who found nothing bad."""
    paths = [str(HERE.parent / "src"), str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [*before, sys.executable, "-m", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_hostile_runs_work_or_are_refused() -> None:
    """And all that could be bad would be seen: a check that cannot fail would find nothing either."""
    assert len(FOLDERS) >= 100
    said = judged("attack.short")
    assert "all harm is seen" in said
    assert f"{len(FOLDERS)} folders, 2" in said
    assert "seed 1: 20 cases" in said


def test_a_full_disk_loses_nothing() -> None:
    assert len(PLACES) >= 20
    apart = ("unshare", "--map-root-user", "--mount")
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    assert " 0 went wrong" in judged("attack.full", "--short", before=apart)
