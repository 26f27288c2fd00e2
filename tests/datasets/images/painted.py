"""Small images for tests: each number its own colour, written in any form Pillow knows."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Files = Mapping[str, bytes]


def colour(number: int) -> tuple[int, int, int]:
    return (37 * number) % 256, (91 * number) % 256, (53 * number + 20) % 256


def image(number: int, form: str = "PNG", size: tuple[int, int] = (6, 4), mode: str = "RGB", **options: Any) -> bytes:
    """A picture of one colour, columns by rows."""
    return written(Image.new("RGB", size, colour(number)).convert(mode), form, **options)


def written(made: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    held = io.BytesIO()
    made.save(held, form, **options)
    return held.getvalue()


def noisy(seed: int, size: tuple[int, int] = (40, 30)) -> Image.Image:
    """Many colours, so that its file is long enough to be cut."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8))


def classes(*labels: str, count: int = 10, top: str = "", start: int = 0) -> dict[str, bytes]:
    """So many images of each class, all of them different."""
    return {
        f"{top}{label}/{number}.png": image(start + place * count + number)
        for place, label in enumerate(labels)
        for number in range(count)
    }


def tree(folder: Path, files: Files) -> str:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return str(folder)


def tarred(path: Path, files: Files, mode: str = "w", folders: tuple[str, ...] = ()) -> str:
    with tarfile.open(path, mode) as archive:
        for name in folders:
            about = tarfile.TarInfo(name)
            about.type = tarfile.DIRTYPE
            archive.addfile(about)
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return str(path)


def zipped(path: Path, files: Files, method: int = zipfile.ZIP_DEFLATED) -> str:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return str(path)
