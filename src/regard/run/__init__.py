"""A run folder: recipe, what the task keeps, checkpoints and log."""

from regard.run.checkpoint import STATE, WEIGHTS, Checkpoint
from regard.run.run import Run

__all__ = ["STATE", "WEIGHTS", "Checkpoint", "Run"]
