"""A few small images, recipes that learn to restore them, and runs."""

from pathlib import Path
from typing import Any

import torch

from regard.listener import SILENT
from regard.model.assembly import ImageRestorer
from regard.model.build import build
from regard.recipe import Recipe
from regard.tasks.restoration import Restoration
from regard.training.menu import MENU

Table = dict[str, Any]
MODEL: Table = {"kind": "image_restorer", "width": 4, "scales": 2}


def restoring(folder: Path, **more: Any) -> Table:
    """A whole recipe; tables that are given go over those that are here."""
    training = {"steps": 4, "schedule": {"kind": "constant"}, "checkpoints": {"validate_every": 2, "keep": 9}}
    training |= {"optimizer": {"kind": "adamw", "learning_rate": 0.01}}
    return {
        "task": {"kind": "restoration", "size": 8, "batch_images": 10} | more.pop("task", {}),
        "data": {"train": str(folder), "valid_share": 0.2, "test_share": 0.2} | more.pop("data", {}),
        "model": MODEL | more.pop("model", {}),
        "training": training | more.pop("training", {}),
        **more,
    }


def ready(folder: Path, **more: Any) -> tuple[Restoration, ImageRestorer]:
    """A task whose data are ready, and a model for it."""
    made = Recipe.check(restoring(folder, **more), MENU)
    task = made.wants("task").build(None)
    assert isinstance(task, Restoration)
    task.prepare(SILENT)
    torch.manual_seed(1)
    model = build(made.sized(task.sizes(), MENU))
    assert isinstance(model, ImageRestorer)
    return task, model
