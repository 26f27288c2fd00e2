"""Whole models: from ids, numbers or pixels to logits. Loss, score and answer belong to the task."""

from regard.model.assembly.assembly import Assembly, Writer
from regard.model.assembly.embedding import Embedding
from regard.model.assembly.image_classifier import ImageClassifier
from regard.model.assembly.image_restorer import ImageRestorer
from regard.model.assembly.language_model import LanguageModel
from regard.model.assembly.seq2seq import Seq2Seq
from regard.model.assembly.sequence_regressor import SequenceRegressor

__all__ = [
    "Assembly",
    "Embedding",
    "ImageClassifier",
    "ImageRestorer",
    "LanguageModel",
    "Seq2Seq",
    "SequenceRegressor",
    "Writer",
]
