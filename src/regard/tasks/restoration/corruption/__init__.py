"""How images are spoilt that a model learns to restore: noise, squares that are missing, fewer pixels."""

from regard.tasks.restoration.corruption.corruption import Corruption, Drawn, drawn_for
from regard.tasks.restoration.corruption.fewer_pixels import FewerPixels
from regard.tasks.restoration.corruption.noise import Noise
from regard.tasks.restoration.corruption.squares import Squares

__all__ = ["Corruption", "Drawn", "FewerPixels", "Noise", "Squares", "drawn_for"]
