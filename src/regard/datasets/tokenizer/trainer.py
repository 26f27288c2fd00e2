"""How a tokenizer is learnt from text: the contract, and what the ways to do so share.

All work on the bytes of the text (each written as one printable character), and all know the 256
bytes: what a vocabulary does not hold as a whole is spelt out, and no character is ever lost.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

from annotated_doc import Doc
from tokenizers import Tokenizer as Engine
from tokenizers import models

from regard.apart import apart
from regard.datasets.tokenizer.shell import PREFIX, SPECIAL, shell
from regard.datasets.tokenizer.tokenizer import Tokenizer, own_engine
from regard.errors import RecipeError
from regard.recipe import Number

PAD, BOS, EOS = range(3)
LEAST = len(SPECIAL) + 256
USUAL = 8000
MANY, MUCH = 4096, 1 << 20  # texts at a time, and characters
LONG = 256  # characters of a word, a number, marks or white space: longer ones are learnt from in pieces
MAYBE_LONG = re.compile(rf"\S{{{LONG + 1}}}|\s{{{LONG + 1}}}")
LONG_WORD = re.compile(
    rf"(?<![^\W_])[^\W_]{{{LONG + 1},}}"
    rf"|(?<!\s)\s{{{LONG + 1},}}"
    rf"|(?<![^\w\s])(?<!_)(?:[^\w\s]|_){{{LONG + 1},}}"
)


class TokenizerTrainer(ABC):
    """Where a tokenizer comes from."""

    joint = True
    """Whether several sides of the data share one vocabulary."""
    asked = 0
    """How many tokens were asked for; 0 where nobody said."""
    prefix = PREFIX
    """What stands before every text, so that its first word is cut like all others; a text that goes on has none."""
    single = False
    """Whether text is cut between all characters before anything is learnt, or between words."""
    note = ""
    """Once it is trained: which part of the texts it did not learn from, and why."""

    @abstractmethod
    def train(self, texts: Iterable[str], tick: Callable[[], None] = lambda: None) -> Tokenizer:
        """A tokenizer for texts like these; `tick` is called now and then while it is learnt."""


class ByteTrainer(TokenizerTrainer):
    """Learns a vocabulary of `vocab_size` tokens that spells what it does not know; 0 means 8,000, or what there is."""

    least_share = 0.0
    most_long = 0
    """Characters of words longer than LONG that it learns from at most."""

    def __init__(
        self,
        *,
        vocab_size: Annotated[
            Number, Doc("Number of tokens to learn, 259 at least; 0 means 8,000, or as many as the text gives.")
        ] = 0,
        joint: Annotated[bool, Doc("Whether source and target share one vocabulary, or each learns its own.")] = True,
        lowercase: Annotated[
            bool, Doc("Whether all text is made lower case first; answers are lower case then.")
        ] = False,
    ) -> None:
        if 0 < vocab_size < LEAST:
            raise ValueError(
                f"vocab_size: wanted at least {LEAST} (256 bytes and {', '.join(SPECIAL)}), given {vocab_size}"
            )
        self.asked, self.vocab_size = vocab_size, vocab_size or USUAL
        self.joint, self.lowercase = joint, lowercase

    def train(self, texts: Iterable[str], tick: Callable[[], None] = lambda: None) -> Tokenizer:
        words = LongWords(texts, self.most_long)
        made = json.loads(apart(lambda: self.learn(texts if self.single else words), tick).to_str())
        self.note = words.note
        made["added_tokens"] = []  # so that a text that says "<eos>" ends nothing
        tokenizer = Tokenizer(own_engine(made), PAD, BOS, EOS, self.prefix)
        if len(tokenizer) < self.asked * self.least_share:
            raise RecipeError(
                f"tokenizer.vocab_size: the text gives a vocabulary of {len(tokenizer):,} at most, not "
                f"{self.vocab_size:,}; say tokenizer.vocab_size={len(tokenizer)} or fewer"
            )
        return tokenizer

    @abstractmethod
    def learn(self, texts: Iterable[str]) -> Engine:
        """The library's tokenizer with its vocabulary, the special tokens first."""

    def shell(self, model: models.Model) -> Engine:
        """Everything but the vocabulary: a space before the first word, words apart, bytes as letters."""
        return shell(model, self.lowercase, self.single, self.prefix)


def batched(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts by the thousand, as the library takes them fastest; of long ones fewer, as all of them are held at once."""
    batch, size = list[str](), 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if len(batch) == MANY or size >= MUCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class LongWords:
    """Texts whose long words are cut into pieces; of many pieces a sample, evenly chosen, of `most` characters.

    Chinese without punctuation, DNA and digits are one such word. A trainer holds every distinct word it has read and
    goes through all of it for every token it learns: whole, and without a limit, they would take minutes and gigabytes.
    """

    def __init__(self, texts: Iterable[str], most: int) -> None:
        self._texts, self._most = texts, most // LONG
        self._pieces = list[str]()
        self._every, self._number, self._characters = 1, 0, 0

    def __iter__(self) -> Iterator[str]:
        for text in self._texts:
            yield from self._short(text) if MAYBE_LONG.search(text) else (text,)
        yield from self._pieces

    def _short(self, text: str) -> Iterator[str]:
        """What stands between long words."""
        end = 0
        for word in LONG_WORD.finditer(text):
            yield text[end : word.start()]
            end = word.end()
            self._characters += end - word.start()
            if self._most:
                for start in range(word.start(), end, LONG):
                    self._sample(text[start : min(end, start + LONG)])
        yield text[end:]

    def _sample(self, piece: str) -> None:
        if self._number % self._every == 0:
            self._pieces.append(piece)
        self._number += 1
        if len(self._pieces) > self._most:
            del self._pieces[1::2]
            self._every *= 2

    @property
    def note(self) -> str:
        """How much of them was left out."""
        learnt = sum(map(len, self._pieces))
        if learnt == self._characters:
            return ""
        long = f"the {self._characters:,} characters in words of over {LONG}"
        what = f"the vocabulary is learnt from {learnt:,} of {long}, evenly chosen"
        return what if self._most else f"the vocabulary has none of {long}: they are spelt in bytes"
