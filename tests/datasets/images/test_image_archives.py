"""Images in archives, read where they stand: nothing is unpacked, nothing leads out, nothing has no end."""

import gzip
import io
import lzma
import os
import random
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from heard import Heard
from painted import classes, colour, image, tarred, tree, zipped

from regard.datasets.data import SPLITS, Report
from regard.datasets.images import ImageFolder, zips
from regard.datasets.images.sources import Source
from regard.datasets.images.tars import Tar
from regard.datasets.images.zips import Zip
from regard.errors import InputError

FILES = (
    classes("cat", "dog", count=3, top="pets/train/")
    | classes("cat", "dog", count=2, top="pets/test/", start=20)
    | {"pets/readme.md": b"# Pets", "__MACOSX/pets/train/cat/._0.png": b"x"}
)


def found(path: str | Path, report: Report | None = None) -> dict[str, list[int]]:
    """The images of an archive by name, each with its colour."""
    data, report = ImageFolder(train=str(path), valid_share=0.0), report or Report()
    data.survey(Heard())
    return {one.name: one.pixels[0, 0].tolist() for split in SPLITS for _, one in data.numbered(split, report)}


def packed(path: Path, pack: Any) -> Path:
    made = path.with_name(f"packed-{path.name}")
    made.write_bytes(pack(path.read_bytes()))
    return made


@pytest.mark.parametrize("form", ["tar", "tar.gz", "tar.xz", "tgz", "stored", "zip", "with a start", "with a remark"])
def test_an_archive_is_read_as_the_folder_it_holds(form: str, tmp_path: Path) -> None:
    wanted = found(tree(tmp_path / "folder", FILES))
    assert len(wanted) == 10
    if form in ("tar", "tar.gz", "tar.xz", "tgz"):
        plain = Path(tarred(tmp_path / "pets.tar", {f"./{name}": content for name, content in FILES.items()}))
        pack = {"tar": bytes, "tar.gz": gzip.compress, "tgz": gzip.compress, "tar.xz": lzma.compress}[form]
        path = packed(plain, pack).rename(tmp_path / f"some.{form}")
    else:
        path = Path(
            zipped(tmp_path / "pets.zip", FILES, zipfile.ZIP_STORED if form == "stored" else zipfile.ZIP_DEFLATED)
        )
        if form == "with a start":
            path.write_bytes(b"PK\x03\x04 is how a zip begins" + path.read_bytes())
        if form == "with a remark":
            with zipfile.ZipFile(path, "a") as archive:
                archive.comment = b"PK\x05 or so"
    assert found(path) == wanted
    before = sorted(tmp_path.rglob("*"))
    found(path)
    assert sorted(tmp_path.rglob("*")) == before  # nothing was unpacked


def test_archives_of_windows_and_of_other_tongues_are_read(tmp_path: Path) -> None:
    path = tmp_path / "w.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for place, name in enumerate(["Käse/1.png", "日本/2.png", "plain/3.png"]):
            about = zipfile.ZipInfo("x")
            about.filename = name.replace("/", "\\")
            archive.writestr(about, image(place))
    assert found(path) == {"Käse/1.png": [*colour(0)], "日本/2.png": [*colour(1)], "plain/3.png": [*colour(2)]}


def test_a_zip_may_be_wide(tmp_path: Path) -> None:
    """Sizes of 64 bits, where 32 are not enough or the writer did not know."""
    path = tmp_path / "wide.zip"
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, content in FILES.items():
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as file:
                file.write(content)
    assert len(found(path)) == 10
    content = path.read_bytes()
    end = content.rindex(b"PK\x05\x06")
    fields = struct.unpack_from("<4s4H2LH", content, end)
    wide = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, fields[4], fields[4], fields[5], fields[6])
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path.write_bytes(content[:end] + wide + locator + last)
    assert len(found(path)) == 10


