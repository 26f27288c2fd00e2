"""Tests take torch's steps unless they ask for the compiled ones, which are there or not as it happens.

Python looks for cycles neither while tests are gathered nor, later, in what was imported and gathered by then: that is
most of what there is, and lasts.
"""

import gc
import os

os.environ.setdefault("REGARD_COMPILED", "0")
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
