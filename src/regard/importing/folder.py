"""A Hugging Face folder: config.json, safetensors in one file or many, tokenizer.json and what stands beside it."""

import re
from pathlib import Path
from typing import Any

import torch

from regard.disk import checksum, read_json
from regard.disk.tensors import Tensors
from regard.errors import InputError
from regard.importing.configs import VISION, read_config
from regard.importing.design import Design
from regard.importing.files import Folder
from regard.importing.folder_tokenizer import read_speech
from regard.importing.imported import Imported, ImportedClassifier, complete
from regard.importing.layouts import folder_plan
from regard.importing.weights import licence, read_weights, weight_files
from regard.listener import Listener

CONFIG = "config.json"
MADE_ANEW = re.compile(
    r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq|(transformer\.)?h\.\d+\.attn\.(masked_)?bias"
)


def read_folder(path: Path, listener: Listener) -> Imported | ImportedClassifier:
    """A model of a known family, its weights checked against its config before anything large is made."""
    folder = Folder(path)
    if not folder.has(CONFIG):
        raise InputError(f"{path}: no {CONFIG} in it; wanted the folder of a Hugging Face model")
    config = read_json(folder.file(CONFIG))
    if config.get("model_type") in VISION or ("architecture" in config and "model_type" not in config):
        from regard.importing.vision.folder import read_classifier

        return read_classifier(folder, config, listener)
    return _language(folder, config, listener)


def _language(folder: Folder, config: dict[str, Any], listener: Listener) -> Imported:
    path = folder.path
    design = read_config(config, str(path / CONFIG))
    files = weight_files(folder)
    held = _held(folder, files, design)
    speech = read_speech(folder, config, design.vocab_size)
    plan = folder_plan(design, held, str(path))
    plan.check({name: tensor.shape for name, tensor in held.items()}, str(path))
    recipe, shapes = complete(design.family, design.model(), path.resolve().name, str(path / CONFIG))
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
        origin=origin | licence(folder),
        add_bos=speech.add_bos,
        sampling=speech.sampling,
    )


def _held(folder: Folder, files: list[str], design: Design) -> Tensors:
    """All weights, a head that is the table of embeddings once more left out."""
    held = read_weights(folder, files, MADE_ANEW)
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
