"""Text into numbers and back: four ways to cut it, none of which ever loses a character.

All work on the bytes of the text (each written as one printable character), and all know the 256
bytes: what a vocabulary does not hold as a whole is spelt out.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from regard.errors import InputError, RecipeError
from regard.recipe import Number

PAD, BEGIN, END = 0, 1, 2
SPECIAL = ("<pad>", "<begin>", "<end>")
LEAST = len(SPECIAL) + 256
USUAL = 8000
PROBE = " of  bytes: <end> ▁한😀\n"


class Tokens:
    """A trained vocabulary: sentences to ids, ids to sentences."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Ids to text; a character cut in half by a model shows as �."""
        kept = [[token for token in row if token >= len(SPECIAL)] for row in rows]
        return [text[1:] if text[:1] == " " else text for text in self._tokenizer.decode_batch(kept)]

    def pieces(self, row: Sequence[int]) -> list[str]:
        """What each id stands for, to be shown to people."""
        return [
            SPECIAL[token] if token < len(SPECIAL) else self._tokenizer.decode([token]).strip() or "␣" for token in row
        ]

    def table(self) -> dict[str, Any]:
        """All there is to know, as JSON can hold it."""
        table: dict[str, Any] = json.loads(self._tokenizer.to_str())
        return table

    @classmethod
    def open(cls, table: dict[str, Any]) -> "Tokens":
        """From what `table` gave."""
        try:
            tokens = cls(Tokenizer.from_str(json.dumps(table)))
            kept = tokens.decode(tokens.encode([PROBE]))
        except Exception as error:  # the library raises nothing narrower
            raise InputError(f"not a vocabulary: {error}") from error
        numbers = tokens._tokenizer.get_vocab()
        if kept != [PROBE] or max(numbers.values()) != len(tokens) - 1:
            raise InputError("not a vocabulary of Regard: it loses text, or numbers are missing")
        if any(numbers.get(name) != place for place, name in enumerate(SPECIAL)):
            raise InputError(f"not a vocabulary of Regard: it must begin with {', '.join(SPECIAL)}")
        return tokens


class Cutter(ABC):
    """Learns a vocabulary from text."""

    least_share = 0.0

    def __init__(self, *, size: Number = 0, joint: bool = True, lowercase: bool = False) -> None:
        if 0 < size < LEAST:
            raise ValueError(f"size: wanted at least {LEAST} (256 bytes and {', '.join(SPECIAL)}), given {size}")
        self.asked, self.size = size, size or USUAL
        self.joint, self.lowercase = joint, lowercase

    def learn(self, texts: Iterable[str]) -> Tokens:
        """A vocabulary of `size` from these sentences; where that is 0, of 8,000 or what they give."""
        shell = self._shell(models.BPE())
        made = json.loads(self._learnt(shell, texts).to_str())
        made["added_tokens"] = []  # so that a text that says "<end>" ends nothing
        tokens = Tokens.open(made)
        if len(tokens) < self.asked * self.least_share:
            raise RecipeError(
                f"tokens.size: the text gives a vocabulary of {len(tokens):,} at most, not {self.size:,}; "
                f"say tokens.size={len(tokens)} or fewer"
            )
        return tokens

    @abstractmethod
    def _learnt(self, shell: Tokenizer, texts: Iterable[str]) -> Tokenizer:
        """The shell with its vocabulary."""

    def _shell(self, model: models.Model) -> Tokenizer:
        """Everything but the vocabulary: a space before the first word, words apart, bytes as letters."""
        shell = Tokenizer(model)
        lower = [normalizers.Lowercase()] if self.lowercase else []
        shell.normalizer = normalizers.Sequence([*lower, normalizers.Prepend(" ")])
        shell.pre_tokenizer = self._apart()
        shell.decoder = decoders.ByteLevel()
        return shell

    def _apart(self) -> pre_tokenizers.PreTokenizer:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)

    def _whole(self, shell: Tokenizer, texts: Iterable[str]) -> Tokenizer:
        """A vocabulary of whole units, the most frequent first; all else is spelt in bytes."""
        counts: Counter[str] = Counter()
        for text in texts:
            plain = shell.normalizer.normalize_str(text)
            counts.update(unit for unit, _ in shell.pre_tokenizer.pre_tokenize_str(plain))
        alphabet = _alphabet()
        for single in alphabet:
            del counts[single]
        frequent = sorted(counts, key=lambda unit: (-counts[unit], unit))
        named = [*SPECIAL, *alphabet, *islice(frequent, self.size - LEAST)]
        model = models.BPE({unit: number for number, unit in enumerate(named)}, [], ignore_merges=True)
        return self._shell(model)


class Bpe(Cutter):
    """Byte pairs: the most frequent neighbours are joined, again and again [Sennrich et al. 2016]."""

    least_share = 1.0

    def _learnt(self, shell: Tokenizer, texts: Iterable[str]) -> Tokenizer:
        trainer = trainers.BpeTrainer(
            vocab_size=self.size, special_tokens=list(SPECIAL), initial_alphabet=_alphabet(), show_progress=False
        )
        shell.train_from_iterator(_batched(texts), trainer)
        return shell


class Unigram(Cutter):
    """Pieces whose product makes the text most likely [Kudo 2018]."""

    def _learnt(self, shell: Tokenizer, texts: Iterable[str]) -> Tokenizer:
        shell = self._shell(models.Unigram())
        trainer = trainers.UnigramTrainer(
            vocab_size=self.size, special_tokens=list(SPECIAL), initial_alphabet=_alphabet(), show_progress=False
        )
        shell.train_from_iterator(_batched(texts), trainer)
        made = json.loads(shell.to_str())
        made["model"]["vocab"] = _settled(made["model"]["vocab"], self.size)
        return Tokenizer.from_str(json.dumps(made))


class Words(Cutter):
    """Whole words and marks, the most frequent ones; rare words are spelt in bytes."""

    def _learnt(self, shell: Tokenizer, texts: Iterable[str]) -> Tokenizer:
        return self._whole(shell, texts)


class Characters(Cutter):
    """Every character by itself."""

    def _learnt(self, shell: Tokenizer, texts: Iterable[str]) -> Tokenizer:
        return self._whole(shell, texts)

    def _apart(self) -> pre_tokenizers.PreTokenizer:
        single = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
        return pre_tokenizers.Sequence([single, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def _alphabet() -> list[str]:
    """The 256 bytes as printable characters, in a fixed order."""
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _settled(scored: list[Any], size: int) -> list[Any]:
    """One order and no more than `size`: the trainer scores bytes it has not chosen by chance, just above the least."""
    special, pieces = scored[: len(SPECIAL)], scored[len(SPECIAL) :]
    least = min(score for _, score in pieces)
    even = [(piece, least if len(piece) == 1 and score < least + 0.026 else score) for piece, score in pieces]
    best = sorted(((piece, round(score, 6)) for piece, score in even), key=lambda pair: (-pair[1], pair[0]))
    longer = islice((piece for piece, _ in best if len(piece) > 1), size - LEAST)
    kept = {*longer, *_alphabet()}
    return [*special, *(pair for pair in best if pair[0] in kept)]


def _batched(texts: Iterable[str]) -> Iterator[list[str]]:
    texts = iter(texts)
    while batch := list(islice(texts, 4096)):
        yield batch
