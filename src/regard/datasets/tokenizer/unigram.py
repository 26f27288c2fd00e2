"""Unigram pieces."""

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers import models, trainers

from regard.datasets.tokenizer.shell import SPECIAL, alphabet
from regard.datasets.tokenizer.trainer import LEAST, ByteTrainer, batched


class Unigram(ByteTrainer):
    """Pieces whose product makes the text most likely [Kudo 2018]."""

    most_long = 1 << 18

    def learn(self, texts: Iterable[str]) -> Engine:
        shell = self.shell(models.Unigram())
        trainer = trainers.UnigramTrainer(
            vocab_size=self.vocab_size, special_tokens=list(SPECIAL), initial_alphabet=alphabet(), show_progress=False
        )
        shell.train_from_iterator(batched(texts), trainer)
        made = json.loads(shell.to_str())
        made["model"]["vocab"] = _settled(made["model"]["vocab"], self.vocab_size)
        return Engine.from_str(json.dumps(made))


def _settled(scored: list[Any], size: int) -> list[Any]:
    """One order and no more than `size`: the trainer scores bytes it has not chosen by chance, just above the least."""
    special, pieces = scored[: len(SPECIAL)], scored[len(SPECIAL) :]
    if any(score is None for _, score in pieces):  # the trainer has found no piece
        pieces = [(byte, 0.0) for byte in alphabet()]
    least = min(score for _, score in pieces)
    even = [(piece, least if len(piece) == 1 and score < least + 0.026 else score) for piece, score in pieces]
    best = sorted(((piece, round(score, 6)) for piece, score in even), key=lambda pair: (-pair[1], pair[0]))
    longer = islice((piece for piece, _ in best if len(piece) > 1), size - LEAST)
    kept = {*longer, *alphabet()}
    return [*special, *(pair for pair in best if pair[0] in kept)]
