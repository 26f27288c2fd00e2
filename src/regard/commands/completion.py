"""Answering a shell that asks what may come next."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout


def complete(answer: Callable[[], None]) -> None:
    """Let the command-line library answer; a word with `=` in it is one word, though bash hands it over in pieces."""
    before = _joined() if os.environ["_REGARD_COMPLETE"] == "complete_bash" else ""
    said, code = io.StringIO(), 0
    with redirect_stdout(said):
        try:
            answer()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    for line in said.getvalue().splitlines():
        print(line.removeprefix(before))  # bash puts it behind what it takes for another word
    sys.exit(code)


def _joined() -> str:
    """`a.b = c` as `a.b=c`, in what bash has told; gives back how much of the last word bash takes for others."""
    typed = os.environ.get("COMP_WORDS", "")
    words = typed.split("\n" if "\n" in typed else " ")
    at, told = int(os.environ.get("COMP_CWORD", "0")), list[str]()
    words += [""] * (at + 1 - len(words))
    last = words[at]
    for place, word in enumerate(words[: at + 1]):
        glued = place > 1 and (word == "=" or words[place - 1] == "=")
        told = [*told[:-1], told[-1] + word] if glued else [*told, word]
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(told), str(len(told) - 1)
    return told[-1] if last == "=" else told[-1].removesuffix(last) if last else told[-1]
