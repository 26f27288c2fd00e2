"""What a language model is to go on with: texts on the command line, files, a pipe, or whoever sits at the terminal."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING

from regard.commands.asked import PIPE, Asked, asked_lines, pipe
from regard.commands.streams import say
from regard.commands.warned import DAMAGED, Warned
from regard.datasets.lines import LONGEST, refusals, unpacked
from regard.disk import place
from regard.disk.door import ENDLESS, opened
from regard.errors import InputError
from regard.training.stop import Interrupted, Stop

if TYPE_CHECKING:
    from regard.commands.conversation import Conversation
    from regard.commands.writer import Writer

ANEW = "/new"


def asked_prompts(texts: list[str], files: list[Path], whole: bool) -> Iterator[Asked] | None:
    """The prompts in their order; None where somebody is there to be asked. `-` alone is the pipe."""
    if texts == [str(PIPE)] and not files:
        texts, files = [], [PIPE]
    if not texts and not files and sys.stdin.isatty():
        return None
    if whole:
        if texts:
            raise InputError("--whole takes a file or a pipe as one prompt; a text on the command line is one anyway")
        return (_whole(path) for path in files or [PIPE])
    return asked_lines(texts, files, "prompts", "go on with")


def prompt_of(asked: Asked, warned: Warned | None = None) -> str:
    """Its text; what was no text in it is told, where single lines may have such."""
    if asked.refused:
        raise InputError(f"{asked.place}: {asked.refused}")
    if asked.damaged and warned is not None:
        warned.of(DAMAGED, asked.place)
    return asked.text


def _whole(path: Path) -> Asked:
    """A file with all its lines, packed or not, or a pipe."""
    name = "the pipe" if path == PIPE else str(path)
    if path == PIPE:
        content = pipe().read(LONGEST + 1)
    else:
        with refusals(path), opened(place(path), ENDLESS, links=True) as plain, unpacked(plain, path) as inner:
            content = inner.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise InputError(f"{name}: over {LONGEST >> 20} MiB, and a prompt is shorter")
    try:
        return Asked(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8") from error


def spoken(answer: Callable[[str, Stop], object], head: str = "Texts to go on with;") -> None:
    """Prompts from a terminal, one after another, until an empty line or ^D. What one cannot be is told, and the next
    is asked for; ^C ends an answer, and, where there is none, the talk."""
    print(f"{head} ^C ends an answer, an empty line all:")
    while True:
        try:
            text = input("> ")
        except EOFError:
            print()
            return
        if not text.strip():
            return
        stop = Stop(heeded=True)
        try:
            text.encode()
            with stop.on_signals():
                answer(text, stop)
        except UnicodeEncodeError:
            say("that is not UTF-8")
        except InputError as error:
            say(error.on_command_line)
        if stop.by not in (0, SIGINT):
            raise Interrupted(stop.by)


def chatted(writer: "Writer", talk: "Conversation") -> None:
    """A chat from a terminal: the model hears all that was said before."""

    def answer(text: str, stop: Stop) -> None:
        if text.strip() == ANEW:
            talk.begin_anew()
            return say("a new chat: what was said is forgotten")
        found = writer.write([talk.ask(text)], stop)
        return talk.answered(text, found[0].text)

    spoken(answer, f"Talk to it; {ANEW} begins anew,")
