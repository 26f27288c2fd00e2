"""What a folder holds beside its config: weights as safetensors, in one file or many, and the licence of its card."""

import re
from pathlib import Path

import torch
from torch import Tensor

from regard.disk import read_text
from regard.disk.tensors import Tensors, read_tensors
from regard.errors import InputError
from regard.importing.files import Folder

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
SHARD, SHARDS = re.compile(r"[\w-][\w.-]{0,200}\.safetensors"), 1000
CARD = 2**22


def weight_files(folder: Folder) -> list[str]:
    """The files that hold the weights."""
    if folder.has(WEIGHTS):
        return [WEIGHTS]
    if folder.has(INDEX):
        table = folder.table(INDEX).get("weight_map")
        names = set(map(str, table.values())) if isinstance(table, dict) else set()
        if not 0 < len(names) <= SHARDS or not all(map(SHARD.fullmatch, names)):
            raise InputError(f"{folder.path / INDEX}: damaged: no table of weights and the files that hold them")
        return sorted(names)
    if any(map(folder.has, PICKLED)):
        raise InputError(f"{folder.path}: its weights are pickled, which could run code; wanted {WEIGHTS}")
    raise InputError(f"{folder.path}: no {WEIGHTS} in it")


def read_weights(folder: Folder, files: list[str], idle: re.Pattern[str]) -> Tensors:
    """All weights as they lie in their files, but for those that are made anew or that no answer needs."""
    held: Tensors = {}
    for file in files:
        for name, tensor in read_tensors(folder.file(file)).items():
            if name in held:
                raise InputError(f"{folder.path / file}: {name[:100]} is there twice")
            if not idle.fullmatch(name):
                held[name] = _checked(name, tensor, folder.path / file)
    return held


def _checked(name: str, tensor: Tensor, path: Path) -> Tensor:
    if tensor.dtype not in FLOATS or not tensor.numel():
        kind = str(tensor.dtype).removeprefix("torch.")
        raise InputError(f"{path}: {name[:100]} holds {kind if tensor.numel() else 'nothing'}; wanted weights in float")
    return tensor


def licence(folder: Folder) -> dict[str, str]:
    """What the first lines of a model's card say."""
    if not folder.has("README.md"):
        return {}
    text = read_text(folder.file("README.md"), most=CARD)
    head = text.split("\n---", 1)[0] if text.startswith("---") else ""
    found = re.search(r"^license:[ ]*([\w.+-]{1,60})[ ]*$", head, re.MULTILINE)
    return {"licence": found[1]} if found else {}
