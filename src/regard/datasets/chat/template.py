"""Rendering a chat by a model's own template, and encoding it so that only the template says control tokens."""

import json
import os
import re
import secrets
import signal
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Any

from regard.datasets.chat.sandbox import LONGEST
from regard.datasets.tokenizer import Tokenizer
from regard.disk.parsing import json_value
from regard.errors import InputError
from regard.process import DEVNULL, PIPE, start_python

SANDBOX = Path(__file__).with_name("sandbox.py")
SECONDS, PATIENCE, MEMORY = 2, 20.0, 2**29  # of work, of waiting on a busy machine, and bytes
ESCAPED, FRAME = 12, 4096  # bytes of JSON that a character takes at most, and those around a text
NEEDED = ("LD_LIBRARY_PATH", "TZ")
MARK = re.compile("\ue000([0-9a-f]{32})-([0-9]{1,9})\ue001")

Message = Mapping[str, Any]


def render(
    template: str,
    messages: Sequence[Message],
    *,
    names: Mapping[str, str] | None = None,
    answer: bool = True,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """The text of a chat, as a model's Jinja template writes it; with `answer`, up to where the model goes on.

    `names` are what the template may call tokens: bos_token, eos_token. It is rendered in a process of its own that
    is bounded in time, memory and what it writes; what goes wrong there is said in a sentence.
    """
    values = {"messages": [dict(one) for one in messages], "add_generation_prompt": answer, "tools": tools}
    order = _order(template, values | dict(names or {}))
    variables = {name: os.environ[name] for name in NEEDED if name in os.environ}
    with start_python(
        ["-I", "-S", str(SANDBOX)], SANDBOX.parent, variables=variables, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    ) as child:
        clock = Timer(PATIENCE, child.kill)
        clock.start()
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(order)
            child.stdin.close()
            said = child.stdout.read(ESCAPED * LONGEST + FRAME)
        except BrokenPipeError:
            said = b""
        finally:
            clock.cancel()
            child.kill()
    return _answer(said, child.returncode)


def encode_chat(
    tokenizer: Tokenizer,
    template: str,
    messages: Sequence[Message],
    *,
    answer: bool = True,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> list[int]:
    """The ids of a chat. Names of control tokens stand for these only where the template wrote them.

    A message that says "<|im_end|>" could otherwise end itself and speak as somebody else. Such names are taken out
    before the template sees them, and put back as plain letters.
    """
    hidden = _Hidden(tokenizer)
    roles = {"bos_token": tokenizer.bos, "eos_token": tokenizer.eos, "pad_token": tokenizer.pad}
    names = {role: tokenizer.engine.id_to_token(token) or "" for role, token in roles.items() if token is not None}
    plain = [{key: hidden.hide(value) for key, value in one.items()} for one in messages]
    text = render(template, plain, names=names, answer=answer, tools=hidden.hide(tools))
    row: list[int] = []
    for part, name in hidden.apart(text):
        row += tokenizer.encode([part], special=True)[0] + tokenizer.encode([name])[0]
    return row


class _Hidden:
    """Names of control tokens that were taken out of messages, each with a mark that nobody can guess in its place.

    So is what a name begins with where a text of a message ends: the rest could stand at the beginning of the next.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        added = tokenizer.engine.get_added_tokens_decoder().values()
        self.controls = sorted((token.content for token in added if token.special), key=len, reverse=True)
        self.control = re.compile("|".join(map(re.escape, self.controls)) or r"(?!)")
        self.beginnings = {name[:end] for name in self.controls for end in range(1, len(name))} - {*self.controls}
        self.nonce, self.names = secrets.token_hex(16), list[str]()

    def hide(self, value: Any) -> Any:
        """The same without them, in lists and tables too, whose keys a template can write as well."""
        if isinstance(value, str):
            return self._hide_end(self.control.sub(lambda found: self._mark(found[0]), value))
        if isinstance(value, Mapping):
            return {self.hide(key): self.hide(inner) for key, inner in value.items()}
        return [self.hide(inner) for inner in value] if isinstance(value, list | tuple) else value

    def _hide_end(self, text: str) -> str:
        """Before white space, too, which templates strip."""
        longest = len(self.controls[0]) if self.controls else 0
        for kept in (text, text.rstrip()):
            for start in range(max(0, len(kept) - longest), len(kept)):
                if kept[start:] in self.beginnings:
                    return text[:start] + self._mark(kept[start:]) + text[len(kept) :]
        return text

    def _mark(self, name: str) -> str:
        self.names.append(name)
        return f"\ue000{self.nonce}-{len(self.names) - 1}\ue001"

    def apart(self, text: str) -> Iterator[tuple[str, str]]:
        """Text of the template and its messages, each with the name that was hidden behind it.

        A beginning that nothing completed is text like any other, and is encoded together with what is around it.
        """
        parts, place = list[tuple[str, str]](), 0
        for found in MARK.finditer(text):
            if found[1] == self.nonce and int(found[2]) < len(self.names):  # a template can see it and lie
                parts.append((text[place : found.start()], self.names[int(found[2])]))
                place = found.end()
        parts.append((text[place:], ""))
        plain, end, before = "".join(part + name for part, name in parts), 0, ""
        for part, name in parts:
            before, end = before + part, end + len(part) + len(name)
            if name in self.beginnings and not self._completed(plain, end - len(name), end):
                before += name
            else:
                yield before, name
                before = ""
        yield before, ""

    def _completed(self, text: str, start: int, end: int) -> bool:
        """Whether the name of a control token begins in a part of a text, and goes on behind it."""
        return any(
            text.startswith(name, at) for at in range(start, end) for name in self.controls if at + len(name) > end
        )


def _order(template: str, values: Mapping[str, Any]) -> bytes:
    for number, one in enumerate(values["messages"]):
        if not isinstance(one.get("role"), str) or "content" not in one:
            raise InputError(f"message {number + 1}: wanted a table with a role and a content")
    found = find_spec("jinja2")
    if found is None or found.origin is None:
        raise InputError("chat templates need the package jinja2: pip install 'regard[import]'")
    path = str(Path(found.origin).parents[1])
    try:
        order = {"template": template, "values": values, "path": path, "seconds": SECONDS, "memory": MEMORY}
        content = json.dumps(order).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a message that is no text, number, list or table: {error}") from error
    if len(content) > 4 * LONGEST:
        raise InputError(f"a chat of {len(content):,} bytes, and {4 * LONGEST:,} is the most")
    return content


def _answer(said: bytes, code: int) -> str:
    answer = json_value(said)
    if isinstance(answer, dict) and isinstance(answer.get("text"), str):
        return _whole(answer["text"])
    if isinstance(answer, dict) and "error" in answer:
        raise InputError(f"chat template: {str(answer['error'])[:300]}")
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        raise InputError(f"chat template: not rendered within {SECONDS} seconds of work; it may never end")
    raise InputError("chat template: it took more memory than it may, or cannot be rendered here")


def _whole(text: str) -> str:
    """Half of a character that takes two can be written in a template, and encoded by nobody."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"chat template: it writes {text[error.start]!r}, which is no character") from error
    return text
