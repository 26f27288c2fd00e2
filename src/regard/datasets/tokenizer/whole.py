"""Whole words or characters; what is rare is spelt in bytes."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from tokenizers import Tokenizer as Engine
from tokenizers import models

from regard.datasets.tokenizer.shell import SPECIAL, alphabet
from regard.datasets.tokenizer.trainer import LEAST, ByteTrainer


class Words(ByteTrainer):
    """Whole words and marks, the most frequent ones; rare words are spelt in bytes."""

    def learn(self, texts: Iterable[str]) -> Engine:
        return _whole(self, texts)


class Characters(ByteTrainer):
    """Every character by itself."""

    single = True

    def learn(self, texts: Iterable[str]) -> Engine:
        return _whole(self, texts)


def _whole(trainer: ByteTrainer, texts: Iterable[str]) -> Engine:
    """A vocabulary of whole units, the most frequent first."""
    shell = trainer.shell(models.BPE())
    counts: Counter[str] = Counter()
    for text in texts:
        plain = shell.normalizer.normalize_str(text)
        counts.update(unit for unit, _ in shell.pre_tokenizer.pre_tokenize_str(plain))
    for single in alphabet():
        del counts[single]
    frequent = sorted(counts, key=lambda unit: (-counts[unit], unit))
    named = [*SPECIAL, *alphabet(), *islice(frequent, trainer.vocab_size - LEAST)]
    return trainer.shell(models.BPE({unit: number for number, unit in enumerate(named)}, [], ignore_merges=True))
