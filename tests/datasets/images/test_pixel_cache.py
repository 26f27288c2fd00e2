"""Images as numbers: brought to one size, kept under a fingerprint, whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from heard import Heard
from painted import classes, colour, image, noisy, tree, written
from PIL import Image

from regard.datasets.data import Report, Split
from regard.datasets.images import ImageFolder, Images, Picture
from regard.datasets.images import pixels as module
from regard.datasets.images.fit import Fitting, fitted
from regard.datasets.images.pixels import Pixels, pixels
from regard.errors import InputError
from regard.listener import SILENT


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "pixels"


class Told(Images):
    """Images from a list; says how often they were read."""

    def __init__(self, pictures: list[Picture]) -> None:
        self.pictures, self.reads = pictures, 0

    @property
    def classes(self) -> list[str]:
        return sorted({one.label for one in self.pictures})

    def read(self, split: Split) -> Iterator[Picture]:
        self.reads += 1
        yield from self.pictures

    def identity(self) -> list[Any]:
        return [[one.name, one.label, one.pixels.tolist()] for one in self.pictures]


def told(*labels: str) -> Told:
    made = [np.full((3, 5, 1 + 2 * (place % 2)), 10 * place, np.uint8) for place in range(len(labels))]
    return Told(
        [Picture(one, label, f"ö {label}/{place}") for place, (one, label) in enumerate(zip(made, labels, strict=True))]
    )


def made(data: Images, report: Report | None = None, listener: Any = SILENT, **options: Any) -> Pixels:
    order: dict[str, Any] = {"split": "train", "shape": (4, 6), "channels": 3, "fit": "squash"} | options
    return pixels(data, report=report or Report(), listener=listener, **order)


def test_images_labels_and_names_come_back() -> None:
    data, heard, report = told("b", "a", "b"), Heard(), Report()
    found = made(data, report, heard)
    assert (found.images.shape, found.images.dtype, isinstance(found.images, np.memmap)) == (
        (3, 3, 4, 6),
        np.uint8,
        True,
    )
    assert [int(one.min()) for one in found.images] == [int(one.max()) for one in found.images] == [0, 10, 20]
    assert (found.labels.tolist(), found.labels.dtype, found.classes) == ([1, 0, 1], np.int64, ("a", "b"))
    assert [found.names(place) for place in range(3)] == ["ö b/0", "ö a/1", "ö b/2"]
    assert (len(found), found.counts.tolist()) == (3, [1, 2])
    assert heard.works[0] == ("decoding the train images", 0, 0)
    assert str(report) == "3; 2 classes; the largest ('b', 2) is 2.0 times the smallest ('a', 1)"
    with pytest.raises(ValueError, match="read-only"):
        found.images[0, 0, 0, 0] = 1


def test_they_are_decoded_once_for_every_order() -> None:
    data, again = told("a", "b"), Report()
    made(data)
    made(data, again)
    assert data.reads == 1
    assert again.kept == 2
    assert again.notes == ["2 classes of 1"]
    orders: list[dict[str, Any]] = [
        {"shape": (6, 4)},
        {"channels": 1},
        {"fit": "crop"},
        {"split": "valid"},
        {"classes": ["a"]},
    ]
    for count, order in enumerate(orders, 2):
        made(data, **order)
        assert data.reads == count
    made(told("a", "b", "b"))
    assert len(list((Path(os.environ["REGARD_CACHE"]) / "pixels").iterdir())) == 7


def test_images_of_other_classes_are_left_out() -> None:
    report = Report()
    found = made(told("a", "c", "b"), report, classes=["a", "b", "x"])
    assert (found.labels.tolist(), found.classes, found.counts.tolist()) == ([0, 1], ("a", "b", "x"), [1, 1, 0])
    assert report.left_out["of a class that is not learnt"].first == ["ö c/1"]
    assert report.notes == ["2 classes of 1", "none of 'x'"]


def test_nothing_at_all_is_an_empty_split(tmp_path: Path) -> None:
    data = ImageFolder(train=tree(tmp_path / "x", classes("a", "b")), valid_share=0.0)
    found = made(data, split="valid")
    assert (len(found), found.images.shape, found.classes) == (0, (0, 3, 4, 6), ("a", "b"))


@pytest.mark.parametrize("file", ["images", "labels", "names", "ends", "facts.json"])
@pytest.mark.parametrize("harm", ["changed", "cut", "gone", "link"])
def test_what_is_damaged_is_made_again(file: str, harm: str, kept: Path) -> None:
    data, heard = told("a", "b"), Heard()
    wanted = np.array(made(data).images)
    (folder,) = kept.iterdir()
    path = folder / file
    content = path.read_bytes()
    path.unlink()
    if harm == "link":
        (kept.parent / "other").write_bytes(content)
        path.symlink_to(kept.parent / "other")
    elif harm != "gone":
        path.write_bytes(content[:-3] if harm == "cut" else bytes([content[0] ^ 1]) + content[1:])
    found = made(data, listener=heard)
    assert (found.images == wanted).all()
    assert data.reads == 2
    assert bool(heard.said) == (file != "facts.json" or harm != "gone")
    assert [path.name for path in kept.iterdir()] == [folder.name]


def test_nothing_is_kept_of_what_failed(kept: Path) -> None:
    class Failing(Told):
        def read(self, split: Split) -> Iterator[Picture]:
            yield from super().read(split)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(Failing(told("a", "b").pictures))
    assert list(kept.iterdir()) == []


def test_images_that_change_meanwhile_are_not_kept(tmp_path: Path, kept: Path) -> None:
    folder = tree(tmp_path / "x", classes("a", "b"))
    data = ImageFolder(train=folder)
    data.survey(SILENT)
    (tmp_path / "x" / "a" / "0.png").write_bytes(image(99))
    with pytest.raises(InputError, match="the images changed while they were read; begin again"):
        made(data)
    assert list(kept.iterdir()) == []


def test_a_bound_and_room_are_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.disk import cache

    monkeypatch.setattr(module, "bound", lambda folder, keep: cache.bound(folder, keep, 1))
    for labels in ("ab", "abc", "abcd"):
        assert len(made(told(*labels))) == len(labels)
        assert len(list(kept.iterdir())) == 1
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 3 * 24 * 3 - 1))
    counted = told("a", "b", "a")
    monkeypatch.setattr(Told, "count", lambda *_: 3)
    with pytest.raises(InputError, match=r"the train images need 216 B and 215 B are free\nchoose a smaller size"):
        made(counted)


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"/file/pixels: Not a directory; REGARD_CACHE names another place$"):
        made(told("a", "b"))


def test_a_class_that_cannot_be_read_at_all_is_refused(tmp_path: Path) -> None:
    files = classes("a", "b") | {"c/1.jpg": written(noisy(1), "JPEG")[:900]}
    data = ImageFolder(train=tree(tmp_path / "x", files))
    with pytest.raises(InputError, match="class 'c': none of its images can be read; mend them, or remove the class"):
        made(data)


def test_imbalance_and_names_that_are_alike_are_told(tmp_path: Path) -> None:
    files = classes("Cat", count=80) | classes("cat", "a", "A", count=2, start=100)
    report = Report()
    made(ImageFolder(train=tree(tmp_path / "x", files), valid_share=0.0), report)
    assert report.notes == [
        "4 classes; the largest ('Cat', 80) is 40 times the smallest ('A', 2)",
        "'Cat' and 'cat' differ in case, spacing or coding alone and are learnt as classes apart",
    ]


# --- one size ------------------------------------------------------------------------------------------------------

RAMP = np.arange(8, dtype=np.uint8)[None, :, None].repeat(4, 0) * 30  # brighter to the right, 4 rows by 8 columns


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("colours", [1, 3])
@pytest.mark.parametrize("fit", ["crop", "squash", "pad"])
@pytest.mark.parametrize("shape", [(4, 8), (4, 4), (9, 2), (1, 1), (16, 32)])
def test_any_image_gets_the_shape_that_is_asked_for(
    channels: int, colours: int, fit: Any, shape: tuple[int, int]
) -> None:
    found = fitted(np.ascontiguousarray(RAMP.repeat(colours, 2)), shape, channels, fit)
    assert (found.shape, found.dtype, found.flags.c_contiguous) == ((channels, *shape), np.uint8, True)


def test_what_fits_is_as_it_was() -> None:
    assert (fitted(RAMP, (4, 8), 1, "crop") == RAMP.transpose(2, 0, 1)).all()
    assert (fitted(RAMP, (4, 8), 3, "pad") == RAMP.transpose(2, 0, 1)).all()
    pure = np.zeros((2, 2, 3), np.uint8)
    pure[:] = colour(7)
    grey = np.asarray(Image.fromarray(pure).convert("L"))
    assert (fitted(pure, (2, 2), 1, "crop")[0] == grey).all()


def test_crop_cuts_squash_squeezes_and_pad_fills() -> None:
    assert fitted(RAMP, (4, 4), 1, "crop")[0].tolist() == [[60, 90, 120, 150]] * 4
    assert fitted(RAMP, (4, 4), 1, "squash")[0, 0].tolist() == sorted(fitted(RAMP, (4, 4), 1, "squash")[0, 0].tolist())
    assert fitted(RAMP, (4, 4), 1, "squash")[0, 0, 0] < 30
    padded = fitted(RAMP + 10, (8, 8), 1, "pad")[0]
    assert (padded[[0, 1, 6, 7]] == 0).all()
    assert (padded[2:6] == RAMP[:, :, 0] + 10).all()
    upright = fitted(np.ascontiguousarray(RAMP.transpose(1, 0, 2)), (4, 4), 1, "crop")[0]
    assert upright[:, 0].tolist() == [60, 90, 120, 150]


def test_what_would_be_too_large_on_the_way_is_cut_out_of_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    ramp = (3 * np.arange(20)[:, None] + 2 * np.arange(40)).astype(np.uint8)[:, :, None]
    how = Fitting("shortest_edge", "bilinear", 0.5)
    whole = fitted(ramp, (30, 30), 1, how).astype(int)
    monkeypatch.setattr("regard.datasets.images.fit.MOST_PIXELS", 100)
    assert np.abs(fitted(ramp, (30, 30), 1, how) - whole).max() <= 1


def test_other_numbers_of_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="wanted 1 \\(grey\\) or 3 \\(colours\\), given 2"):
        fitted(RAMP, (4, 4), 2, "crop")
