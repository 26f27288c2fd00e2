"""The folder of an image classifier: config.json, safetensors, and what says how images are made ready."""

import re
from typing import Any

import torch
from torch import Tensor

from regard.disk import checksum
from regard.disk.tensors import Tensors
from regard.errors import InputError
from regard.importing.files import Folder
from regard.importing.imported import ImportedClassifier, complete
from regard.importing.vision.configs import read_vision_config
from regard.importing.vision.design import VisionDesign
from regard.importing.vision.layouts import vision_plan
from regard.importing.vision.prepared import Prepared
from regard.importing.vision.processor import read_processor
from regard.importing.vision.timm import read_timm_config
from regard.importing.weights import licence, read_weights, weight_files
from regard.listener import Listener
from regard.tasks.classification.facts import Facts

CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"
COUNTER = "num_batches_tracked"
IDLE = re.compile(rf".*\.{COUNTER}|(vit|deit)\.pooler\.dense\.(weight|bias)|(vit|deit)\.embeddings\.mask_token")


def read_classifier(folder: Folder, config: dict[str, Any], listener: Listener) -> ImportedClassifier:
    """A classifier of a known family, its weights checked against its config before anything large is made."""
    path = folder.path
    design, prepared, classes, kept = _read(folder, config)
    if design.shape != prepared.shape:
        asked, made = ("×".join(map(str, shape)) for shape in (design.shape, prepared.shape))
        raise InputError(f"{path}: {CONFIG} asks for images of {asked} pixels, {PROCESSOR} makes them {made}")
    files = weight_files(folder)
    held = read_weights(folder, files, IDLE)
    plan = vision_plan(design, held, str(path))
    plan.check({name: tensor.shape for name, tensor in held.items()}, str(path))
    recipe, shapes = complete(design.family, design.model(), path.resolve().name, str(path / CONFIG))
    counters = [name for name in shapes if name.endswith(COUNTER)]
    counted = {name: shape for name, shape in shapes.items() if name not in set(counters)}
    weights = plan.fill(counted, lambda name: _sound(held, name), str(path), listener)
    weights |= {name: torch.zeros((), dtype=torch.int64) for name in counters}
    listener.at("taking checksums")
    family = str(config["architecture"]) if design.family == "timm" else design.family
    origin = {"family": family, "files": {name: checksum(folder.file(name)) for name in [*kept, *files]}}
    facts = Facts(classes, design.shape, design.channels, prepared.fit, prepared.mean, prepared.std)
    return ImportedClassifier(
        path.resolve().name, recipe, {name: weights[name] for name in shapes}, facts, origin | licence(folder)
    )


def _read(folder: Folder, config: dict[str, Any]) -> tuple[VisionDesign, Prepared, tuple[str, ...], list[str]]:
    """All that is said of a model but its weights, and the files that say it."""
    named = str(folder.path / CONFIG)
    if "model_type" not in config:
        return *read_timm_config(config, named), [CONFIG]
    if not folder.has(PROCESSOR):
        raise InputError(f"{folder.path}: no {PROCESSOR} in it, which says how images are made ready")
    channels = config.get("num_channels")
    channels = channels if channels in (1, 3) and type(channels) is int else 3  # what is none is refused below
    family = str(config["model_type"])
    prepared = read_processor(folder.table(PROCESSOR), family, channels, str(folder.path / PROCESSOR))
    design, classes = read_vision_config(config, prepared, named)
    return design, prepared, classes, [CONFIG, PROCESSOR]


def _sound(held: Tensors, name: str) -> Tensor:
    """A weight, unless it is a variance below zero."""
    tensor = held[name]
    if name.endswith("running_var") and bool((tensor < 0).any()):
        raise InputError(f"{name[:100]}: holds variances below zero")
    return tensor
