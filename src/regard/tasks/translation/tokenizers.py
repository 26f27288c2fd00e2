"""The tokenizers of both sides."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from regard.datasets.pairs import Pairs
from regard.datasets.tokenizer import Tokenizer, TokenizerTrainer
from regard.disk import parse_json
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.tasks.task import Kept

SAMPLE, EVERY = 1_000_000, 1000
BOTH, SIDES = "tokenizer.json", ("source-tokenizer.json", "target-tokenizer.json")


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of both sides; they may be the same."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, pairs: Pairs, trainer: TokenizerTrainer, listener: Listener = SILENT) -> "TokenizerPair":
        """From the first million training pairs."""
        total = min(SAMPLE, pairs.count("train"))
        so_far = [(0, total)]  # while words are counted; after that nobody says how far it is

        def texts(*sides: int) -> Iterator[str]:
            for done, pair in enumerate(islice(pairs.read("train"), SAMPLE)):
                so_far[0] = done, total
                yield from (pair[side] for side in sides)
            so_far[0] = 0, 0

        def tick() -> None:
            listener.at("learning the vocabulary", *so_far[0])

        tick()
        if trainer.joint:
            both = trainer.train(texts(0, 1), tick)
            made = cls(both, both)
        else:
            made = cls(trainer.train(texts(0), tick), trainer.train(texts(1), tick))
        if trainer.note:
            listener.say(trainer.note)
        fewer = min(len(made.source), len(made.target))
        if fewer < trainer.asked:
            listener.say(f"tokenizer.vocab_size: {trainer.asked:,} were asked for, and the text gives {fewer:,}")
        return made.checked()

    @classmethod
    def open(cls, kept: Kept) -> "TokenizerPair":
        """From the files of a run."""
        if BOTH in kept:
            both = _open(kept, BOTH)
            return cls(both, both).checked()
        return cls(_open(kept, SIDES[0]), _open(kept, SIDES[1])).checked()

    def files(self) -> dict[str, bytes]:
        """What `open` reads."""
        if self.source is self.target:
            return {BOTH: _bytes(self.source)}
        return {name: _bytes(side) for name, side in zip(SIDES, (self.source, self.target), strict=True)}

    def checked(self) -> "TokenizerPair":
        """A translation must be able to end."""
        if self.source.eos is None or self.target.eos is None:
            raise RecipeError("tokenizer.eos: the tokenizer has no token that ends a text; name one")
        return self

    @property
    def ids(self) -> "SpecialIds":
        """The ids that are no text. Tokenizers without a token for the beginning begin with that of the end."""
        assert self.source.eos is not None
        assert self.target.eos is not None
        bos, eos = self.target.eos if self.target.bos is None else self.target.bos, self.target.eos
        never = sorted(self.target.special - {eos})
        return SpecialIds(self.source.pad or 0, self.source.eos, self.target.pad or 0, bos, eos, tuple(never))


@dataclass(frozen=True)
class SpecialIds:
    """What stands behind every source, before and behind every target, and where there is nothing.

    Nothing is read from where there is nothing, so that a tokenizer without a token for it may fill up with any other.
    """

    source_pad: int
    source_eos: int
    pad: int
    bos: int
    eos: int
    never_written: tuple[int, ...]
    """The tokens before a text and in place of one."""


def _open(kept: Kept, name: str) -> Tokenizer:
    if name not in kept:
        raise InputError(f"{name}: missing in the run")
    try:
        return Tokenizer.open(parse_json(kept[name], name))
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _bytes(tokenizer: Tokenizer) -> bytes:
    return json.dumps(tokenizer.table(), ensure_ascii=False).encode()
