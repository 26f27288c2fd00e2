"""Data sets from the package registry: fetched once, checked, bounded, and written whole or not at all."""

import errno
import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from heard import Heard

from regard.datasets import download, registry
from regard.datasets.data import SPLITS
from regard.datasets.files import Files
from regard.errors import InputError

REAL = registry.catalogue()["homeassistant"]
PLACE = "homeassistant/components/{}/translations/{}.json"
MANY = {f"key{n}": {"de": f"Lampe {n} ist an", "en": f"Lamp {n} is on"} for n in range(400)}
HEARD = Heard()
TOLD = HEARD.said


def wheel_of(folder: Path, members: Mapping[str, bytes | str]) -> Path:
    """A wheel that pip accepts, with these members."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"homeassistant-{REAL.version}-py3-none-any.whl"
    about = f"homeassistant-{REAL.version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: homeassistant\nVersion: {REAL.version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def translations(table: Mapping[str, Mapping[str, Any]] = MANY, component: str = "hue") -> dict[str, str]:
    sides = {side: {key: row[side] for key, row in table.items() if side in row} for side in ("de", "en")}
    return {PLACE.format(component, side): json.dumps({"config": texts}) for side, texts in sides.items()}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Puts a wheel on pip's only shelf, and its sum into the catalogue."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    TOLD.clear()

    def put(wheel: Path) -> None:
        known = replace(REAL, sha256=sha256(wheel.read_bytes()).hexdigest())
        monkeypatch.setattr(registry, "catalogue", lambda: {"homeassistant": known})

    return put


def get(tmp_path: Path) -> Path:
    return registry.get("homeassistant", tmp_path / "out", "de", "en", HEARD)


def cached(tmp_path: Path, members: Mapping[str, bytes | str]) -> Path:
    """A wheel that was fetched already."""
    wheel = wheel_of(tmp_path / "made", members)
    kept = tmp_path / "cache" / "downloads" / f"homeassistant-{REAL.version}.whl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    wheel.rename(kept)
    return kept


def everything(folder: Path) -> list[tuple[str, str]]:
    files = Files(train=f"{folder}/train", valid=f"{folder}/valid", test=f"{folder}/test", source="de", target="en")
    return [pair for split in SPLITS for pair in files.read(split)]


def test_pip_fetches_a_damaged_or_missing_wheel_and_nothing_else(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    shop(wheel_of(tmp_path / "shelf", translations()))
    kept = tmp_path / "cache" / "downloads" / f"homeassistant-{REAL.version}.whl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"half of it")
    folder = get(tmp_path)
    assert ["damaged; fetching it again" in line for line in TOLD] == [True, False, False]
    assert folder == tmp_path / "out" / "homeassistant-de-en"
    assert sorted(everything(folder)) == sorted((row["de"], row["en"]) for row in MANY.values())
    assert sorted(file.name for file in folder.iterdir()) == [
        f"{split}.{side}" for split in sorted(SPLITS) for side in ("de", "en")
    ]
    assert list(kept.parent.iterdir()) == [kept]

    (tmp_path / "shelf").rename(tmp_path / "gone")
    assert get(tmp_path) == folder
    assert "fetching" not in TOLD[-1]
    assert len(TOLD) == 4


def test_a_wheel_with_another_sum_is_refused(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    wheel = wheel_of(tmp_path / "shelf", translations())
    shop(wheel)
    wheel_of(tmp_path / "shelf", translations(component="other"))
    with pytest.raises(InputError, match=r"is not the file Regard knows \(sha256 \w{12}…\)\n.*pip config list$"):
        get(tmp_path)
    assert list((tmp_path / "cache" / "downloads").iterdir()) == []
    assert not (tmp_path / "out").exists()


def test_no_network_is_said_in_two_lines(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    with pytest.raises(InputError, match=r"^homeassistant==\S+: pip could not fetch it: .+\ncheck the network"):
        get(tmp_path)
    assert list((tmp_path / "cache" / "downloads").iterdir()) == []


def test_a_missing_pip_is_said(tmp_path: Path, shop: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip is missing in .*ensurepip$"):
        get(tmp_path)


def test_texts_are_joined_by_key_and_cleaned(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    table: dict[str, dict[str, Any]] = {
        "lines": {"de": "Zwei\n\n  Zeilen\u00a0hier", "en": "Two\nlines here "},
        "placeholder": {"de": "Gerät {name} fehlt", "en": "Device {name} is missing"},
        "again": {"de": "Gerät {name} fehlt", "en": "Device {name} is missing"},
        "same": {"de": "Host", "en": "Host"},
        "empty": {"de": " ", "en": "Something"},
        "alone": {"de": "Nur hier"},
        "deep": {"de": {"er": {"noch": "Tief"}}, "en": {"er": {"noch": "Deep"}}},
        "other": {"de": {"er": "Ungleich"}, "en": "Uneven"},
        "number": {"de": 5, "en": ["Five"]},
    }
    shop(cached(tmp_path, translations({**table, **MANY})))
    found = everything(get(tmp_path))
    assert set(found) - {(row["de"], row["en"]) for row in MANY.values()} == {
        ("Zwei Zeilen hier", "Two lines here"),
        ("Gerät {name} fehlt", "Device {name} is missing"),
        ("Tief", "Deep"),
    }
    assert len(found) == len(set(found))


def test_components_with_equal_keys_are_not_mixed(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    one, other = {"on": {"de": "An", "en": "On"}}, {"on": {"de": "Ein", "en": "Switched on"}}
    shop(cached(tmp_path, translations() | translations(one, "one") | translations(other, "other")))
    assert {("An", "On"), ("Ein", "Switched on")} < set(everything(get(tmp_path)))


def test_what_is_tested_was_not_trained_on_even_with_another_translation() -> None:
    pairs = [(f"{word} {n}", f"{other} {n}") for n in range(500) for word in ("Licht", "LICHT") for other in "ab"]
    splits = registry.divide(pairs)
    sources = [{source.casefold() for source, _ in splits[split]} for split in SPLITS]
    assert sum(map(len, sources)) == len(set().union(*sources)) == 500
    assert all(sources)
    assert len(sources[0]) > 450


def test_no_place_in_the_zip_becomes_a_place_on_the_disk(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    evil = {PLACE.format("../../../hue", "de"): '{"a": "b"}', "../../evil.json": "{}", "/evil": "{}"}
    shop(cached(tmp_path, evil | translations()))
    assert len(everything(get(tmp_path))) == len(MANY)
    assert not [file for file in tmp_path.rglob("*") if "evil" in file.name]


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("MOST_BYTES", 1_000, "hue/translations/de.json' is larger than it may be"),
        ("MOST_BYTES_TOGETHER", 1_000, "hue/translations/de.json' is larger than it may be"),
        ("MOST_MEMBERS", 0, "1 files of one language are more than 0"),
    ],
)
def test_what_is_read_is_bounded(
    limit: str, value: int, said: str, tmp_path: Path, shop: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(cached(tmp_path, translations()))
    monkeypatch.setattr(registry, limit, value)
    with pytest.raises(InputError, match=said):
        get(tmp_path)


@pytest.mark.parametrize("content", [b"\xff\xfe not text", "{not json", "[" * 100_000], ids=["bytes", "words", "deep"])
def test_a_broken_member_is_said(content: bytes | str, tmp_path: Path, shop: Callable[[Path], None]) -> None:
    shop(cached(tmp_path, translations() | {PLACE.format("broken", "de"): content}))
    with pytest.raises(InputError, match=r"cannot be read as a wheel .*; remove it and get it again$"):
        get(tmp_path)


def test_what_is_no_zip_is_said(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    kept = cached(tmp_path, {})
    kept.write_bytes(b"no zip")
    shop(kept)
    with pytest.raises(InputError, match="cannot be read as a wheel"):
        get(tmp_path)


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, shop: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(cached(tmp_path, translations()))
    folder = tmp_path / "out" / "homeassistant-de-en"
    folder.mkdir(parents=True)
    (folder / "train.de").write_text("as it was\n")

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device; choose another folder or make room$"):
        get(tmp_path)
    assert [file.name for file in folder.iterdir()] == ["train.de"]
    assert (folder / "train.de").read_text() == "as it was\n"


def test_what_a_killed_process_left_is_swept_after_a_day(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    shop(cached(tmp_path, translations()))
    folder = get(tmp_path)
    old, new = folder / ".regard-old", folder / ".regard-new"
    for left in (old, new):
        left.mkdir()
        (left / "train.de").write_text("half")
    os.utime(old, (time.time() - 100_000,) * 2)
    get(tmp_path)
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize(
    ("name", "source", "target", "said"),
    [
        ("homeasistant", "de", "en", "homeasistant: no such data set; did you mean 'homeassistant'?"),
        ("homeassistant", "zh", "en", "homeassistant: no language 'zh' in it"),
        ("homeassistant", "de", "zh-hans", "homeassistant: no language 'zh-hans' in it; did you mean 'zh-Hans'?"),
        ("homeassistant", "de", "de", "homeassistant: source and target are both 'de'; choose two languages"),
    ],
)
def test_unknown_names_are_refused_before_anything_is_fetched(
    name: str, source: str, target: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        registry.get(name, tmp_path, source, target, HEARD)
    assert str(refused.value).startswith(said)
    assert list(tmp_path.iterdir()) == []


def test_languages_with_too_little_in_common_are_refused(tmp_path: Path, shop: Callable[[Path], None]) -> None:
    shop(cached(tmp_path, translations({"one": {"de": "Eins", "en": "One"}})))
    with pytest.raises(InputError, match="too few texts that are both in 'de' and in 'en'"):
        get(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "count"), [("de", 32_860), ("ko", 34_083), ("fr", 30_034), ("it", 15_879)])
def test_the_real_one(language: str, count: int, tmp_path: Path) -> None:
    folder = registry.get("homeassistant", tmp_path, language, "en", HEARD)
    lines = {file.name: file.read_text().split("\n")[:-1] for file in folder.iterdir()}
    assert sum(len(lines[f"{split}.en"]) for split in SPLITS) == count
    assert all(len(lines[f"{split}.en"]) == len(lines[f"{split}.{language}"]) for split in SPLITS)
