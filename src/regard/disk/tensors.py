"""Tensors on disk: safetensors and nothing else, so that no file can run code."""

from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load, load_file, save, save_file
from torch import Tensor

from regard.disk.files import checksum
from regard.disk.write import reason, room, sync
from regard.errors import FailedError, InputError

Tensors = dict[str, Tensor]


def read_tensors(path: Path) -> Tensors:
    """All tensors of a file."""
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: not a safetensors file: {error}") from error


def parse_tensors(content: bytes, named: str | Path) -> Tensors:
    """All tensors of what a file held; `named` is how an error calls it."""
    try:
        return load(content)
    except SafetensorError as error:
        raise InputError(f"{named}: not a safetensors file: {error}") from error


def tensor_bytes(tensors: Tensors) -> bytes:
    """What a file of these tensors holds."""
    return save(tensors)


def read_shapes(path: Path) -> dict[str, list[int]]:
    """Names and shapes, without reading the tensors."""
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: not a safetensors file: {error}") from error


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
