"""Small language models of every stack, and a task with a little text."""

from pathlib import Path
from typing import Any

import torch

from regard.listener import SILENT
from regard.model.assembly import LanguageModel
from regard.model.build import build
from regard.recipe import Recipe
from regard.tasks.language import Language
from regard.training.menu import MENU

TEXT = "".join(f"The {n % 7}th fox says {n * n}: yes, no, 한국 or ö?\n" + "\n" * (n % 5 == 0) for n in range(400))
STACKS: dict[str, dict[str, Any]] = {
    "transformer": {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 2}},
    "rotary": {
        "kind": "transformer",
        "layers": 2,
        "attention": {"kind": "multihead", "heads": 4, "kv_heads": 2},
        "positions": {"kind": "rotary"},
        "norm": {"kind": "rms"},
        "mlp": {"kind": "swiglu"},
    },
    "window": {
        "kind": "transformer",
        "layers": 1,
        "attention": {"kind": "multihead", "heads": 2},
        "pattern": {"kind": "window", "width": 5},
        "positions": {"kind": "alibi"},
    },
    "linear": {"kind": "transformer", "layers": 1, "attention": {"kind": "linear", "heads": 2}},
    "experts": {"kind": "transformer", "layers": 1, "mlp": {"kind": "experts", "experts": 3, "active": 2}},
    "lstm": {"kind": "recurrent", "cell": "lstm", "layers": 2},
    "gru": {"kind": "recurrent", "cell": "gru"},
    "elman": {"kind": "recurrent", "cell": "elman"},
    "convolution": {"kind": "convolution", "layers": 2},
}


def recipe(text: str | Path, stack: str = "transformer", **more: Any) -> dict[str, Any]:
    return {
        "task": {"kind": "language", "context": 12, "batch_tokens": 60} | more.pop("task", {}),
        "data": {"train": str(text), "valid_share": 0.1, "test_share": 0.1} | more.pop("data", {}),
        "tokenizer": more.pop("tokenizer", {"kind": "characters"}),
        "model": {"kind": "language_model", "width": 16, "decoder": STACKS[stack]},
        "training": {"steps": 3, "checkpoints": {"validate_every": 3}} | more.pop("training", {}),
        **more,
    }


def prepared(text: str | Path, stack: str = "transformer", **more: Any) -> tuple[Language, LanguageModel]:
    made = Recipe.check(recipe(text, stack, **more), MENU)
    task = made.wants("task").build(None)
    assert isinstance(task, Language)
    task.prepare(SILENT)
    torch.manual_seed(1)
    model = build(made.sized(task.sizes(), MENU))
    assert isinstance(model, LanguageModel)
    return task, model.eval()
