"""Letters and digits, drawn here: as many as are asked for, so that it can be measured how much data a model needs."""

from collections.abc import Iterator
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_doc import Doc
from PIL import Image, ImageDraw, ImageFont

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.images.images import Images
from regard.datasets.images.picture import Picture, PixelArray
from regard.disk import read_bytes
from regard.errors import InputError
from regard.recipe import Count, NonNegative, Number, Share

CHARACTERS = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # as on number plates: without I and O, which look like 1 and 0
DEJAVU = ["", "-Bold", "-Oblique", "-BoldOblique"]
FONTS = [
    *(f"DejaVuSans{style}" for style in DEJAVU),
    *(f"DejaVuSansMono{style}" for style in DEJAVU),
    *(f"DejaVuSerif{style.replace('Oblique', 'Italic')}" for style in DEJAVU),
    *(f"STIXGeneral{style}" for style in ("", "Bol", "Italic", "BolIta")),
    *("cmr10", "cmb10", "cmss10", "cmtt10", "cmti10"),
]
VERSION = 1  # of how they are drawn
FINER = 2  # times as many rows and columns are drawn as are kept, for smooth edges
TURN, SMALLEST = 0.15, 0.75  # at most so many radians, at least so much of the full size
DARK, FAINT = 0.3, 0.4  # at most so bright is the paper, and so far from white the ink


class Glyphs(Images):
    """Letters and digits in many fonts, shifted, slanted, turned and noisy: any number of images, and no download.

    An image depends on the seed, its split and its number alone, so that more of them begin with the same ones. Every
    split draws anew, in all fonts, unless some are kept from the training images.
    """

    more_held_out = "raise data.valid_images"
    licence = "drawn here in fonts of matplotlib: DejaVu, STIX, BaKoMa, each with a free licence of its own"

    def __init__(
        self,
        *,
        train_images: Annotated[Count, Doc("Number of images to train on.")] = 20_000,
        valid_images: Annotated[Count, Doc("Number of images held out to validate on while training.")] = 2_000,
        test_images: Annotated[Count, Doc("Number of images held out for `regard evaluate`.")] = 5_000,
        characters: Annotated[str, Doc("What is drawn: a class for each character.")] = CHARACTERS,
        pixels: Annotated[Count, Doc("Rows and columns of an image.")] = 28,
        noise: Annotated[
            Share, Doc("How noisy images are at most: the spread of the noise, black to white being 1.")
        ] = 0.1,
        slant: Annotated[NonNegative, Doc("How far a glyph leans at most, sideways a step up; 0 is upright.")] = 0.3,
        shift: Annotated[Share, Doc("How far from the middle a glyph stands at most, as a share of the image.")] = 0.1,
        unseen_fonts: Annotated[
            Number, Doc("Fonts that are kept from training: validation and test have no others; 0 shares all.")
        ] = 0,
        seed: Annotated[Number, Doc("Number from which all chance is drawn: the same seed gives the same images.")] = 1,
    ) -> None:
        if len(set(characters)) < 2 or len(set(characters)) < len(characters):
            raise ValueError("characters: wanted are two or more, each once")
        if not all(character.isprintable() and not character.isspace() for character in characters):
            raise ValueError("characters: one of them cannot be seen")
        if unseen_fonts >= len(FONTS):
            raise ValueError(f"unseen_fonts: {unseen_fonts} of {len(FONTS)} fonts leave none to train on")
        if not 8 <= pixels <= 512:
            raise ValueError(f"pixels: wanted 8 to 512, given {pixels}")
        self.counts: dict[Split, int] = {"train": train_images, "valid": valid_images, "test": test_images}
        self.characters, self.pixels, self.seed = characters, pixels, seed
        self.noise, self.slant, self.shift, self.unseen_fonts = noise, slant, shift, unseen_fonts

    @property
    def classes(self) -> list[str]:
        return sorted(self.characters[: self.counts["train"]])

    def count(self, split: Split) -> int:
        return self.counts[split]

    def read(self, split: Split) -> Iterator[Picture]:
        return (picture for _, picture in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Picture]]:
        report.unit = "image"
        for number in range(self.counts[split]):
            report.keep()
            yield number + 1, self._drawn(split, number)

    def called(self, split: Split) -> str:
        return "drawn glyphs"

    def identity(self) -> list[Any]:
        drawing = [self.characters, self.pixels, self.noise, self.slant, self.shift, self.unseen_fonts, self.seed]
        return [self.counts, *drawing, version("pillow"), version("matplotlib"), VERSION]

    @cached_property
    def _fonts(self) -> dict[Split, list[str]]:
        """In an order of chance, so that those kept from training are of any kind."""
        order = [FONTS[place] for place in np.random.default_rng(self.seed).permutation(len(FONTS))]
        unseen = order[: self.unseen_fonts]
        return {split: unseen if unseen and split != "train" else order[self.unseen_fonts :] for split in SPLITS}

    def _drawn(self, split: Split, number: int) -> Picture:
        chance = np.random.default_rng((self.seed, SPLITS.index(split), number))
        character = self.characters[number % len(self.characters)]
        fonts = self._fonts[split]
        font = fonts[chance.integers(len(fonts))]
        mask = _mask(font, character, FINER * self.pixels)
        moved = mask.transform(mask.size, Image.Transform.AFFINE, self._motion(chance), Image.Resampling.BILINEAR)
        shape = np.asarray(moved.reduce(FINER), np.float32) / 255
        paper, ink = DARK * chance.random(), 1 - FAINT * chance.random()
        seen = paper + (ink - paper) * shape + chance.normal(0, self.noise * chance.random(), shape.shape)
        made: PixelArray = np.rint(255 * np.clip(seen, 0, 1)).astype(np.uint8)[:, :, None]
        return Picture(made, character, f"{split}/{character}/{number + 1:06} ({font})")

    def _motion(self, chance: np.random.Generator) -> tuple[float, ...]:
        """From where in the mask each place of the image is taken: turned, slanted, smaller and shifted."""
        turn, slant = chance.uniform(-TURN, TURN), chance.uniform(-self.slant, self.slant)
        smaller = 1 / chance.uniform(SMALLEST, 1)
        side = FINER * self.pixels
        turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ [[1, slant], [0, 1]]
        inner = smaller * turned
        middle = np.full(2, side / 2)
        start = middle - inner @ (middle + chance.uniform(-self.shift, self.shift, 2) * side)
        return (*map(float, (*inner[0], start[0], *inner[1], start[1])),)


@cache
def _mask(font: str, character: str, side: int) -> Image.Image:
    """A character in the middle of a square, as large as it may be turned in."""
    drawn = ImageFont.truetype(BytesIO(_font(font)), round(0.75 * side))
    left, top, right, bottom = drawn.getbbox(character)
    if right <= left or bottom <= top or _is_missing(drawn, character):
        raise InputError(f"data.characters: {character!r} cannot be drawn: the font {font} has it not")
    mask = Image.new("L", (side, side))
    middle = (side - left - right) / 2, (side - top - bottom) / 2
    ImageDraw.Draw(mask).text(middle, character, 255, drawn)
    return mask


def _is_missing(font: ImageFont.FreeTypeFont, character: str) -> bool:
    """What a font does not have, it draws as a box: as it draws what no font has."""
    return bytes(font.getmask(character)) == bytes(font.getmask("\U0010fffe"))


@cache
def _font(name: str) -> bytes:
    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        raise InputError("data.kind=glyphs draws with the fonts of matplotlib: pip install matplotlib")
    return read_bytes(Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / f"{name}.ttf", links=True)
