"""Tests take torch's steps unless they ask for the compiled ones, which are there or not as it happens.

Python looks for cycles neither while tests are gathered nor, later, in what was imported and gathered by then: that is
most of what there is, and lasts.

Shapes are checked in the rooms that are about them. Where whole commands and trainings run, that would take a third
of the time, and users have no such checks.
"""

import gc
import os
from pathlib import Path

import jaxtyping
import pytest

os.environ.setdefault("REGARD_COMPILED", "0")
os.environ.setdefault("REGARD_MATMUL", "mkl")  # measured once per machine otherwise, and bits would differ
gc.disable()

HERE = Path(__file__).parent
AS_USERS_HAVE_IT = ("attack", "calls", "commands", "measuring", "notes", "recipe", "run", "training", "slow")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    room = item.path.relative_to(HERE).parts[0]
    jaxtyping.config.update("jaxtyping_disable", room.endswith(".py") or room in AS_USERS_HAVE_IT)
