"""A random change of a random file of a run: of its bytes, of what it means, or of what it is."""

import json
import os
import shutil
import struct
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import tomli_w

from attack.tensors import changed_tensors
from attack.values import NAMES, changed, changed_json, with_raw

HASHES = "manifest.json"
NO_MEANING = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError, struct.error)
WEIGHTS = {"recipe.toml": 6, "weights.safetensors": 4, "tokenizer.json": 4, "state.safetensors": 3, HASHES: 3}
WEIGHTS |= {"run.json": 3, "shortlist.safetensors": 2, "translation.json": 1, "log.jsonl": 1, "evaluation.json": 1}
WEIGHTS |= {"classification.json": 2, "language.json": 2, "chat_template.jinja": 2}


def mutated(run: Path, random: Random, kinds: list[str]) -> str:
    """Change a run in one place or a few, with its checksums made right again in half of the cases; says how."""
    said = [_one(run, random, kinds) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    _uncompiled(run / "recipe.toml")
    if random.random() < 0.5:
        rehash(run)
        said.append("checksums made right")
    return "; ".join(said)


def _one(run: Path, random: Random, kinds: list[str]) -> str:
    files = sorted(path for path in run.rglob("*") if path.is_file() and not path.is_symlink())
    path = _chosen(files, random)
    named = path.relative_to(run)
    if random.random() < 0.05:
        return f"{named}: {_replaced(run, path, random)}"
    content = path.read_bytes()
    if random.random() < 0.25:
        way = random.choice(BYTES)
        new, said = way(random, content), way.__name__.strip("_")
    else:
        new, said = _meant(path, content, random, kinds)
    path.write_bytes(new)
    return f"{named}: {said}"


def _uncompiled(recipe: Path) -> None:
    """To compile is to start a compiler, for longer than a case may take: that is no harm, and not what is sought."""
    if recipe.is_file() and not recipe.is_symlink():
        recipe.write_bytes(recipe.read_bytes().replace(b"compile = true", b"compile = false"))


def _chosen(files: list[Path], random: Random) -> Path:
    """A file by how much depends on it; of several checkpoints mostly the newest."""
    found: dict[str, list[Path]] = {}
    for path in files:
        found.setdefault(path.name, []).append(path)
    names = list(found)
    name = random.choices(names, [WEIGHTS.get(name, 0.3) for name in names])[0]
    return found[name][-1] if random.random() < 0.8 else random.choice(found[name])


def _meant(path: Path, content: bytes, random: Random, kinds: list[str]) -> tuple[bytes, str]:
    """What a file means is changed; where it means nothing any more (it was changed before), its bytes are."""
    try:
        if path.suffix == ".toml":
            return _toml(random, content, kinds)
        if path.suffix == ".json":
            return changed_json(random, content, kinds)
        if path.suffix == ".jsonl":
            return _lines(random, content)
        if path.suffix == ".safetensors":
            return changed_tensors(random, content)
    except NO_MEANING:
        return _flipped(random, content), "flipped"
    name = random.choice(NAMES)
    return name.encode(), f"holds {name[:40]!r}"


def _toml(random: Random, content: bytes, kinds: list[str]) -> tuple[bytes, str]:
    table = tomllib.loads(content.decode())
    said = changed(random, table, kinds)
    if random.random() < 0.02:
        table["k" * 1000] = 1
    text = with_raw(random, tomli_w.dumps(_without_none(table)))
    if random.random() < 0.02:
        text = ".".join("k" * random.choice([10, 5000])) + " = 1\n" + text
    return text.encode(errors="replace"), said


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value if inner is not None] if isinstance(value, list) else value


def _lines(random: Random, content: bytes) -> tuple[bytes, str]:
    lines = content.splitlines()
    place = random.randrange(len(lines))
    lines[place], said = changed_json(random, lines[place], [])
    return b"\n".join(lines * random.choice([1, 1, 1, 50])), said


def _flipped(random: Random, content: bytes) -> bytes:
    found = bytearray(content or b"\x00")
    for _ in range(random.choice([1, 1, 3, 20])):
        found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    return bytes(found)


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _longer(random: Random, content: bytes) -> bytes:
    return content + random.choice([b"\x00", content, random.randbytes(100), b"\n" * 10_000])


def _swapped(random: Random, content: bytes) -> bytes:
    first, second = sorted(random.randrange(len(content) + 1) for _ in range(2))
    return content[second:] + content[first:second] + content[:first]


def _emptied(random: Random, content: bytes) -> bytes:
    return b""


def _zeroed(random: Random, content: bytes) -> bytes:
    first = random.randrange(len(content) + 1)
    return (content[:first] + bytes(random.choice([1, 8, 100])) + content[first:])[: len(content)]


def _noise(random: Random, content: bytes) -> bytes:
    return random.randbytes(random.choice([1, 8, 100, 5000]))


BYTES: list[Callable[[Random, bytes], bytes]] = [_flipped, _flipped, _cut, _cut, _longer, _swapped, _emptied, _zeroed]
BYTES += [_noise]


def _replaced(run: Path, path: Path, random: Random) -> str:
    """Something else in its place."""
    way = random.randrange(6)
    beside = run.parent.parent / "beside"
    path.unlink()
    if way == 0:
        return "gone"
    if way == 1:
        path.mkdir()
        return "a folder"
    if way == 2:
        os.mkfifo(path)
        return "a pipe"
    if way == 3:
        other = random.choice([beside / "file.txt", beside / "run" / path.relative_to(run), beside, path])
        path.symlink_to(other)
        return f"a link to {other.relative_to(run.parent.parent)}"
    other = random.choice(sorted(one for one in run.rglob("*") if one.is_file() and not one.is_symlink()))
    shutil.copyfile(other, path)
    return f"a copy of {other.relative_to(run)}"


def rehash(run: Path) -> None:
    """Whoever changes a file can also change what is said of it: the sums of all that is listed."""
    from regard.run.checkpoint import table_hash

    for manifest in filter(_plain, run.glob(f"checkpoints/*/{HASHES}")):
        try:
            table = json.loads(manifest.read_bytes())
            tensors = (path for path in manifest.parent.iterdir() if path.suffix == ".safetensors" and _plain(path))
            sums = {path.name: _sum(path) for path in tensors}
            table["sha256"] = sums | {"progress": table_hash(table.get("progress"))}
            manifest.write_text(json.dumps(table))
        except (ValueError, TypeError, AttributeError, RecursionError, OSError):
            continue


def _sum(path: Path) -> str:
    import hashlib

    plain = path.is_file() and not path.is_symlink()
    return hashlib.sha256(path.read_bytes()).hexdigest() if plain else ""


def _plain(path: Path) -> bool:
    """No pipe, in which a reader would wait for ever, and no link."""
    return path.is_file() and not path.is_symlink()
