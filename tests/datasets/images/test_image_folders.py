"""Images in folders: classes and splits by the names of folders, shares of every class, and equal ones together."""

import os
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from heard import Heard
from painted import classes, colour, image, noisy, tree, written

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.images import ImageFolder
from regard.datasets.menu import SLOTS
from regard.errors import InputError
from regard.recipe import Menu


def names(data: ImageFolder, split: Split, report: Report | None = None) -> dict[str, str]:
    """What each image of a split shows."""
    return {picture.name: picture.label for _, picture in data.numbered(split, report or Report())}


def refused(data: ImageFolder, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        data.survey(Heard())
    assert str(error.value).count("\n") < 2


def test_every_folder_is_a_class_and_a_share_of_each_is_held_out(tmp_path: Path) -> None:
    files = classes("cat", "dog", count=20) | classes("bird", count=10, start=40)
    data = ImageFolder(train=tree(tmp_path, files), valid_share=0.2, test_share=0.1)
    assert data.classes == ["bird", "cat", "dog"]
    parts = [names(data, split) for split in SPLITS]
    assert {name: label for part in parts for name, label in part.items()} == {
        name: name.split("/")[0] for name in files
    }
    assert [dict(Counter(part.values())) for part in parts] == [
        {"bird": 7, "cat": 14, "dog": 14},
        {"bird": 2, "cat": 4, "dog": 4},
        {"bird": 1, "cat": 2, "dog": 2},
    ]
    assert [data.count(split) for split in SPLITS] == [35, 10, 5]
    assert names(ImageFolder(train=str(tmp_path), valid_share=0.2, seed=2), "valid") != parts[1]
    assert names(ImageFolder(train=str(tmp_path), valid_share=0.2, test_share=0.1), "valid") == parts[1]


def test_pixels_are_those_of_the_file(tmp_path: Path) -> None:
    data = ImageFolder(train=tree(tmp_path, classes("a", "b", count=2)), valid_share=0.0)
    (_, first), *_ = data.numbered("train", Report())
    assert (first.name, first.label, first.pixels.shape) == ("a/0.png", "a", (4, 6, 3))
    assert (first.pixels == colour(0)).all()
    assert [number for number, _ in data.numbered("train", Report())] == [1, 2, 3, 4]


@pytest.mark.parametrize("valid", ["val", "valid", "Validation", "dev"])
def test_folders_may_be_the_splits(valid: str, tmp_path: Path) -> None:
    files = classes("cat", "dog", count=4, top="train/")
    files |= classes("cat", "dog", count=3, top=f"{valid}/", start=10) | classes(
        "cat", "dog", count=2, top="test/", start=20
    )
    for place, around in enumerate(("", "pets/", "a/b/")):  # archives often have a folder around all others
        folder = tree(tmp_path / str(place), {around + name: content for name, content in files.items()})
        data = ImageFolder(train=folder)
        data.survey(Heard())
        assert [len(names(data, split)) for split in SPLITS] == [8, 6, 4]
        assert data.classes == ["cat", "dog"]
        assert not data.report("valid").out_of


def test_without_a_folder_for_validation_a_share_is_held_out(tmp_path: Path) -> None:
    files = classes("cat", "dog", count=10, top="train/") | classes("cat", "dog", count=2, top="test/", start=20)
    data = ImageFolder(train=tree(tmp_path, files), valid_share=0.2)
    assert [len(names(data, split)) for split in SPLITS] == [16, 4, 4]
    assert str(data.report("valid")) == "4 held out of train"
    only = ImageFolder(train=tree(tmp_path / "only", classes("cat", "dog", top="train/")), valid_share=0.0)
    assert only.classes == ["cat", "dog"]


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    data = ImageFolder(train=tree(tmp_path, classes("train", "bus", "plane")))
    assert data.classes == ["bus", "plane", "train"]


def test_splits_may_be_named_each(tmp_path: Path) -> None:
    one = tree(tmp_path / "one", classes("cat", "dog"))
    two = tree(tmp_path / "two", classes("cat", "dog", count=3, start=30))
    whole = classes("cat", count=2, top="train/", start=50) | classes("cat", count=1, top="test/", start=60)
    three = tree(tmp_path / "three", whole)
    data = ImageFolder(train=one, valid=two, test=three)
    assert [len(names(data, split)) for split in SPLITS] == [20, 6, 1]
    assert names(data, "test") == {"test/cat/0.png": "cat"}
    both = ImageFolder(train=[one, two], valid_share=0.0)
    report = Report()
    assert {"one/cat/0.png", "two/cat/0.png"} <= set(names(both, "train", report))
    assert (report.kept, report.files, report.rows_before) == (26, ["one", "two"], [0, 20])


def test_equal_images_stay_together_and_what_is_examined_is_not_learnt(tmp_path: Path) -> None:
    files = classes("cat", "dog", count=20)
    twins = {name.replace("/", "/twin-"): content for name, content in files.items()}
    data = ImageFolder(train=tree(tmp_path / "all", files | twins), valid_share=0.3, test_share=0.2)
    found = [{name.replace("twin-", "") for name in names(data, split)} for split in SPLITS]
    assert [len(some) for some in found] == [20, 12, 8]
    assert len(set().union(*found)) == 40  # no image is in two splits under another name

    some = dict(list(files.items())[:4])
    test = tree(tmp_path / "test", {f"x/{number}.png": content for number, content in enumerate(some.values())})
    given, report = ImageFolder(train=tree(tmp_path / "plain", files), test=test, valid_share=0.0), Report()
    assert not set(names(given, "train", report)) & set(some)
    assert report.count("also in data.test") == 4
    assert "4 also in data.test (cat/0.png, cat/1.png, cat/2.png, …)" in str(report)
    assert len(names(given, "test")) == 4
    half = ImageFolder(train=str(tmp_path / "plain"), test=test, valid_share=0.5)
    assert len(names(half, "valid")) == 18  # of those that are left
    assert not set(names(half, "valid")) & set(some)

    by_folder = {f"train/{name}": content for name, content in files.items()} | {
        f"test/{n}": c for n, c in some.items()
    }
    whole, report = ImageFolder(train=tree(tmp_path / "whole", by_folder), valid_share=0.0), Report()
    assert len(names(whole, "train", report)) == 36
    assert report.count("also in test") == 4


def test_images_in_two_classes_are_told(tmp_path: Path) -> None:
    files = classes("cat", "dog") | {"dog/same.png": image(0)}
    report = ImageFolder(train=tree(tmp_path, files), valid_share=0.0).report("train")
    assert "1 image is in more than one class (cat/0.png)" in str(report)


def test_a_class_of_one_image_is_learnt(tmp_path: Path) -> None:
    data = ImageFolder(
        train=tree(tmp_path, classes("cat") | {"rare/0.png": image(99)}), valid_share=0.5, test_share=0.4
    )
    assert data.classes == ["cat", "rare"]
    assert "rare" not in {*names(data, "valid").values(), *names(data, "test").values()}


def test_a_limit_takes_some_of_every_class_and_more_of_it_the_same(tmp_path: Path) -> None:
    folder = tree(tmp_path, classes("cat", "dog", count=40) | classes("bird", count=20, start=80))
    found: dict[int, set[str]] = {}
    for limit in (5, 10, 40, 90, 99, 0):
        data, report = ImageFolder(train=folder, limit=limit, valid_share=0.1), Report()
        some = names(data, "train", report)
        found[limit] = set(some)
        assert len(some) == min(limit or 90, 90)
        assert report.read == 100
        assert data.count("train") == len(some)
        if limit == 10:
            assert Counter(some.values()) == {"cat": 4, "dog": 4, "bird": 2}
            assert "80 over data.limit (" in str(report)
    assert found[5] < found[10] < found[40] < found[90] == found[99] == found[0]
    assert names(ImageFolder(train=folder, limit=5), "valid") == names(ImageFolder(train=folder), "valid")
    one, other = (ImageFolder(train=folder, limit=5, valid_share=0.0, seed=seed) for seed in (1, 2))
    assert names(one, "train") != names(other, "train")


def test_what_is_wrong_is_left_out_counted_and_named(tmp_path: Path) -> None:
    files = classes("cat", "dog") | {
        "cat/cut.jpg": written(noisy(1), "JPEG")[:900],
        "dog/empty.png": b"",
        "dog/text.png": b"no image",
        "lonely.png": image(77),
        "notes.txt": b"about",
        "cat/.hidden.png": b"",
        ".git/x/a.png": image(78),
        "__MACOSX/cat/._0.png": b"",
    }
    folder = tree(tmp_path, files)
    os.mkfifo(tmp_path / "cat" / "pipe.png")
    (tmp_path / "dog" / "lost.png").symlink_to("nowhere")
    (tmp_path / "dog" / "self.png").symlink_to("self.png")
    (tmp_path / "dog" / "circle").symlink_to("..")
    (tmp_path / "bird").mkdir()
    data, report = ImageFolder(train=folder, valid_share=0.0), Report()
    data.survey(Heard())
    assert len(names(data, "train", report)) == 20
    assert {why: (held.count, held.first) for why, held in report.left_out.items()} == {
        "cut off": (1, ["cat/cut.jpg"]),
        "empty": (1, ["dog/empty.png"]),
        "no image": (1, ["dog/text.png"]),
        "in no class folder": (1, ["lonely.png"]),
        "in no plain file": (1, ["cat/pipe.png"]),
        "behind a link that leads nowhere": (2, ["dog/lost.png", "dog/self.png"]),
        "behind a link to a folder that is read already": (1, ["dog/circle"]),
    }
    assert report.notes == [
        "no images in the class folder 'bird'",
        "1 file passed over that is no image by its name (notes.txt)",
    ]
    assert (report.read, report.kept, report.dropped) == (28, 20, 8)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("cat/cut.jpg", written(noisy(1), "JPEG")[:900], r"^cat/cut.jpg: cut off \(.*\)\ndata.broken=skip leaves such"),
        ("cat/empty.png", b"", r"^cat/empty.png: empty\n"),
    ],
)
def test_or_it_is_refused_if_the_recipe_says_so(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    folder = tree(tmp_path, classes("cat", "dog") | {"lonely.png": image(77)})
    fine = ImageFolder(train=folder, broken="refuse", limit=9)
    assert len(names(fine, "train")) == 9
    tree(tmp_path, {name: content})
    with pytest.raises(InputError, match=said):
        names(ImageFolder(train=folder, broken="refuse", valid_share=0.0), "train")


def test_links_are_followed_but_a_folder_goes_by_its_own_name(tmp_path: Path) -> None:
    tree(tmp_path, {f"store/{name}": content for name, content in classes("cat", "dog").items()})
    (tmp_path / "data" / "dog").mkdir(parents=True)
    (tmp_path / "data" / "cat").symlink_to(tmp_path / "store" / "cat")
    for number in range(10):
        (tmp_path / "data" / "dog" / f"{number}.png").symlink_to(tmp_path / "store" / "dog" / f"{number}.png")
    (tmp_path / "data" / "a").symlink_to("dog")
    data, report = ImageFolder(train=str(tmp_path / "data"), valid_share=0.0), Report()
    assert Counter(names(data, "train", report).values()) == {"cat": 10, "dog": 10}
    assert report.count("behind a link to a folder that is read already") == 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no train images in it; wanted are folders of images, one for each class"),
        ({"a.png": image(1), "b.png": image(2)}, "no class folders in it; put the images of each class into a folder"),
        (classes("cat"), r"all images are of one class \('cat'\)\nwanted are two classes or more"),
        (
            {"cat/a.png": b"", "cat/b.txt": b""},
            r"no image is left: 1 read from .*, 1 dropped: 1 empty \(cat/a.png\); 0 left$",
        ),
    ],
)
def test_folders_that_teach_nothing_are_refused(files: dict[str, bytes], said: str, tmp_path: Path) -> None:
    refused(ImageFolder(train=tree(tmp_path, {"readme.md": b"", **files})), said)


