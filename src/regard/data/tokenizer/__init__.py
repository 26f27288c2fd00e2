"""Text into numbers and back: four ways to learn how, and any tokenizer learnt elsewhere."""

from regard.data.tokenizer.bpe import Bpe
from regard.data.tokenizer.pretrained import Pretrained
from regard.data.tokenizer.tokenizer import TextStream, Tokenizer
from regard.data.tokenizer.trainer import TokenizerTrainer
from regard.data.tokenizer.unigram import Unigram
from regard.data.tokenizer.whole import Characters, Words

__all__ = [
    "Bpe",
    "Characters",
    "Pretrained",
    "TextStream",
    "Tokenizer",
    "TokenizerTrainer",
    "Unigram",
    "Words",
]
