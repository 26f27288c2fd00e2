"""What a language model is to go on with: texts on the command line, files, a pipe, or whoever sits at the terminal."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from regard.commands.asked import PIPE, Asked, asked_lines, pipe
from regard.datasets.lines import LONGEST
from regard.disk import place, read_bytes
from regard.errors import InputError


def asked_prompts(texts: list[str], files: list[Path], whole: bool) -> Iterator[str] | None:
    """The prompts in their order; None where somebody is there to be asked."""
    if not texts and not files and sys.stdin.isatty():
        return None
    if whole:
        if texts:
            raise InputError("--whole takes a file or a pipe as one prompt; a text on the command line is one anyway")
        return (_whole(path) for path in files or [PIPE])
    return map(_text, asked_lines(texts, files, "prompts", "go on with"))


def _text(asked: Asked) -> str:
    if asked.refused:
        raise InputError(f"{asked.place}: {asked.refused}")
    return asked.text


def _whole(path: Path) -> str:
    content = pipe().read(LONGEST + 1) if path == PIPE else read_bytes(place(path), links=True, most=LONGEST)
    name = "the pipe" if path == PIPE else path
    if len(content) > LONGEST:
        raise InputError(f"{name}: over {LONGEST >> 20} MiB, and a prompt is shorter")
    try:
        text: str = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8") from error
    return text


def spoken(answer: Callable[[str], None]) -> None:
    """Prompts from a terminal, one after another, until an empty line or ^D."""
    print("A text to go on with (an empty line ends):")
    while True:
        try:
            text = input("> ")
        except EOFError:
            print()
            return
        if not text.strip():
            return
        answer(text)
