"""A few small images in three classes, recipes that learn them, and runs."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from regard.listener import SILENT
from regard.model.assembly import ImageClassifier
from regard.model.build import build
from regard.recipe import Recipe
from regard.tasks.classification import Classification
from regard.training.menu import MENU

CLASSES = ["down", "flat", "up"]
Table = dict[str, Any]
HEADS = {"kind": "multihead", "heads": 2}
BODIES: dict[str, Table] = {
    "vit": {
        "kind": "patches",
        "patch": 4,
        "width": 16,
        "encoder": {"kind": "transformer", "layers": 2, "attention": HEADS, "positions": "learned"},
    },
    "mean": {
        "kind": "patches",
        "patch": 4,
        "width": 16,
        "pooling": "mean",
        "encoder": {"kind": "transformer", "layers": 2, "attention": HEADS, "positions": "sinusoidal"},
    },
    "rows": {"kind": "patches", "patch": [1, 8], "width": 16, "pooling": "mean", "encoder": {"kind": "recurrent"}},
    "resnet": {"kind": "resnet", "width": 4, "blocks": 1, "stages": 2},
}
EVERYTHING: Table = {
    "crop_padding": 1,
    "flip": 0.5,
    "colour": 0.2,
    "operations": 2,
    "mixup": 0.3,
    "cutmix": 1.0,
    "erase": 0.3,
}


def drawn(kind: str, seed: int, height: int = 9, width: int = 10, channels: int = 3) -> NDArray[np.uint8]:
    """Noise, lighter below (`down`), above (`up`), or nowhere."""
    noise = np.random.default_rng((seed, CLASSES.index(kind))).integers(0, 80, (height, width, channels))
    if kind == "down":
        noise[height // 2 :] += 120
    elif kind == "up":
        noise[: height // 2] += 120
    return noise.astype(np.uint8)


def put(folder: Path, counts: dict[str, int] | int = 12, first: int = 0) -> Path:
    """A folder of folders."""
    each = dict.fromkeys(CLASSES, counts) if isinstance(counts, int) else counts
    for kind, count in each.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + count):
            Image.fromarray(drawn(kind, number)).save(folder / kind / f"{number}.png")
    return folder


def recipe(folder: Path, body: str = "vit", **more: Any) -> Table:
    """A whole recipe; tables that are given go over those that are here."""
    training = {"steps": 8, "schedule": {"kind": "constant"}, "checkpoints": {"validate_every": 4, "keep": 9}}
    training |= {"optimizer": {"kind": "adamw", "learning_rate": 0.01}}
    return {
        "task": {"kind": "classification", "size": 8, "batch_images": 10} | more.pop("task", {}),
        "data": {"train": str(folder), "valid_share": 0.2, "test_share": 0.2} | more.pop("data", {}),
        "augmentation": {"kind": "random"} | more.pop("augmentation", {}),
        "model": {"kind": "image_classifier", "body": BODIES[body]} | more.pop("model", {}),
        "training": training | more.pop("training", {}),
        **more,
    }


def prepared(folder: Path, body: str = "vit", **more: Any) -> tuple[Classification, ImageClassifier]:
    """A task whose data are ready, and a model for it."""
    made = Recipe.check(recipe(folder, body, **more), MENU)
    task = made.wants("task").build(None)
    assert isinstance(task, Classification)
    task.prepare(SILENT)
    torch.manual_seed(1)
    model = build(made.sized(task.sizes(), MENU))
    assert isinstance(model, ImageClassifier)
    return task, model
