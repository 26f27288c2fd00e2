"""What it takes to spoil a run in one place, on purpose."""

import json
import os
import shutil
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

from attack.judge import Scene
from attack.mutations import rehash
from attack.tensors import joined, split

Spoil = Callable[[Scene], None]
STEP = "checkpoints/step-2"
PLACE = "@here@"


def both(*ways: Spoil) -> Spoil:
    """One after the other."""

    def spoil(scene: Scene) -> None:
        for way in ways:
            way(scene)

    return spoil


def gone(path: Path) -> Path:
    """The same place with nothing there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


def link(name: str, to: str, relative: bool = False) -> Spoil:
    """A link in its place, to something beside the run, or to wherever it says."""

    def spoil(scene: Scene) -> None:
        path, target = gone(scene.run / name), scene.beside / to
        path.symlink_to(os.path.relpath(target, path.parent) if relative else target)

    return spoil


def pipe(name: str) -> Spoil:
    return lambda scene: os.mkfifo(gone(scene.run / name))


def door(name: str) -> Spoil:
    """A socket in its place: its own name is too long for one, so it is made elsewhere and moved."""

    def spoil(scene: Scene) -> None:
        before = Path.cwd()
        os.chdir(gone(scene.run / name).parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(Path(name).name)
        os.chdir(before)

    return spoil


def folder(name: str) -> Spoil:
    return lambda scene: gone(scene.run / name).mkdir()


def holds(name: str, content: bytes | str) -> Spoil:
    """Other content; checksums are made right again."""

    def spoil(scene: Scene) -> None:
        path = gone(scene.run / name)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        rehash(scene.run)

    return spoil


def large(name: str, size: int) -> Spoil:
    """Holes that take no room on the disk, behind what is there."""

    def spoil(scene: Scene) -> None:
        (scene.run / name).touch()
        os.truncate(scene.run / name, size)

    return spoil


def said(name: str, path: str, value: Any = None, raw: str = "") -> Spoil:
    """A value in a JSON or TOML file, `raw` where no library would write it; the last of a path may be new."""

    def spoil(scene: Scene) -> None:
        file = scene.run / name
        plain = file.suffix == ".toml"
        table = tomllib.loads(file.read_text()) if plain else json.loads(file.read_text())
        *above, key = path.split("/")
        holder = table
        for one in above:
            holder = holder[int(one) if isinstance(holder, list) else one]
        holder[int(key) if isinstance(holder, list) else key] = PLACE if raw else value
        text = tomli_w.dumps(table) if plain else json.dumps(table)
        file.write_text(text.replace(f'"{PLACE}"', raw))
        rehash(scene.run)

    return spoil


def recipe(path: str, value: Any = None, raw: str = "") -> Spoil:
    return said("recipe.toml", path, value, raw)


def tokenizer(path: str, value: Any = None, raw: str = "") -> Spoil:
    return said("tokenizer.json", path, value, raw)


def header(change: Callable[[dict[str, Any]], Any], name: str = f"{STEP}/weights.safetensors") -> Spoil:
    """Another header before the same numbers."""

    def spoil(scene: Scene) -> None:
        path = scene.run / name
        table, numbers = split(path.read_bytes())
        changed = change(table)
        path.write_bytes(changed if isinstance(changed, bytes) else joined(table, numbers))
        rehash(scene.run)

    return spoil
