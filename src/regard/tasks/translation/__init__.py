"""Translation: sentence pairs in, sentences out."""

from regard.tasks.translation.task import Translation
from regard.tasks.translation.translator import Translated, Translator

__all__ = ["Translated", "Translation", "Translator"]
