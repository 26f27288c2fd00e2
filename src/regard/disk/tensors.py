"""Tensors on disk: safetensors and nothing else, so that no file can run code."""

from mmap import mmap
from pathlib import Path
from typing import BinaryIO

import torch
from safetensors import SafetensorError
from safetensors.torch import save, save_file
from torch import Tensor

from regard.disk.ahead import taken
from regard.disk.door import ENDLESS, opened
from regard.disk.files import checksum
from regard.disk.header import START, Entry, entries, head_size, read_head
from regard.disk.write import reason, room, sync
from regard.errors import FailedError, InputError

Tensors = dict[str, Tensor]
KINDS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def read_tensors(path: Path, deep: int = 0) -> Tensors:
    """All tensors of a file, each in memory of its own: a file that is mapped and becomes shorter ends the process."""
    with opened(path, ENDLESS, deep=deep) as file:
        try:
            held = taken(file)
            return {
                name: _held(held[name], one) if name in held else _read(file, one)
                for name, one in read_head(file).items()
            }
        except (ValueError, OSError) as error:
            raise InputError(f"{path}: not a safetensors file: {error}") from error


def _held(held: mmap, one: Entry) -> Tensor:
    return torch.frombuffer(held, dtype=KINDS[one.kind]).view(one.shape)


def _read(file: BinaryIO, one: Entry) -> Tensor:
    made = torch.empty(one.shape, dtype=KINDS[one.kind], device="cpu")
    if one.begin < one.end:
        file.seek(one.begin)
        held = memoryview(made.view(-1).view(torch.uint8).numpy())  # type: ignore[arg-type]
        if file.readinto(held) != len(held):  # type: ignore[attr-defined]
            raise ValueError("it is cut off")
    return made


def parse_tensors(content: bytes, named: str | Path) -> Tensors:
    """All tensors of what a file held; `named` is how an error calls it."""
    try:
        size = head_size(content[:START], len(content))
        held = bytearray(content)
        return {name: _tensor(held, one) for name, one in entries(content[START : START + size], len(content)).items()}
    except ValueError as error:
        raise InputError(f"{named}: not a safetensors file: {error}") from error


def tensor_bytes(tensors: Tensors) -> bytes:
    """What a file of these tensors holds."""
    return save(tensors)


def read_shapes(path: Path, deep: int = 0) -> dict[str, list[int]]:
    """Names and shapes, without reading the tensors."""
    with opened(path, ENDLESS, deep=deep) as file:
        try:
            return {name: list(one.shape) for name, one in read_head(file).items()}
        except (ValueError, OSError) as error:
            raise InputError(f"{path}: not a safetensors file: {error}") from error


def _tensor(held: bytearray, one: Entry) -> Tensor:
    kind = KINDS[one.kind]
    if one.begin == one.end:
        return torch.empty(one.shape, dtype=kind)
    count = (one.end - one.begin) // kind.itemsize
    return torch.frombuffer(held, dtype=kind, count=count, offset=one.begin).view(one.shape)


def write_tensors(path: Path, tensors: Tensors) -> str:
    """Write and sync a new file; gives back its sha256."""
    with room(path.parent):
        path.touch()
    mode = path.stat().st_mode  # as the user's umask has it: the library would make it readable to nobody else
    try:
        save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        raise FailedError(f"{path.parent}: {reason(error)}") from error
    path.chmod(mode)
    sync(path)
    return checksum(path)
