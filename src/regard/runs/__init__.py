"""A run folder: recipe, what the task keeps, checkpoints and log."""

from regard.runs.checkpoint import STATE, WEIGHTS, Checkpoint
from regard.runs.run import Run

__all__ = ["STATE", "WEIGHTS", "Checkpoint", "Run"]
