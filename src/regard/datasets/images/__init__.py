"""Images and what each shows: folders of them, archives, tables; drawn and fetched ones; decoded once into a cache."""

from regard.datasets.images.folder import ImageFolder
from regard.datasets.images.glyphs import Glyphs
from regard.datasets.images.images import Images
from regard.datasets.images.mnist import Mnist
from regard.datasets.images.picture import Picture

__all__ = ["Glyphs", "ImageFolder", "Images", "Mnist", "Picture"]
