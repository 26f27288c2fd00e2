"""Restoration: spoilt images in, what they were out."""

from regard.tasks.restoration.restorer import Restored, Restorer
from regard.tasks.restoration.task import Restoration

__all__ = ["Restoration", "Restored", "Restorer"]