def test_names_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    tree(tmp_path, {"pets/a/0.png": image(1), "notes.txt": b"text", "one.png": image(2)})
    refused(ImageFolder(train=str(tmp_path / "pet")), "pet: no such folder or file; did you mean .*pets")
    refused(ImageFolder(train=str(tmp_path / "*.zip")), r"\*.zip: no file matches")
    refused(
        ImageFolder(train=str(tmp_path / "notes.txt")), "notes.txt: not images; wanted is a folder with a folder for"
    )
    refused(ImageFolder(train=str(tmp_path / "one.png")), "one.png: a single image; wanted is a folder")
    refused(ImageFolder(train=[str(tmp_path / "pets")] * 2), "named twice; data.train has it in two of its names")
    refused(ImageFolder(train=""), "data.train: no images to learn from; name a folder: data.train=FOLDER")
    with pytest.raises(ValueError, match="leave nothing to train on"):
        ImageFolder(train="x", valid_share=0.5, test_share=0.5)
    os.mkfifo(tmp_path / "pipe")
    refused(ImageFolder(train=str(tmp_path / "pipe")), "pipe: a pipe, no plain file")


def test_names_without_end_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.datasets.images.sources.MOST_NAMES", 9)
    refused(
        ImageFolder(train=tree(tmp_path, classes("a", "b"))),
        "more than 9 names in it, or too long ones; name a part of it",
    )


