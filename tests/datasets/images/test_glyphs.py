"""Letters and digits, drawn here: the same for the same seed, of any number, and no image in two splits."""

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest

from regard.datasets.data import SPLITS, Report
from regard.datasets.images.glyphs import CHARACTERS, FONTS, Glyphs, _mask
from regard.errors import InputError


def drawn(count: int = 40, split: Any = "train", **options: Any) -> list[bytes]:
    return [one.pixels.tobytes() for one in islice(Glyphs(**options).read(split), count)]


def test_an_image_depends_on_seed_split_and_number_alone() -> None:
    assert drawn(train_images=40) == drawn(train_images=1000)
    assert drawn(seed=2) != drawn()
    assert drawn(split="valid") != drawn()
    assert list(Glyphs(train_images=3).read("train"))[2].pixels.tobytes() == drawn()[2]


def test_splits_share_nothing() -> None:
    data = Glyphs(train_images=150, valid_images=100, test_images=100)
    parts = [[one.pixels.tobytes() for one in data.read(split)] for split in SPLITS]
    assert [len(part) for part in parts] == [data.count(split) for split in SPLITS] == [150, 100, 100]
    assert len({one for part in parts for one in part}) == 350


def test_every_class_comes_equally_often_and_is_named() -> None:
    data, report = Glyphs(train_images=3 * len(CHARACTERS), pixels=20), Report()
    found = [one for _, one in data.numbered("train", report)]
    assert Counter(one.label for one in found) == dict.fromkeys(CHARACTERS, 3)
    assert data.classes == sorted(CHARACTERS)
    assert found[10].name.startswith("train/A/000011 (")
    assert {one.pixels.shape for one in found} == {(20, 20, 1)}
    assert all(np.ptp(one.pixels) > 60 for one in found)
    assert report.kept == len(found)
    assert Glyphs(characters="xyz", train_images=2).classes == ["x", "y"]


def test_noise_slant_and_shift_can_be_had_or_not() -> None:
    plain = {"noise": 0.0, "slant": 0.0, "shift": 0.0}
    still = [np.frombuffer(one, np.uint8).astype(float) for one in drawn(**plain)]
    loud = [np.frombuffer(one, np.uint8).astype(float) for one in drawn(**plain | {"noise": 0.5})]
    assert np.mean([np.abs(one - other).mean() for one, other in zip(still, loud, strict=True)]) > 10
    for option in ("slant", "shift"):
        assert drawn(**plain | {option: 0.3}) != drawn(**plain)


def test_fonts_can_be_kept_from_training() -> None:
    data = Glyphs(train_images=80, valid_images=80, test_images=80, unseen_fonts=5)
    fonts = [{one.name.rpartition(" ")[2].strip("()") for one in data.read(split)} for split in SPLITS]
    assert fonts[1] == fonts[2] == set(data._fonts["test"])
    assert len(fonts[1]) == 5
    assert not fonts[0] & fonts[1]
    assert len(fonts[0] | fonts[1]) > 15


@pytest.mark.parametrize("font", FONTS)
def test_every_font_draws_every_character_inside_its_square(font: str) -> None:
    masks = [np.asarray(_mask(font, character, 40)) for character in CHARACTERS]
    assert all(mask.max() > 200 for mask in masks)
    assert len({mask.tobytes() for mask in masks}) == len(CHARACTERS)
    middles = [np.argwhere(mask > 100).mean(0) for mask in masks]
    assert np.abs(np.array(middles) - 19.5).max() < 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"characters": "a"}, "two or more, each once"),
        ({"characters": "aba"}, "two or more, each once"),
        ({"characters": "a \t"}, "one of them cannot be seen"),
        ({"unseen_fonts": 21}, "21 of 21 fonts leave none to train on"),
        ({"pixels": 4}, "wanted 8 to 512, given 4"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Glyphs(**options)


def test_characters_that_a_font_has_not_are_refused() -> None:
    with pytest.raises(InputError, match=r"^data.characters: '中' cannot be drawn: the font \S+ has it not$"):
        list(Glyphs(characters="A中").read("train"))


def test_the_fingerprint_follows_every_option() -> None:
    options: list[dict[str, Any]] = [{}, {"seed": 2}, {"noise": 0.2}, {"slant": 0.1}, {"shift": 0.2}, {"pixels": 32}]
    options += [{"train_images": 9}, {"characters": "AB"}, {"unseen_fonts": 1}]
    assert len({Glyphs(**each).fingerprint() for each in options}) == len(options)
