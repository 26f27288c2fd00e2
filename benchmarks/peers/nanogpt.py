"""nanoGPT as a peer: `model.py` of a checkout, as it stands."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from regard.allocator import keep_memory
from regard.measuring.sizes import GptShape


def prepare_nanogpt_step(shape: GptShape, folder: Path, keeping: bool = False) -> Callable[[], int]:
    """The peer as it is, or with memory kept between steps as Regard does."""
    if keeping:
        keep_memory()
    nanogpt = _opened(folder)
    model = nanogpt.GPT(nanogpt.GPTConfig(**_sizes(shape)))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    tokens, labels = torch.randint(shape.vocab_size, (2, shape.batch, shape.length))

    def turn() -> int:
        model(tokens, labels)[1].backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return shape.batch * shape.length

    return turn


def _sizes(shape: GptShape) -> dict[str, Any]:
    return {
        "block_size": shape.length,
        "vocab_size": shape.vocab_size,
        "n_layer": shape.layers,
        "n_head": shape.heads,
        "n_embd": shape.width,
        "dropout": 0.0,
        "bias": False,
    }


def _opened(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("nanogpt_model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