def test_odd_names_are_read_and_give_no_orders(tmp_path: Path) -> None:
    nfc, nfd = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    files = {
        f"{label}/a b {number}.PNG": image(number) for number, label in enumerate([nfc, nfd, "\x1b[31mred\n", "x\\y"])
    }
    data = ImageFolder(train=tree(tmp_path, files), valid_share=0.0)
    assert data.classes == sorted([nfc, nfd, " [31mred ", "x\\y"])
    assert len(names(data, "train")) == 4
    os.makedirs(os.fsencode(tmp_path) + b"/bytes")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bytes/\xff.png")).write_bytes(image(9))
    again, report = ImageFolder(train=str(tmp_path), valid_share=0.0), Report()
    assert len(names(again, "train", report)) == 4
    assert report.count("with a name that is not UTF-8") == 1
    str(report).encode()


def test_the_fingerprint_follows_the_content_and_not_the_place(tmp_path: Path) -> None:
    files = classes("cat", "dog")
    one, two = ImageFolder(train=tree(tmp_path / "one", files)), ImageFolder(train=tree(tmp_path / "two", files))
    assert one.fingerprint() == two.fingerprint()
    assert one.unchanged()
    os.utime(tmp_path / "one" / "cat" / "0.png")
    assert not one.unchanged()
    seen = {one.fingerprint()}
    for options in (
        {"limit": 3},
        {"seed": 2},
        {"valid_share": 0.3},
        {"broken": "refuse"},
        {"valid": str(tmp_path / "two")},
    ):
        more: dict[str, Any] = options
        seen.add(ImageFolder(train=str(tmp_path / "one"), **more).fingerprint())
    assert len(seen) == 6
    (tmp_path / "one" / "cat" / "0.png").write_bytes(image(55))
    assert ImageFolder(train=str(tmp_path / "one")).fingerprint() not in seen
    (tmp_path / "two" / "cat" / "0.png").rename(tmp_path / "two" / "dog" / "new.png")
    assert not two.unchanged()


def test_the_listener_hears_how_far_it_is(tmp_path: Path) -> None:
    heard = Heard()
    data = ImageFolder(train=tree(tmp_path, classes("cat", "dog")))
    data.survey(heard)
    assert heard.works[-1] == ("reading the images", 20, 20)


def test_all_of_other_images_are_an_exam(tmp_path: Path) -> None:
    """As `--on FOLDER` has it: one class is enough, and a split by folder holds."""
    one = tree(tmp_path / "one", classes("cat"))
    assert len(names(ImageFolder(train=one, test=one), "test")) == 10
    whole = tree(tmp_path / "two", classes("cat", top="train/") | classes("cat", count=2, top="test/", start=40))
    assert len(names(ImageFolder(train=whole, test=whole), "test")) == 2


def test_it_is_built_from_a_recipe_and_yields_to_files(tmp_path: Path) -> None:
    part = Menu(*SLOTS).order("images", {"train": str(tmp_path)}, "data")
    assert isinstance(part.build(), ImageFolder)
    slot = next(slot for slot in SLOTS if slot.name == "images")
    stand_ins = [kind for kind, entry in slot.parts.items() if "train" not in entry.model_fields]
    assert (slot.yields_to, stand_ins) == ("train", ["glyphs", "mnist"])
