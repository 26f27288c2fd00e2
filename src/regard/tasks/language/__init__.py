"""Language models: the next token from those before it."""

from regard.tasks.language.task import Language

__all__ = ["Language"]
