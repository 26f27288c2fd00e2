"""One image from anybody: its head is read first, so that nothing is decoded that is too large to hold.

Whatever Pillow reads becomes 8 bits a colour, turned as its EXIF says, with alpha laid over white.
"""

import warnings
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, UnidentifiedImageError

from regard.disk import read_bytes
from regard.errors import InputError

MOST_PIXELS, MOST_BYTES = 50_000_000, 2**28
FORMATS = (  # those people have most of first; none that is handed to another program, as EPS would be
    "JPEG PNG WEBP GIF BMP PPM TIFF AVIF JPEG2000 ICO ICNS DIB TGA PCX DCX QOI SGI SUN DDS PSD IM XBM XPM MSP FLI"
)
TURNS = {  # by what EXIF calls the orientation
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
EMPTY, NO_IMAGE, BROKEN, HUGE = "empty", "no image", "broken", f"over {MOST_PIXELS // 10**6} million pixels"
LARGE, ODD = f"over {MOST_BYTES >> 20} MiB", "of a kind of pixels that cannot be shown"
CUT_OFF = "cut off"
SCAN, MOST_SCANS = b"\xff\xda", 100  # each goes over all pixels once more, and takes a hundred bytes

PixelArray = NDArray[np.uint8]


@dataclass(frozen=True)
class Picture:
    """An image and what it shows. `pixels` has rows, columns and colours: three, or one if it is grey."""

    pixels: PixelArray
    label: str
    name: str
    """What people know it by: its place in a folder, an archive or a table."""


class UnreadError(InputError):
    """An image that cannot be read. `why` is the same for all that fail alike, so that they can be counted."""

    def __init__(self, named: str, why: str, more: str = "") -> None:
        super().__init__(f"{named}: {why}{f' ({more})' if more else ''}")
        self.why = why


def open_picture(image: Path | bytes, named: str = "") -> PixelArray:
    """The pixels of one image, rows by columns by colours, from a file or from what it held.

    `named` is how an error calls it. Of several frames the first is taken.
    """
    named = named or (str(image) if isinstance(image, Path) else "the image")
    content = read_bytes(image, links=True, most=MOST_BYTES) if isinstance(image, Path) else image
    if not content:
        raise UnreadError(named, EMPTY)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd and can be read is read
            warnings.simplefilter("error", Image.DecompressionBombWarning)  # an icon may hold another image
            return _decoded(content, named)
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnreadError(named, HUGE) from error
    except UnidentifiedImageError as error:
        raise UnreadError(named, NO_IMAGE) from error
    except MemoryError as error:
        raise UnreadError(named, "too large for this machine's memory") from error
    except Exception as error:  # decoders say in many ways what they cannot read
        why = CUT_OFF if "truncated" in str(error).lower() or isinstance(error, EOFError) else BROKEN
        raise UnreadError(named, why, str(error)[:100]) from error


def _decoded(content: bytes, named: str) -> PixelArray:
    with Image.open(BytesIO(content), formats=_formats()) as image:
        across, down = image.size
        if across * down > MOST_PIXELS:
            raise UnreadError(named, HUGE, f"{across:,} × {down:,}")
        if not across * down:
            raise UnreadError(named, EMPTY)
        if image.format in ("JPEG", "MPO") and content.count(SCAN) > MOST_SCANS:
            raise UnreadError(named, f"over {MOST_SCANS} scans")
        image.load()
        plain = _plain(_turned(image), named)
    pixels = np.array(plain)
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


@cache
def endings() -> frozenset[str]:
    """How the names of images end: `.jpg`."""
    known = {*_formats(), "MPO"}  # which is a JPEG with more behind it
    return frozenset(ending for ending, form in Image.registered_extensions().items() if form in known)


@cache
def _formats() -> list[str]:
    """Those that Pillow was built with."""
    Image.init()
    return [name for name in FORMATS.split() if name in Image.OPEN]


def _turned(image: Image.Image) -> Image.Image:
    """As the camera was held; an EXIF block that is broken says nothing."""
    try:
        turn = TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # it is parsed in many ways
        turn = None
    return image if turn is None else image.transpose(turn)


def _plain(image: Image.Image, named: str) -> Image.Image:
    """The same in red, green and blue, or in grey if it has no colours."""
    if image.mode in ("RGB", "L") and not image.has_transparency_data:
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        return Image.fromarray(_scaled(np.array(image), named))
    if image.has_transparency_data:
        grey = image.mode in ("LA", "La", "L", "1")
        seen = image.convert("RGBA")
        white = Image.new("RGBA", seen.size, "white")
        return Image.alpha_composite(white, seen).convert("L" if grey else "RGB")
    if image.mode == "P" and _is_grey(image):
        return image.convert("L")
    try:
        return image.convert("L" if image.mode == "1" else "RGB")
    except ValueError as error:
        raise UnreadError(named, ODD, image.mode) from error


def _is_grey(image: Image.Image) -> bool:
    """Whether all colours of a palette are grey."""
    colours = np.array(image.getpalette("RGB") or [0, 0, 0], np.uint8).reshape(-1, 3)
    return bool((colours == colours[:, :1]).all())


def _scaled(numbers: NDArray[np.generic], named: str) -> PixelArray:
    """Brightness in more than 8 bits. What is white follows from the type or, where that does not say, from the
    numbers: the least of 1, 255 and 65,535 that holds them all, or else the largest of them, the least being black."""
    bright = numbers.astype(np.float32)
    if not np.isfinite(bright).all():
        raise UnreadError(named, ODD, "numbers that are none")
    least, most = float(bright.min()), float(bright.max())
    whites = (65535.0,) if numbers.dtype == np.uint16 else (255.0, 65535.0)
    whites = (1.0, *whites) if numbers.dtype.kind == "f" else whites
    white = next((white for white in whites if least >= 0 and most <= white), None)
    if white is None:
        bright -= least
        white = most - least or 1.0
    bright *= 255 / white
    return np.rint(bright, out=bright).astype(np.uint8)
