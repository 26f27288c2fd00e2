"""nanoGPT as a peer: `model.py` of a checkout, as it stands."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.allocator import keep_memory
from regard.measuring.sizes import GptShape

PRESET = ["config/train_shakespeare_char.py", "--device=cpu", "--compile=False", "--eval_iters=20", "--log_interval=50"]
PRESET += ["--block_size=64", "--batch_size=12", "--n_layer=4", "--n_head=4", "--n_embd=128", "--max_iters=2000"]
PRESET += ["--lr_decay_iters=2000", "--dropout=0.0"]  # what its README says for a CPU


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


def put_text(checkout: Path, text: Path, home: Path) -> Path:
    """A copy of a checkout in which a text is prepared for characters."""
    shutil.copytree(checkout, home, ignore=shutil.ignore_patterns(".git"))
    data = home / "data" / "shakespeare_char"
    shutil.copyfile(text, data / "input.txt")
    subprocess.run([sys.executable, "prepare.py"], cwd=data, capture_output=True, check=True)
    return home


def nanogpt_loss(home: Path) -> float:
    """The loss of what its train.py saved, over all that was held out, in windows that do not overlap."""
    nanogpt = _opened(home)
    saved = torch.load(home / "out" / "ckpt.pt", weights_only=True)
    model = nanogpt.GPT(nanogpt.GPTConfig(**saved["model_args"])).eval()
    model.load_state_dict(saved["model"])
    ids = torch.from_numpy(np.fromfile(home / "data" / "shakespeare_char" / "val.bin", dtype=np.uint16).astype(int))
    length, total = saved["model_args"]["block_size"], 0.0
    with torch.inference_mode():
        for start in range(0, len(ids) - 1, length):
            labels = ids[start + 1 : start + 1 + length]
            loss = model(ids[None, start : start + len(labels)], labels[None])[1]
            total += float(loss) * len(labels)
    return total / (len(ids) - 1)
