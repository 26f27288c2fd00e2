"""Standard output and error: on any terminal, in any encoding, and after whoever read them has gone."""

import codecs
import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from signal import SIGPIPE
from typing import Any

from regard.errors import ORDERS

PLAIN = {
    "…": "...",
    "→": "->",
    "←": "<-",
    "–": "-",
    "—": "-",
    "−": "-",
    "×": "x",
    "·": ".",
    "␣": "_",
    "≥": ">=",
    "≤": "<=",
}
PLAIN |= dict(zip("░▒▓█━─│╰├└", ".:+#=-|`|`", strict=True)) | dict(zip("„“”‘’«»", '"""\'\'""', strict=True))
PLAIN |= {
    "α": "alpha",
    "ε": "eps",
    "θ": "theta",
    "μ": "mu",
    "σ": "sigma",
    "φ": "phi",
    "Σ": "sum",
    "Π": "prod",
    "√": "sqrt",
}
PLAIN |= {"ᵀ": "^T", "²": "^2", "³": "^3", "⊙": "*", "⊗": "(x)", "∝": "~", "∂": "d", "■": "#"}
GONE = (errno.EPIPE, errno.EIO)
_lost: set[str] = set()


def set_up() -> None:
    """Whatever a terminal cannot show is written in other characters; a stream that is closed takes everything."""
    codecs.register_error("regard", _plain)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed from the beginning: `regard … >&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="regard")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    wanted = error.object[error.start : error.end]
    _lost.update(letter for letter in wanted if letter not in PLAIN)
    return "".join(PLAIN.get(letter, "?") for letter in wanted), error.end


def own_up() -> None:
    """Say that something was written as `?`, so that nobody takes it for what a model wrote."""
    if _lost:
        _lost.clear()
        say(f"some letters are shown as ?: this terminal takes {sys.stdout.encoding}; PYTHONIOENCODING=utf-8 shows all")


def is_gone(error: OSError) -> bool:
    """Whether it says that nobody reads any more (a closed pipe, a terminal that hung up): no other pipe, no disk."""
    return error.errno in GONE and error.filename is None and any(map(_closed, (sys.stdout, sys.stderr)))


def _closed(stream: Any) -> bool:
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(what & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, what in poll.poll(0))
    except (OSError, ValueError):  # not a file of the system
        return False


def let_go() -> None:
    """Streams that nobody reads take everything from now on, also what Python writes at its end."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        try:
            if not _closed(stream):
                stream.flush()
                continue
        except (OSError, ValueError):
            pass
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


class Unread:
    """Lines that may go unread where files are written as well: a closed pipe ends the command behind the last file.

    with Unread() as unread:
        with unread.lines(): print(…)
    """

    def __init__(self, files: bool = True) -> None:
        """Without `files` there is nothing to go on for."""
        self.files, self._closed = files, False

    @contextmanager
    def lines(self) -> Iterator[None]:
        """What is printed here goes nowhere once nobody reads it any more."""
        try:
            yield
        except OSError as error:
            if not (self.files and is_gone(error)):
                raise
            self._closed = True
            let_go()

    def __enter__(self) -> "Unread":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._closed and kind is None:
            sys.exit(128 + SIGPIPE)


def say(text: str) -> None:
    """One line on standard error, if anybody can read it; on a terminal it ends between words."""
    text = text.translate(ORDERS)
    with suppress(OSError, ValueError):
        text = "\n".join(map(_between_words, text.split("\n"))) if sys.stderr.isatty() else text
        print(text, file=sys.stderr, flush=True)


def _between_words(line: str) -> str:
    from regard.commands.rows import rows
    from regard.commands.show import console

    return "\n".join("".join(word for word, _ in row) for row in rows([line], console.width))
