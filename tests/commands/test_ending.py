"""How the command ends: with all that was said, what was to be done at the end, and its code."""

import subprocess
import sys

import pytest

ENDS = """
import atexit, sys
import regard.commands
from regard.__main__ import main

def command():
    atexit.register(print, "put in order")
    print("said", end=" ")
    sys.exit({code})

regard.commands.main = command
{before}
main()
"""

FREED = """
import os
class Freed:
    def __del__(self, write=os.write):
        write(1, b"freed")
freed = Freed()
"""


def ended(code: int, before: str = "") -> "subprocess.CompletedProcess[str]":
    """A process whose command ends with a code."""
    words = [sys.executable, "-c", ENDS.format(code=code, before=before)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("code", [0, 1, 3])
def test_what_was_said_is_there_and_the_end_is_in_order(code: int) -> None:
    found = ended(code)
    assert found.returncode == code
    assert found.stdout == "said put in order\n"


def test_by_a_signal_it_ends_at_once() -> None:
    found = ended(130)
    assert found.returncode == 130
    assert "put in order" not in found.stdout


def test_python_is_not_taken_down() -> None:
    """With torch in it that takes a second: what would be freed last is not."""
    assert "freed" not in ended(0, FREED).stdout


def test_a_profile_is_written_to_its_end() -> None:
    """Whoever measures Python wants to hear of it."""
    assert "freed" in ended(0, FREED + "sys.setprofile(lambda *_: None)").stdout
