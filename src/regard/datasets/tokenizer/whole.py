"""Whole words, characters or bytes; what is rare is spelt in bytes."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice

from tokenizers import Tokenizer as Engine
from tokenizers import models

from regard.datasets.tokenizer.shell import SPECIAL, alphabet, shell
from regard.datasets.tokenizer.tokenizer import Tokenizer
from regard.datasets.tokenizer.trainer import BOS, EOS, LEAST, PAD, ByteTrainer, TokenizerTrainer


class Words(ByteTrainer):
    """Whole words and marks, the most frequent ones; rare words are spelt in bytes."""

    def learn(self, texts: Iterable[str]) -> Engine:
        empty, counts = self.shell(models.BPE()), Counter[str]()
        for text in texts:
            plain = empty.normalizer.normalize_str(text)
            counts.update(unit for unit, _ in empty.pre_tokenizer.pre_tokenize_str(plain))
        return _whole(self, counts)


class Bytes(TokenizerTrainer):
    """Every byte by itself: 256 of them, and nothing to learn."""

    def train(self, texts: Iterable[str], tick: Callable[[], None] = lambda: None) -> Tokenizer:
        named = {name: number for number, name in enumerate([*SPECIAL, *alphabet()])}
        return Tokenizer(shell(models.BPE(named, []), prefix=self.prefix), PAD, BOS, EOS, self.prefix)


class Characters(ByteTrainer):
    """Every character by itself."""

    single = True

    def learn(self, texts: Iterable[str]) -> Engine:
        empty, counts = self.shell(models.BPE()), Counter[str]()
        for text in texts:
            counts.update(empty.normalizer.normalize_str(text))
        spell = empty.pre_tokenizer.pre_tokenize_str  # each once: it takes longer than to count a thousand
        return _whole(self, Counter({spell(letter)[0][0]: count for letter, count in counts.items()}))


def _whole(trainer: ByteTrainer, counts: Counter[str]) -> Engine:
    """A vocabulary of whole units, the most frequent first."""
    for single in alphabet():
        del counts[single]
    frequent = sorted(counts, key=lambda unit: (-counts[unit], unit))
    named = [*SPECIAL, *alphabet(), *islice(frequent, trainer.vocab_size - LEAST)]
    return trainer.shell(models.BPE({unit: number for number, unit in enumerate(named)}, [], ignore_merges=True))
