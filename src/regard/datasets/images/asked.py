"""Which images are meant: files, all images of a folder or an archive, a pattern, or pixels at hand."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.datasets.images.find import find
from regard.datasets.images.picture import UnreadError, endings, open_picture
from regard.datasets.images.sources import Source
from regard.datasets.patterns import has_magic, matching
from regard.disk import place
from regard.errors import InputError

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".xz", ".bz2", ".parquet", ".csv", ".tsv")
HELD = 2**26  # bytes of the pixels of some images: a photo of today has more, and is answered alone
Given = str | Path | NDArray[np.uint8]
"""What an image is named by, or its pixels: rows, columns, and channels if there are several."""


Read = tuple[str, NDArray[np.uint8]]
"""An image by its name."""
R = TypeVar("R", bound=Read | InputError)


@dataclass(frozen=True)
class Asked:
    """An image that a user asks about: what people know it by, and where it is, or what it holds."""

    name: str
    source: Path | bytes | NDArray[np.uint8] | UnreadError

    def pixels(self) -> NDArray[np.uint8]:
        """Rows, columns, channels; what is no image is refused."""
        if isinstance(self.source, UnreadError):
            raise InputError(f"{self.name}: {self.source.why}")
        return self.source if isinstance(self.source, np.ndarray) else open_picture(self.source, self.name)


def asked_images(given: Iterable[object]) -> Iterator[Asked]:
    """One after the other, in their order; those of a folder, an archive or a pattern by name."""
    for number, one in enumerate(given, 1):
        if isinstance(one, np.ndarray):
            yield Asked(f"image {number}", checked_pixels(one, number))
        elif isinstance(one, str | Path):
            yield from named_images(str(one))
        else:
            raise InputError(f"image {number}: wanted the name of an image or its pixels, given {type(one).__name__}")


def in_groups(images: Iterable[R], most: int) -> Iterator[list[R]]:
    """At most so many images at a time, and no more than can be held; each is read when its turn comes."""
    group, held = list[R](), 0
    for one in images:
        group.append(one)
        held += 0 if isinstance(one, InputError) else one[1].nbytes
        if len(group) >= most or held > HELD:
            yield group
            group, held = [], 0
    if group:
        yield group


def check_name(name: str) -> None:
    """Refuse what names no image, as far as a look at the name tells."""
    if not name.strip() or "\0" in name:
        raise InputError("an empty name: name an image, a folder of images, or a pattern such as 'photos/*.jpg'")
    if ADDRESS.match(name):
        raise InputError(f"{name}: nothing is fetched from the network; save the image first, and name its file")
    if not place(name).exists() and not has_magic(name):
        raise InputError(f"{name}: no such file")


def named_images(name: str) -> Iterator[Asked]:
    """What a name stands for: an image, or several."""
    check_name(name)
    path = place(name)
    if path.is_dir() or (path.suffix.lower() in ARCHIVES and path.is_file()):
        none = True
        for source in find([str(path)], "", None, "images"):
            for one in _inside(source):
                none = False
                yield one
        if none:
            raise InputError(f"{name}: no image in it")
    elif not path.exists():
        found = [one for one in matching(str(path)) if Path(one).suffix.lower() in endings()]
        if not found:
            raise InputError(f"{name}: no image matches this pattern")
        yield from (Asked(one, Path(one)) for one in found)
    else:
        yield Asked(name, path)


def checked_pixels(given: NDArray[np.generic], number: int) -> NDArray[np.uint8]:
    """Pixels of one image, grey ones with a channel of their own."""
    shown = f"{given.dtype} of {' × '.join(map(str, given.shape))}"
    if given.dtype != np.uint8 or given.ndim not in (2, 3) or (given.ndim == 3 and given.shape[2] not in (1, 3)):
        raise InputError(f"image {number}: wanted bytes of rows × columns × 3 (or 1), given {shown}")
    if not given.size:
        raise InputError(f"image {number}: empty")
    pixels: NDArray[np.uint8] = given.astype(np.uint8) if given.ndim == 3 else given[:, :, None].astype(np.uint8)
    return pixels


def _inside(source: Source) -> Iterator[Asked]:
    """All images of a folder or an archive, each read when its turn comes."""
    for entry, content in source.contents(source.entries()):
        yield Asked(f"{source.path}/{entry.name}", UnreadError(entry.name, entry.bad) if entry.bad else content)
