"""Files of tensors that are wrong: their names, types, shapes, places and numbers."""

import json
import struct
from random import Random
from typing import Any

from attack.values import changed, with_raw

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
SIZES |= {"F8_E4M3": 1, "F8_E5M2": 1, "U64": 8, "U32": 4, "U16": 2, "C64": 8, "F4": 1, "X9": 4}
LONG = [0, 1, 2**31, 2**40, 2**63 - 1, 2**64 - 1, 10**6]
Table = dict[str, Any]


def split(content: bytes) -> tuple[Table, bytes]:
    """Header and numbers of a file."""
    (length,) = struct.unpack("<Q", content[:8])
    table = json.loads(content[8 : 8 + length])
    if not isinstance(table, dict):
        raise TypeError
    return table, content[8 + length :]


def joined(header: bytes | Table, numbers: bytes, length: int | None = None) -> bytes:
    """A file, whose length of the header may be a lie."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + numbers


def honest(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """A file as a library would write it, whatever the types are called."""
    header, place, numbers = Table(), 0, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [place, place + len(content)]}
        place, numbers = place + len(content), numbers + content
    return joined(header, numbers)


def tensors_of(content: bytes) -> dict[str, tuple[str, list[int], bytes]]:
    header, numbers = split(content)
    rows = {name: row for name, row in header.items() if name != "__metadata__"}
    return {name: (row["dtype"], row["shape"], numbers[slice(*row["data_offsets"])]) for name, row in rows.items()}


def changed_tensors(random: Random, content: bytes) -> tuple[bytes, str]:
    """Either the file stays whole and says something else, or its header lies about it."""
    if random.random() < 0.4:
        header, numbers = split(content)
        said = changed(random, header, [*SIZES, *list(header)[:20]])
        length = random.choice(LONG) if random.random() < 0.1 else None
        return joined(with_raw(random, json.dumps(header)).encode(errors="replace"), numbers, length), said
    found = tensors_of(content)
    name = random.choice(list(found))
    kind, shape, numbers = found[name]
    way = random.randrange(9)
    if way == 0:
        del found[name]
        return honest(found), f"without {name}"
    if way == 1:
        other = random.choice([f"{name}.more", name.swapcase(), "", "x" * 5000, "\x1b[31m", "../x", "model", name[:-1]])
        found = {other if key == name else key: value for key, value in found.items()}
        return honest(found), f"{name} called {other[:40]!r}"
    if way == 2:
        new = random.choice(list(SIZES))
        count = 1
        for size in shape:
            count *= size
        found[name] = (new, shape, (numbers * 3)[: count * SIZES[new]].ljust(count * SIZES[new], b"\x00"))
        return honest(found), f"{name} of type {new}"
    if way == 3:
        return _reshaped(random, found, name)
    if way == 4:
        other = random.choice(list(found))
        found[name], found[other] = found[other], found[name]
        return honest(found), f"{name} and {other} exchanged"
    if way == 5:
        bad = struct.pack("<f", random.choice([float("nan"), float("inf"), 1e38, -1e38, 1e-45]))
        found[name] = (kind, shape, (bad * (len(numbers) // 4 + 1))[: len(numbers)])
        return honest(found), f"{name} no numbers"
    if way == 6:
        found[name] = (kind, shape, random.randbytes(len(numbers)))
        return honest(found), f"{name} noise"
    if way == 7:
        found |= {f"more.{number}": ("F32", [0], b"") for number in range(random.choice([1, 5000]))}
        return honest(found), "more tensors"
    found[f"{name}.copy"] = found[name]
    return honest(found), f"{name} twice"


def _reshaped(random: Random, found: dict[str, tuple[str, list[int], bytes]], name: str) -> tuple[bytes, str]:
    kind, shape, numbers = found[name]
    each = SIZES.get(kind, 1)
    count = len(numbers) // each
    new = random.choice([[count], [1, count], [count, 1], shape[::-1], [*shape, 1], [0], [], [1] * 70])
    size = 1
    for one in new:
        size *= one
    found[name] = (kind, new, numbers[: size * each].ljust(size * each, b"\x00"))
    return honest(found), f"{name} of shape {str(new)[:40]}"
