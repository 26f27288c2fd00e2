"""A run folder: recipe, tokens, checkpoints and log."""

from regard.runs.checkpoint import FILES, Checkpoint
from regard.runs.run import Run

__all__ = ["FILES", "Checkpoint", "Run"]
