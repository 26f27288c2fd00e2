"""Text into numbers and back: several ways to learn how, and any tokenizer learnt elsewhere."""

from regard.datasets.tokenizer.bpe import Bpe
from regard.datasets.tokenizer.pretrained import Pretrained
from regard.datasets.tokenizer.tokenizer import TextStream, Tokenizer
from regard.datasets.tokenizer.trainer import TokenizerTrainer
from regard.datasets.tokenizer.unigram import Unigram
from regard.datasets.tokenizer.whole import Bytes, Characters, Words

__all__ = [
    "Bpe",
    "Bytes",
    "Characters",
    "Pretrained",
    "TextStream",
    "Tokenizer",
    "TokenizerTrainer",
    "Unigram",
    "Words",
]
