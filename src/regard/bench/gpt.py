"""A training step of a language model, beside its peers."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from regard.allocator import keep_memory
from regard.bench.workers import Peer, Turns, take_turns
from regard.model.assembly import LanguageModel
from regard.model.build import build


@dataclass(frozen=True)
class Size:
    """A GPT and its batch."""

    layers: int = 6
    heads: int = 6
    width: int = 384
    length: int = 256
    batch: int = 16
    vocabulary: int = 65


def bench_gpt(
    size: Size, nanogpt: Path | None = None, rounds: int = 9, tell: Callable[[str], None] = lambda _: None
) -> list[Turns]:
    """One step (forward, backward, AdamW) of each peer in turn; a matrix product shows the machine's mood.

    `nanogpt` is the folder of a checkout of that project, whose `model.py` is then run beside.
    """
    peers = [Peer("regard", regard_step, (size,)), Peer("matrix product", product)]
    if nanogpt is not None:
        peers[1:1] = [
            Peer("nanoGPT", nanogpt_step, (size, nanogpt)),
            Peer("nanoGPT, memory kept", nanogpt_step, (size, nanogpt, True)),
        ]
    return take_turns(peers, rounds, tell)


def regard_step(size: Size) -> Callable[[], Any]:
    keep_memory()
    decoder = {
        "kind": "transformer",
        "layers": size.layers,
        "attention": {"kind": "multihead", "heads": size.heads, "bias": False},
        "positions": {"kind": "learned", "limit": size.length},
        "norm": {"kind": "layer", "bias": False},
        "mlp": {"kind": "gelu", "bias": False},
    }
    table = {"kind": "language_model", "vocab_size": size.vocabulary, "width": size.width, "decoder": decoder}
    model = build({"model": table})
    assert isinstance(model, LanguageModel)

    def loss(tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())

    return _step(model, loss, size)


def nanogpt_step(size: Size, folder: Path, keeping: bool = False) -> Callable[[], Any]:
    """The peer as it is, or with memory kept between steps as Regard does."""
    if keeping:
        keep_memory()
    spec = importlib.util.spec_from_file_location("nanogpt_model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.GPT(
        module.GPTConfig(
            block_size=size.length,
            vocab_size=size.vocabulary,
            n_layer=size.layers,
            n_head=size.heads,
            n_embd=size.width,
            dropout=0.0,
            bias=False,
        )
    )
    return _step(model, lambda tokens, wanted: model(tokens, wanted)[1], size)


def _step(model: torch.nn.Module, loss: Callable[..., torch.Tensor], size: Size) -> Callable[[], Any]:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    tokens, wanted = torch.randint(size.vocabulary, (2, size.batch, size.length))

    def step() -> None:
        loss(tokens, wanted).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def product(side: int = 2048) -> Callable[[], Any]:
    one, other = torch.randn(side, side), torch.randn(side, side)
    return lambda: one @ other
