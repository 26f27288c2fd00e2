"""One image from anybody: any form and mode, turned as it was held, and nothing decoded that is too large."""

import os
import random
import struct
import tracemalloc
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from painted import colour, image, noisy, written
from PIL import Image, ImageOps

from regard.datasets.images.picture import MOST_PIXELS, UnreadError, endings, open_picture
from regard.errors import InputError

RED, HALF = (200, 10, 30), (200, 10, 30, 128)


def shown(content: bytes) -> list[int]:
    """The one colour of an image."""
    pixels = open_picture(content)
    assert (pixels == pixels[0, 0]).all()
    return list(pixels[0, 0])


@pytest.mark.parametrize("form", ["PNG", "WEBP", "BMP", "PPM", "TIFF", "TGA", "PCX", "QOI", "SGI", "ICO", "JPEG2000"])
def test_forms_that_lose_nothing_are_read_exactly(form: str) -> None:
    options = {"WEBP": {"lossless": True}, "ICO": {"sizes": [(6, 4)]}}.get(form, {})
    assert open_picture(image(3, form, **options)).shape == (4, 6, 3)
    assert shown(image(3, form, **options)) == list(colour(3))


@pytest.mark.parametrize("form", ["JPEG", "MPO", "AVIF"])
def test_others_are_close(form: str) -> None:
    assert np.abs(open_picture(image(3, form, size=(16, 16))).astype(int) - colour(3)).max() < 8


