"""A Hugging Face folder: config.json, safetensors in one file or many, tokenizer.json and what stands beside it."""

import re
from pathlib import Path

import torch
from torch import Tensor

from regard.disk import checksum, read_json, read_text
from regard.disk.tensors import Tensors, read_tensors
from regard.errors import InputError
from regard.importing.configs import read_config
from regard.importing.design import Design
from regard.importing.files import Folder
from regard.importing.folder_tokenizer import read_speech
from regard.importing.imported import Imported, complete
from regard.importing.layouts import folder_plan
from regard.listener import Listener

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
MADE_ANEW = re.compile(
    r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq|(transformer\.)?h\.\d+\.attn\.(masked_)?bias"
)
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
SHARD, SHARDS = re.compile(r"[\w-][\w.-]{0,200}\.safetensors"), 1000
CARD = 2**22


def read_folder(path: Path, listener: Listener) -> Imported:
    """A model of a known family, its weights checked against its config before anything large is made."""
    folder = Folder(path)
    if not folder.has(CONFIG):
        raise InputError(f"{path}: no {CONFIG} in it; wanted the folder of a Hugging Face model")
    config = read_json(folder.file(CONFIG))
    design = read_config(config, str(path / CONFIG))
    files = _files(folder)
    held = _held(folder, files, design)
    speech = read_speech(folder, config, design.vocab_size)
    plan = folder_plan(design, held, str(path))
    plan.check({name: tensor.shape for name, tensor in held.items()}, str(path))
    recipe, shapes = complete(design, path.resolve().name, str(path / CONFIG))
    weights = plan.fill(shapes, held.__getitem__, str(path), listener)
    kept = [CONFIG, *files, *speech.files]
    listener.at("taking checksums")
    origin = {"family": design.family, "files": {name: checksum(folder.file(name)) for name in kept}}
    return Imported(
        name=path.resolve().name,
        recipe=recipe,
        weights=weights,
        tokenizer=speech.tokenizer,
        context=design.context,
        stop_tokens=speech.stop_tokens,
        chat_template=speech.chat_template,
        origin=origin | _licence(folder),
        add_bos=speech.add_bos,
    )


def _files(folder: Folder) -> list[str]:
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


def _held(folder: Folder, files: list[str], design: Design) -> Tensors:
    """All weights as they lie in their files, but for tables that are made anew."""
    held: Tensors = {}
    for file in files:
        for name, tensor in read_tensors(folder.file(file)).items():
            if name in held:
                raise InputError(f"{folder.path / file}: {name[:100]} is there twice")
            if not MADE_ANEW.fullmatch(name):
                held[name] = _checked(name, tensor, folder.path / file)
    words = ("wte", "transformer.wte") if design.family == "gpt2" else ("model.embed_tokens",)
    table = next((held[f"{word}.weight"] for word in words if f"{word}.weight" in held), None)
    if design.tied and table is not None and "lm_head.weight" in held:
        head = held.pop("lm_head.weight")
        if head.shape != table.shape or not torch.equal(head, table):
            raise InputError(
                f"{folder.path}: tie_word_embeddings is true, but lm_head.weight differs from the embeddings; "
                "say false there if it is to have weights of its own"
            )
    return held


def _checked(name: str, tensor: Tensor, path: Path) -> Tensor:
    if tensor.dtype not in FLOATS or not tensor.numel():
        kind = str(tensor.dtype).removeprefix("torch.")
        raise InputError(f"{path}: {name[:100]} holds {kind if tensor.numel() else 'nothing'}; wanted weights in float")
    return tensor


def _licence(folder: Folder) -> dict[str, str]:
    """What the first lines of a model's card say."""
    if not folder.has("README.md"):
        return {}
    text = read_text(folder.file("README.md"), most=CARD)
    head = text.split("\n---", 1)[0] if text.startswith("---") else ""
    found = re.search(r"^license:[ ]*([\w.+-]{1,60})[ ]*$", head, re.MULTILINE)
    return {"licence": found[1]} if found else {}
