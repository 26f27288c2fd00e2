"""Byte pairs."""

from collections.abc import Iterable

from tokenizers import Tokenizer as Engine
from tokenizers import models, trainers

from regard.datasets.tokenizer.shell import SPECIAL, alphabet
from regard.datasets.tokenizer.trainer import ByteTrainer, batched


class Bpe(ByteTrainer):
    """Byte pairs: the most frequent neighbours are joined, again and again [Sennrich et al. 2016]."""

    least_share = 1.0
    most_long = 1 << 20

    def learn(self, texts: Iterable[str]) -> Engine:
        shell = self.shell(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocab_size, special_tokens=list(SPECIAL), initial_alphabet=alphabet(), show_progress=False
        )
        shell.train_from_iterator(batched(texts), trainer)
        return shell