@pytest.mark.parametrize(
    ("made", "form", "wanted"),
    [
        (Image.new("L", (3, 2), 77), "PNG", [77]),
        (Image.new("1", (3, 2), 1), "PNG", [255]),
        (Image.new("RGB", (3, 2), RED).quantize(2), "GIF", list(RED)),
        (Image.new("L", (3, 2), 80).convert("P"), "PNG", [80]),
        (Image.new("RGBA", (3, 2), HALF), "PNG", [227, 132, 142]),
        (Image.new("RGBA", (3, 2), (*RED, 0)), "PNG", [255, 255, 255]),
        (Image.new("LA", (3, 2), (100, 0)), "PNG", [255]),
        (Image.new("CMYK", (3, 2), (0, 255, 255, 0)), "TIFF", [255, 0, 0]),
        (Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", [255, 0, 0]),
        (Image.new("YCbCr", (16, 16), (76, 85, 255)), "TIFF", [254, 0, 0]),
        (Image.fromarray(np.full((2, 3), 40000, np.uint16)), "PNG", [156]),
        (Image.fromarray(np.full((2, 3), 300, np.uint16)), "PNG", [1]),
        (Image.fromarray(np.full((2, 3), 200, np.uint16)), "PNG", [1]),
        (Image.fromarray(np.full((2, 3), 300, np.int32)), "TIFF", [1]),
        (Image.fromarray(np.full((2, 3), 200, np.int32)), "TIFF", [200]),
        (Image.fromarray(np.full((2, 3), 0.5, np.float32)), "TIFF", [128]),
    ],
)
def test_every_mode_becomes_colours_or_grey(made: Image.Image, form: str, wanted: list[int]) -> None:
    assert np.abs(np.subtract(shown(written(made, form)), wanted)).max() <= 1


def test_numbers_beyond_any_white_lie_between_their_ends() -> None:
    held = np.array([[-5.0, 0.0, 5.0]], np.float32)
    assert open_picture(written(Image.fromarray(held), "TIFF"))[:, :, 0].tolist() == [[0, 128, 255]]
    held[0, 0] = np.nan
    with pytest.raises(UnreadError, match="numbers that are none"):
        open_picture(written(Image.fromarray(held), "TIFF"))


def test_palettes_may_have_a_colour_that_is_seen_through() -> None:
    made = Image.new("P", (2, 1))
    made.putpalette([*RED, 0, 0, 0])
    made.putpixel((1, 0), 1)
    assert open_picture(written(made, "PNG", transparency=1))[0].tolist() == [list(RED), [255, 255, 255]]


def test_of_many_frames_the_first_is_taken() -> None:
    frames = [Image.new("RGB", (4, 4), shade) for shade in ("red", "blue", "green")]
    for form in ("GIF", "PNG", "WEBP", "TIFF"):
        content = written(frames[0], form, save_all=True, append_images=frames[1:])
        assert np.abs(np.subtract(shown(content), (255, 0, 0))).max() < 5


@pytest.mark.parametrize("form", ["PNG", "TIFF", "WEBP", "JPEG"])
@pytest.mark.parametrize("held", range(1, 9))
def test_images_are_turned_as_the_camera_was_held(form: str, held: int) -> None:
    exif = Image.Exif()
    exif[0x112] = held
    plain = Image.fromarray(np.arange(6, dtype=np.uint8).reshape(2, 3) * 40).resize((24, 16), 0).convert("RGB")
    options: dict[str, Any] = {"WEBP": {"lossless": True}, "JPEG": {"quality": 100}}.get(form, {})
    content = written(plain, form, exif=exif, **options)
    with Image.open(BytesIO(content)) as again:
        wanted = np.asarray(ImageOps.exif_transpose(again).convert("RGB"))
    assert (open_picture(content) == wanted).all()
    assert wanted.shape == ((24, 16, 3) if held > 4 else (16, 24, 3))


def test_a_broken_exif_block_says_nothing() -> None:
    exif = Image.Exif()
    exif[0x112] = 6
    content = bytearray(written(noisy(1), "JPEG", exif=exif))
    place = content.index(b"Exif") + 6
    content[place : place + 12] = b"\xff" * 12
    assert open_picture(bytes(content)).shape == (30, 40, 3)


@pytest.mark.parametrize(
    ("content", "why", "said"),
    [
        (b"", "empty", "empty"),
        (b"hello " * 99, "no image", "no image"),
        (
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
            "no image",
            "no image",
        ),  # else another program would run
        (written(noisy(1), "JPEG")[:900], "cut off", r"cut off \(.*truncated.*\)"),
        (written(noisy(1), "PNG")[:900], "cut off", "cut off"),
        (written(noisy(1), "GIF")[:900], "cut off", "cut off"),
        (written(noisy(1), "PNG").replace(b"IDAT", b"IDAX"), "no image", "no image"),
        (image(1, "JPEG").replace(b"\xff\xda", b"\xff\xd9"), "broken", "broken"),
    ],
)
def test_what_cannot_be_read_says_why_in_a_line(content: bytes, why: str, said: str) -> None:
    with pytest.raises(UnreadError, match=f"^cat.jpg: {said}") as refused:
        open_picture(content, "cat.jpg")
    assert refused.value.why == why
    assert "\n" not in str(refused.value)


def bomb(across: int, down: int) -> bytes:
    """A PNG that says it is so large."""
    head = struct.pack(">2I5B", across, down, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    made = (
        struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held)) for kind, held in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(made)


@pytest.mark.parametrize("size", [(30_000, 30_000), (10_000, 10_000), (2**31 - 1, 2**31 - 1), (1, MOST_PIXELS + 1)])
def test_a_bomb_is_refused_by_its_head(size: tuple[int, int]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UnreadError, match=r"^bomb.png: over 50 million pixels") as refused:
            open_picture(bomb(*size), "bomb.png")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert refused.value.why == "over 50 million pixels"


def test_a_bomb_inside_an_icon_is_refused_too() -> None:
    inner = bomb(10_000, 10_000)
    head = struct.pack("<3H4B2H2L", 0, 1, 1, 64, 64, 0, 0, 1, 32, len(inner), 22)
    with pytest.raises(UnreadError, match=r"^bomb.ico: over 50 million pixels"):
        open_picture(head + inner, "bomb.ico")


def test_files_are_opened_at_the_door(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image(5))
    (tmp_path / "link.png").symlink_to("a.png")
    for name in ("a.png", "link.png"):
        assert open_picture(tmp_path / name)[0, 0].tolist() == list(colour(5))
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(InputError, match=r"pipe.png: a pipe, no plain file"):
        open_picture(tmp_path / "pipe.png")
    with pytest.raises(InputError, match=r"none.png: no such file"):
        open_picture(tmp_path / "none.png")
    (tmp_path / "bad.png").write_bytes(b"x")
    with pytest.raises(UnreadError, match=r"bad.png: no image"):
        open_picture(tmp_path / "bad.png")


def test_spoilt_images_are_read_or_refused_and_nothing_else() -> None:
    """Whatever a decoder trips over, it is said in a line."""
    dice, refused = random.Random(3), 0
    forms = ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "TGA", "PCX", "QOI", "SGI", "ICO", "JPEG2000", "DDS"]
    for form in forms:
        content = written(noisy(2, (16, 12)), form)
        for _ in range(25):
            spoilt = bytearray(content)
            for _ in range(dice.randint(1, 6)):
                spoilt[dice.randrange(min(len(spoilt), 200))] = dice.randrange(256)
            kept = bytes(spoilt[: dice.randint(1, len(spoilt))]) if dice.random() < 0.3 else bytes(spoilt)
            try:
                pixels = open_picture(kept, "x")
            except UnreadError:
                refused += 1
                continue
            assert pixels.dtype == np.uint8
            assert pixels.shape[2:] in ((1,), (3,))
    assert 0 < refused < 25 * len(forms)


def test_endings_are_those_of_images() -> None:
    assert {".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif", ".ppm"} <= endings()
    assert not {".txt", ".eps", ".pdf", ".mpg", ".h5", ".zip", ""} & endings()


@pytest.mark.parametrize(("mode", "seen"), [("RGB", RED), ("L", 77)])
def test_a_colour_that_stands_for_nothing_is_white(mode: str, seen: Any) -> None:
    """A PNG may say of one of its colours that it is not there."""
    assert set(shown(written(Image.new(mode, (3, 2), seen), transparency=seen))) == {255}


def test_a_jpeg_without_an_end_of_scans_is_refused() -> None:
    """Each scan goes over all pixels again, and takes a hundred bytes of a file."""
    whole = written(noisy(1), "JPEG", progressive=True)
    last = whole.rindex(b"\xff\xda")
    assert open_picture(whole).shape == (30, 40, 3)
    with pytest.raises(UnreadError, match="over 100 scans"):
        open_picture(whole[:-2] + 100 * whole[last:-2] + whole[-2:])
