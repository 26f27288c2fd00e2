"""Images and what each shows: folders of them, archives, tables; decoded once into a cache."""

from regard.datasets.images.folder import ImageFolder
from regard.datasets.images.images import Images
from regard.datasets.images.picture import Picture

__all__ = ["ImageFolder", "Images", "Picture"]