def test_names_that_lead_out_and_links_are_left_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(image(200))
    evil = {"../../a/evil.png": image(1), "/b/evil.png": image(2), "a/../../evil.png": image(3)}
    report = Report()
    zipped(tmp_path / "x.zip", classes("a", "b", count=3) | evil)
    with zipfile.ZipFile(tmp_path / "x.zip", "a") as archive:
        about = zipfile.ZipInfo("a/link.png")
        about.create_system, about.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(about, str(secret))
    assert len(found(tmp_path / "x.zip", report)) == 6
    assert {why: held.count for why, held in report.left_out.items()} == {
        "with a name that leads out of its archive": 3,
        "a link in an archive, which is not followed": 1,
    }
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for name, content in (classes("a", "b", count=3) | evil).items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for name, kind, to in (
            ("a/link.png", tarfile.SYMTYPE, str(secret)),
            ("a/hard.png", tarfile.LNKTYPE, "a/0.png"),
            ("a/pipe.png", tarfile.FIFOTYPE, ""),
            ("a/device.png", tarfile.CHRTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, to
            tar.addfile(info)
    report = Report()
    assert len(found(tmp_path / "x.tar", report)) == 6
    assert {why: held.count for why, held in report.left_out.items()} == {
        "with a name that leads out of its archive": 3,
        "a link in an archive, which is not followed": 2,
        "in no plain file": 2,
    }
    assert sorted(path.name for path in tmp_path.parent.rglob("*evil*")) == []


@pytest.mark.parametrize(("kind", "write"), [(Tar, tarred), (Zip, zipped)])
def test_archives_name_no_more_than_can_be_held(
    kind: type[Source], write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "many", classes("a", "b", count=10))
    monkeypatch.setattr("regard.datasets.images.sources.MOST_NAMES", 19)
    with pytest.raises(InputError, match=r"many: more than 19 names in it, or too long ones; name a part of it$"):
        list(kind(Path(path)).entries())
    monkeypatch.setattr("regard.datasets.images.sources.MOST_NAMES", 20)
    assert len(list(kind(Path(path)).entries())) == 20


def test_a_list_that_says_it_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "many", classes("a", "b", count=10))
    monkeypatch.setattr("regard.datasets.images.sources.MOST_NAMES", 19)
    monkeypatch.setattr(zips, "_line", lambda file, place: pytest.fail("it was read"))
    with pytest.raises(InputError, match=r"many: more than 19 names in it"):
        list(Zip(Path(path)).entries())


def test_names_are_not_held_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = classes("a", "b", count=3) | {f"a/{'x' * 5000}.png": image(9), f"{'y' * 3000}.txt": b""}
    path, report = tarred(tmp_path / "x.tar", files, folders=("z" * 2000,)), Report()
    assert len(found(path, report)) == 6
    assert report.count("with a name of over 1,024 letters") == 1
    assert len(str(report)) < 4000
    monkeypatch.setattr("regard.datasets.images.sources.MOST_LETTERS", 2000)
    with pytest.raises(InputError, match="or too long ones; name a part of it$"):
        found(path)


def test_a_list_without_end_is_read_a_line_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip may be all list: nothing of it is held, and no more is read than is asked for."""
    line = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0) + b"a/b.png"
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, len(line) * 10_000, 0, 0)
    (tmp_path / "list.zip").write_bytes(line * 10_000 + end)
    read, real = list[int](), zips._line
    monkeypatch.setattr(zips, "_line", lambda file, place: read.append(place) or real(file, place))
    assert [next(Zip(tmp_path / "list.zip").entries()).name for _ in range(2)] == ["a/b.png"] * 2
    assert read == [0, 0]


def test_a_head_without_end_is_not_held(tmp_path: Path) -> None:
    about = tarfile.TarInfo("pax")
    about.type, about.size = tarfile.XHDTYPE, 50 << 20
    with (tmp_path / "head.tar").open("wb") as file:
        file.write(about.tobuf())
        file.truncate(60 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"head.tar: cannot be read as an archive: a name in it is longer than"):
            list(Tar(tmp_path / "head.tar").entries())
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_packed_archive_of_many_zeros_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.datasets.images.sources.MOST_UNPACKED", 1 << 20)
    path = tmp_path / "zeros.tar.gz"
    path.write_bytes(gzip.compress(Path(tarred(tmp_path / "z.tar", {"a/zeros.png": bytes(2 << 20)})).read_bytes()))
    with pytest.raises(InputError, match=r"GiB in it; unpack a part of it"):
        list(Tar(path).entries())


def test_an_entry_unpacks_to_what_it_says_and_no_more(tmp_path: Path) -> None:
    path = Path(zipped(tmp_path / "x.zip", classes("a", "b", count=3) | {"a/bomb.png": bytes(8 << 20)}))
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02", 0, content.rindex(b"a/bomb.png"))
    content[place + 24 : place + 28] = struct.pack("<L", 100)
    path.write_bytes(content)
    report = Report()
    tracemalloc.start()
    try:
        assert len(found(path, report)) == 6
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert report.left_out["broken"].first == ["a/bomb.png"]


def test_an_entry_is_what_its_archive_says(tmp_path: Path) -> None:
    """One byte of colour that changed in a stored image: nothing but the sum would tell."""
    files = classes("a", "b", count=3) | {"a/odd.bmp": image(5, "BMP")}
    path = Path(zipped(tmp_path / "x.zip", files, zipfile.ZIP_STORED))
    content = bytearray(path.read_bytes())
    content[content.index(b"BM") + 54] ^= 1
    path.write_bytes(content)
    report = Report()
    assert len(found(path, report)) == 6
    assert report.left_out["broken"].first == ["a/odd.bmp"]


def test_huge_entries_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = classes("a", "b", count=3) | {"a/huge.png": bytes(9000)}
    for module in ("tars", "zips", "tree"):
        monkeypatch.setattr(f"regard.datasets.images.{module}.MOST_BYTES", 8000)
    for path in (tarred(tmp_path / "x.tar", files), zipped(tmp_path / "x.zip", files), tree(tmp_path / "x", files)):
        report = Report()
        assert len(found(path, report)) == 6
        assert [held.first for held in report.left_out.values()] == [["a/huge.png"]]


def test_of_two_of_one_name_the_later_counts(tmp_path: Path) -> None:
    path = tarred(tmp_path / "x.tar", classes("a", "b", count=2))
    with tarfile.open(path, "a") as tar:
        info = tarfile.TarInfo("a/0.png")
        info.size = len(image(99))
        tar.addfile(info, io.BytesIO(image(99)))
    report = Report()
    assert found(path, report)["a/0.png"] == [*colour(99)]
    assert report.count("replaced by one of the same name further on") == 1


def test_names_that_differ_in_case_are_two(tmp_path: Path) -> None:
    files = {"Cat/1.png": image(1), "cat/1.png": image(2), "cat/1.PNG": image(3)}
    assert len(found(zipped(tmp_path / "x.zip", files))) == 3


def test_an_empty_class_is_told(tmp_path: Path) -> None:
    tar = tarred(
        tmp_path / "x.tar",
        classes("a", "b", top="train/") | classes("a", top="test/", start=50),
        folders=("train/c", "test/b", "."),
    )
    assert "no images in the class folder 'c'" in ImageFolder(train=tar).report("train").notes
    with zipfile.ZipFile(zipped(tmp_path / "x.zip", classes("a", "b")), "a") as archive:
        archive.mkdir("c")
        archive.mkdir("d")
    assert "no images in the class folders 'c', 'd'" in ImageFolder(train=str(tmp_path / "x.zip")).report("train").notes


def test_what_is_locked_or_packed_otherwise_is_left_out(tmp_path: Path) -> None:
    path = Path(zipped(tmp_path / "x.zip", classes("a", "b", count=3)))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a/other.png", image(50))
        archive.writestr("b/locked.png", image(51))
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02", 0, content.rindex(b"b/locked.png"))
    content[place + 8] |= 1
    path.write_bytes(content)
    report = Report()
    assert len(found(path, report)) == 6
    assert {why: held.first for why, held in report.left_out.items()} == {
        "packed in a way that is not read here": ["a/other.png"],
        "locked by a password": ["b/locked.png"],
    }


@pytest.mark.parametrize(("write", "name"), [(tarred, "x.tar"), (zipped, "x.zip")])
def test_archives_that_are_cut_off_or_no_archives_are_refused(write: Any, name: str, tmp_path: Path) -> None:
    whole = Path(write(tmp_path / "whole", classes("a", "b"))).read_bytes()
    place = tmp_path / name
    for content in (whole[: len(whole) // 3], whole[: len(whole) // 3] + b"junk" * 500, whole[:40]):
        place.write_bytes(content)
        with pytest.raises(InputError, match=rf"{name}: cannot be read as a(n| zip) archive: ") as error:
            ImageFolder(train=str(place)).survey(Heard())
        assert "\n" not in str(error.value)
    place.write_bytes(whole)
    assert len(found(place)) == 20


def test_spoilt_archives_are_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    dice = random.Random(5)
    wholes = [Path(write(tmp_path / "w", classes("a", "b", count=3))).read_bytes() for write in (tarred, zipped)]
    wholes.append(gzip.compress(wholes[0]))
    came = []
    for whole in wholes:
        for _ in range(15):
            spoilt = bytearray(whole)
            for _ in range(dice.randint(1, 8)):
                spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
            (tmp_path / "spoilt.tar").write_bytes(spoilt)
            try:
                came.append(len(found(tmp_path / "spoilt.tar")))
            except InputError as error:
                came.append(-str(error).count("\n") - 1)
    assert max(came) == 6
    assert -2 <= min(came) < 0


def test_archives_may_not_be_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.tar")
    with pytest.raises(InputError, match=r"x.tar: a pipe, no plain file; write it to a file first"):
        ImageFolder(train=str(tmp_path / "x.tar")).survey(Heard())


def test_files_that_lie_over_each_other_are_refused(tmp_path: Path) -> None:
    """A list may name the same packed bytes as often as it likes."""
    path = Path(zipped(tmp_path / "some.zip", {f"a/{n}.png": image(1) for n in range(8)}, zipfile.ZIP_STORED))
    content = path.read_bytes()
    lines = content.index(b"PK\x01\x02")
    one = content[: content.index(b"PK\x03\x04", 4)]  # the first of the files, and the list of all of them
    moved = bytearray(one + content[lines:])
    moved[-6:-2] = struct.pack("<L", len(one))
    for start in range(len(one), len(moved) - 22):
        if moved[start : start + 4] == b"PK\x01\x02":
            moved[start + 42 : start + 46] = bytes(4)
    path.write_bytes(moved)
    with pytest.raises(InputError, match="its files lie over each other"):
        found(path)


@pytest.mark.parametrize("place", [20, 24])
def test_one_line_that_lies_about_a_size_spoils_no_other(place: int, tmp_path: Path) -> None:
    """Packed or unpacked, in the list at the end."""
    path = Path(zipped(tmp_path / "some.zip", classes("a", "b", count=3), zipfile.ZIP_STORED))
    content = bytearray(path.read_bytes())
    lines = content.index(b"PK\x01\x02")
    content[lines + place : lines + place + 4] = struct.pack("<L", 2**31)
    path.write_bytes(content)
    assert len(found(path)) == 5
