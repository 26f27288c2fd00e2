"""A trained tokenizer: texts to ids, ids to texts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

from tokenizers import Tokenizer as Engine

from regard.datasets.tokenizer.foreign import known
from regard.datasets.tokenizer.shell import PREFIX, SPECIAL, rebuilt
from regard.errors import InputError


@dataclass(frozen=True)
class Tokenizer:
    """Any tokenizer of the `tokenizers` library, with the ids that have a meaning of their own.

    `prefix` is what `encode` puts before every text so that its first word is cut like all others; `decode`
    takes it away again. Tokenizers of other makers have their own way, and none here.
    """

    engine: Engine = field(repr=False)
    pad: int | None = None
    bos: int | None = None
    eos: int | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        self.engine.encode_special_tokens = True  # as text: a user who writes "<|im_end|>" ends nothing

    def __len__(self) -> int:
        """One more than the highest id."""
        return self._size

    @cached_property
    def _size(self) -> int:
        """The library copies its whole vocabulary to answer."""
        return 1 + max(self.engine.get_vocab().values(), default=-1)

    @property
    def special(self) -> frozenset[int]:
        """Ids that are no text."""
        return frozenset(token for token in (self.pad, self.bos, self.eos) if token is not None)

    def encode(self, texts: Sequence[str], special: bool = False) -> list[list[int]]:
        """The ids of every text; none is added.

        With `special`, the names of control tokens in a text stand for these tokens: for texts that a chat template
        has written. Without, they are letters like all others.
        """
        engine = self._obedient if special else self.engine
        with _panics():
            return [encoding.ids for encoding in engine.encode_batch_fast(list(texts), add_special_tokens=False)]

    @cached_property
    def _obedient(self) -> Engine:
        """One of its own, since other threads may be encoding with the first just now."""
        engine: Engine = deepcopy(self.engine)
        engine.encode_special_tokens = False
        return engine

    def is_foreign(self, text: str) -> bool:
        """Whether most of a text is spelt byte by byte: its characters are in no token of the vocabulary.

        A vocabulary of bytes alone has no characters to say it by.
        """
        if text.isascii() or not self._has_characters:
            return False
        ids = self.encode([text])[0]
        names = (self.engine.id_to_token(token) or "" for token in ids)
        pieces = zip(names, self.raw([[token] for token in ids]), strict=True)
        single = sum(piece == "\ufffd" and (len(name) == 1 or name.startswith("<0x")) for name, piece in pieces)
        return 2 * single > len("".join(text.split()).encode())

    @cached_property
    def _has_characters(self) -> bool:
        return len(self) > len(SPECIAL) + 256

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Whole texts; a character cut in half by a model shows as �."""
        return [text.removeprefix(self.prefix) for text in self.raw(rows)]

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The same with the prefix still before it: what a part of a text is, that did not begin one."""
        special = self.special
        return self._engine_decode([[token for token in row if token not in special] for row in rows])

    def _engine_decode(self, rows: list[list[int]]) -> list[str]:
        with _panics():
            texts: list[str] = self.engine.decode_batch(rows, skip_special_tokens=False)
        return texts

    def stream(self, prompt: Sequence[int] = ()) -> "TextStream":
        """Text that grows token by token behind a prompt."""
        return TextStream(self, list(prompt))

    def tokens(self, row: Sequence[int]) -> list[str]:
        """What each id stands for, to be shown to people."""
        special, engine = self.special, self.engine
        named = (engine.id_to_token(token) if token in special else "" for token in row)
        plain = self._engine_decode([[token] for token in row])
        return [(name or text).strip() or "␣" for name, text in zip(named, plain, strict=True)]

    def table(self) -> dict[str, Any]:
        """All there is to know, as JSON can hold it."""
        special = {"pad": self.pad, "bos": self.bos, "eos": self.eos, "prefix": self.prefix}
        return special | {"tokenizer": json.loads(self.engine.to_str())}

    @classmethod
    def open(cls, table: Mapping[str, Any]) -> "Tokenizer":
        """From what `table` gave."""
        inner, prefix = table.get("tokenizer"), table.get("prefix")
        if not isinstance(inner, Mapping) or prefix not in ("", PREFIX):
            raise InputError("not a tokenizer: wanted the tables Regard writes")
        special = [table.get(role) for role in ("pad", "bos", "eos")]
        ids = [token if type(token) is int else None for token in special]
        made = cls(own_engine(inner), ids[0], ids[1], ids[2], prefix)
        for token in special:
            if token is not None and not (type(token) is int and 0 <= token < len(made)):
                raise InputError(f"not a tokenizer: {token!r} is no id of its {len(made):,}")
        return made


def own_engine(table: Mapping[str, Any]) -> Engine:
    """A tokenizer that Regard has learnt, made anew: nothing but its vocabulary is taken from the table.

    One that a part of the user's own has learnt may be of another form, of known parts like those of other makers.
    """
    with _panics():
        return rebuilt(table) or open_engine(table)


def open_engine(table: Mapping[str, Any]) -> Engine:
    """A tokenizer of the library from its own JSON, of known parts only, with nothing cut off and nothing filled up."""
    with _panics():
        made = known(table)
        engine = Engine.from_str(json.dumps(made))
        for token in made["added_tokens"]:
            if engine.token_to_id(token["content"]) != token["id"]:  # the library numbers them itself
                raise ValueError(f"added_tokens: {token['content'][:32]!r} has another id than its place gives it")
        return engine


@contextmanager
def _panics() -> Iterator[None]:
    """The library raises nothing narrower than Exception, and its panics are not even that."""
    try:
        yield
    except BaseException as error:
        told = isinstance(error, ValueError) or type(error) is Exception or type(error).__name__ == "PanicException"
        if isinstance(error, InputError) or not told:
            raise
        raise InputError(f"not a tokenizer: {str(error)[:200]}") from error


class TextStream:
    """The text of a continuation, exact to the character: prompt and chunks together are the text of all ids.

    Decoded alone, a continuation would lose the space before its first word. Half a character is held back until
    its other half comes, or `rest` is asked for; one that a prompt ends with is told whole.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: list[int]) -> None:
        self._tokenizer, self._ids = tokenizer, prompt
        self._start, self._told = 0, len(prompt)

    def add(self, token: int) -> str:
        """What is certain of the text now."""
        self._ids.append(token)
        text, start = self._new()
        return "" if text.endswith("�") else self._tell(text, start)

    def rest(self) -> str:
        """What was held back."""
        return self._tell(*self._new())

    def _tell(self, text: str, start: int) -> str:
        """Ids that say nothing wait for the next ones: how these are written needs something told before them."""
        if text:
            self._start, self._told = start, len(self._ids)
        return text

    def _new(self) -> tuple[str, int]:
        """What the last chunk and the ids since then say more than the last chunk alone, and where to begin next time.

        That is where this chunk began, unless inside a character: half of one makes all bytes around it unreadable.
        """
        if self._start == 0:
            before, after = self._tokenizer.decode([self._ids[: self._told], self._ids])
        else:
            before, after = self._tokenizer.raw([self._ids[self._start : self._told], self._ids[self._start :]])
        if after.startswith(before):
            return after[len(before) :], self._told
        same = takewhile(lambda two: two[0] == two[1], zip(before, after, strict=False))
        return after[sum(1 for _ in same) :], self._start
