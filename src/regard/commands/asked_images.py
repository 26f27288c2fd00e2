"""Images that a user asks about: names as they were typed or as they come through a pipe, and what cannot be read."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.shown import Shown
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.commands.asked import Asked as Line
    from regard.datasets.images.asked import Asked
    from regard.datasets.images.asked import Read as Image

    Read = Image | InputError
    """An image by its name, or why there is none."""

TOGETHER = 64  # images that are read at a time, where so many are waiting
PIPE = "-"

ImageNames = Annotated[
    list[str] | None,
    typer.Argument(help="Images, folders, archives or patterns such as 'photos/*.jpg'; a pipe of names if not said."),
]


def groups_read(typed: list[str] | None, verb: str) -> "Callable[[int], Iterator[list[Read]]]":
    """Some images at a time, at most so many as are said; what is wrong with typed names is said at once."""
    from regard.datasets.images.asked import in_groups

    names = _names(typed or [], verb)

    def read(most: int) -> "Iterator[list[Read]]":
        for some in names:
            asked = (one for name in some for one in ([name] if isinstance(name, InputError) else _images(name)))
            yield from in_groups(map(_read, asked), min(TOGETHER, most))

    return read


def is_several(typed: list[str] | None) -> bool:
    """Whether typed names stand for several images; of a pipe nobody knows yet."""
    if not typed or typed == [PIPE]:
        return False
    return len(typed) > 1 or len(list(islice(_images(typed[0]), 2))) > 1


def _names(typed: list[str], verb: str) -> Iterator[list[str | InputError]]:
    """Names of images, folders and archives: those that were typed, or those of a pipe as they come."""
    from regard.commands.asked import asked_lines
    from regard.commands.waiting import waiting
    from regard.datasets.images.asked import check_name

    if PIPE in typed and len(typed) > 1:
        raise InputError("-: names come from a pipe or from the command line, not from both")
    if typed and typed != [PIPE]:
        for name in typed:
            check_name(name)
        return iter([[*typed]])
    if not typed and sys.stdin.isatty():
        raise InputError(f"nothing to {verb}: name an image, a folder or an archive of them, or send names by a pipe")
    lines = asked_lines([], [Path(PIPE)], "images", verb)
    return ([_name(line) for line in some if line.text.strip() or line.refused] for some in waiting(lines, TOGETHER))


def _name(line: "Line") -> str | InputError:
    return InputError(f"{line.place}: {line.refused}") if line.refused else line.text


def _images(name: str) -> "Iterator[Asked | InputError]":
    """What a name stands for; one that stands for nothing stops nothing but itself."""
    from regard.datasets.images.asked import named_images

    try:
        yield from named_images(name)
    except InputError as error:
        yield error


def _read(asked: "Asked | InputError") -> "Read":
    if isinstance(asked, InputError):
        return asked
    try:
        return asked.name, asked.pixels()
    except InputError as error:
        return error


class Refusals:
    """Images that could not be read: each is told, and the others go on. One that is all there is ends in its error."""

    def __init__(self, heard: Shown, done: str) -> None:
        from regard.commands.warned import Warned

        self.heard, self.done = heard, done
        self.answered, self._warned = 0, Warned(heard, done, ("image", "images"))
        self._only: InputError | None = None  # refused before all else: it may be all that there is to say

    def refuse(self, error: InputError) -> None:
        """One more that could not be read."""
        self._say_only()
        if not self.answered and not self._warned.any:
            self._only = error
        else:
            self._warned.refuse(error.on_command_line)

    def answer(self) -> None:
        """One more that was answered."""
        self._say_only()
        self.answered += 1

    def _say_only(self) -> None:
        if self._only is not None:
            self._warned.refuse(self._only.on_command_line)
            self._only = None

    def end(self) -> None:
        """What there is to say behind all others."""
        if self._only is not None:
            raise self._only
        self._warned.sum_up()
        if not self.answered:
            self.heard.say(f"nothing was {self.done}: there was no name")
