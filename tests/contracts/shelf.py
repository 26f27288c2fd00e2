"""Every recipe of the shelf, made small, and what it has learnt after a few steps in either type of number."""

import tomllib
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from regard.disk.shelf import shelf
from regard.model.assembly import ImageRestorer
from regard.model.build import build
from regard.model.mechanism import auxiliary_loss
from regard.training.events import Step
from regard.training.train import training

STEPS = 20
SMALL = {"width": 32, "heads": 2, "hidden": 64, "experts": 4, "vocab_size": 64, "classes": 10, "blocks": 1}
SMALL |= {"layers": 2, "kv_heads": 1, "size": 64, "window": 8}
TEXT = {"kind": "pydoc", "valid_share": 0.001, "test_share": 0.9}
GLYPHS = {"kind": "glyphs", "characters": "ABCD", "train_images": 320, "valid_images": 8, "test_images": 8}
TOY = {"kind": "toy", "letters": 12, "max_length": 6, "train": 400, "valid": 4, "test": 4}


def names() -> list[str]:
    return sorted(path.stem for path in shelf().glob("*.toml"))


def made_small(name: str) -> dict[str, Any]:
    """The same mechanisms with few numbers; what can be trained learns from toys or a little text at once."""
    table = tomllib.loads((shelf() / f"{name}.toml").read_text())
    table["model"] = _less(table["model"])
    if "task" not in table:
        return table
    machine = {"steps": STEPS, "schedule": "constant", "checkpoints": {"validate_every": STEPS}}
    kept = {key: value for key, value in table.get("training", {}).items() if key not in ("epochs", *machine)}
    if table["task"]["kind"] in ("classification", "restoration"):
        table["task"] |= {"batch_images": 16, "size": min(64, table["task"]["size"])}
        slow = kept["optimizer"] | {"learning_rate": 1e-3}  # recipes warm up, and norms of few images are rough
        return table | {"data": GLYPHS, "training": kept | machine | {"optimizer": slow}}
    task = table["task"] | {"batch_tokens": 256}
    if task["kind"] == "language":
        return table | {"task": task | {"context": 32}, "data": TEXT, "tokenizer": "bytes", "training": kept | machine}
    return table | {"task": task, "data": TOY, "tokenizer": {"kind": "words"}, "training": kept | machine}


def _less(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        keys = {key: "window" if (name, key) == ("pattern", "width") else key for key in value}
        return {key: _less(inner, keys[key]) for key, inner in value.items()}
    if isinstance(value, list):
        return [_less(inner) for inner in value]
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return min(SMALL.get(name, value), value)


def loss(name: str, precision: str, place: Path) -> float:
    """The loss of the last step."""
    table = made_small(name)
    if "task" not in table:
        return _driven(table, torch.bfloat16 if precision == "bfloat16" else None)
    words = f"training.machine.precision={precision}"
    found = [event.loss for event in training(table, words, out=place / precision) if isinstance(event, Step)]
    assert len(found) == STEPS
    return found[-1]


def _driven(table: dict[str, Any], kind: torch.dtype | None) -> float:
    """No task trains it yet: the model itself, with a loss and an optimizer, on one batch after another."""
    torch.manual_seed(1)
    table = table["model"]
    model: Any = build({"model": table}).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    chance = torch.Generator().manual_seed(1)
    cost = torch.zeros(())
    for number in range(STEPS):
        torch.manual_seed(number)
        size = (8, model.channels, *model.image_shape)
        wanted = torch.randint(table.get("classes", 8), (8,), generator=chance)
        inputs = torch.randn(size, generator=chance) + wanted[:, None, None, None]
        with torch.autocast("cpu", kind, enabled=kind is not None):
            logits = model(inputs)
        if isinstance(model, ImageRestorer):
            cost = F.mse_loss(logits.float(), wanted[:, None, None, None].expand(size).float())
        else:
            cost = F.cross_entropy(logits.float().flatten(0, -2), wanted.flatten())
        extra = auxiliary_loss(model)
        optimizer.zero_grad()
        (cost if extra is None else cost + extra).backward()
        optimizer.step()
    return float(cost.detach())
