"""Tests take torch's steps unless they ask for the compiled ones, which are there or not as it happens."""

import os

os.environ.setdefault("REGARD_COMPILED", "0")
