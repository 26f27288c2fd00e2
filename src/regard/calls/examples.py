"""regard.look_examples: the examples of the notes, made and read."""

from collections.abc import Sequence
from pathlib import Path

from regard.calls.given import name_of
from regard.calls.hearing import work_heard
from regard.errors import InputError
from regard.examples.example import Story
from regard.examples.pages import make
from regard.listener import Listener


def look_examples(
    out: str | Path = "out/examples",
    *,
    only: Sequence[str] = (),
    smollm2: bool = False,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> list[Story]:
    """Make the examples of the notes: small models learn them, and each becomes a page with what its numbers say.

    `only` chooses some by their names (`"apple"`, `"induction"`). Four are asked of SmolLM2 too if it is in
    `runs/smollm2`; `smollm2` fetches it first, 93 MB. Runs are kept beside the pages, so the next call is quick.
    """
    if isinstance(only, str) or not all(isinstance(name, str) for name in only):
        raise InputError(f"only: wanted names in a list, given {only!r}")
    with work_heard(progress, listener) as heard:
        return list(make(name_of("out", out, "the name of a folder"), only, smollm2, heard))
