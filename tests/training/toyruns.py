"""Tiny runs on toy data: every stack, trained for a few steps, watched, cut short and gone on with."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.listener import SILENT, Listener
from regard.run import STATE, WEIGHTS, Run
from regard.training.events import Event
from regard.training.stop import Stop
from regard.training.train import training

FILES = (WEIGHTS, STATE)
GROUPS = {
    "task": ("batch_tokens", "max_length", "label_smoothing", "scheduled_sampling"),
    "checkpoints": ("validate_every", "save_every", "keep", "best_by", "patience", "tensorboard"),
    "machine": ("device", "precision", "matmul", "compile", "parallel", "threads"),
}

Table = dict[str, Any]
HEADS = {"kind": "multihead", "heads": 2}
STACKS: dict[str, tuple[Table, Table]] = {
    "elman": ({"kind": "recurrent", "cell": "elman"}, {"kind": "recurrent", "cell": "elman"}),
    "lstm": (
        {"kind": "recurrent", "cell": "lstm"},
        {"kind": "recurrent", "cell": "lstm", "attention": "general", "order": "luong_feeding"},
    ),
    "gru-additive": (
        {"kind": "recurrent", "cell": "gru"},
        {"kind": "recurrent", "cell": "gru", "attention": "additive"},
    ),
    "convolution": ({"kind": "convolution", "layers": 1}, {"kind": "convolution", "layers": 1}),
    "transformer": (
        {"kind": "transformer", "layers": 1, "attention": HEADS},
        {"kind": "transformer", "layers": 1, "attention": HEADS, "cross": HEADS},
    ),
    "experts": (
        {"kind": "transformer", "layers": 1, "attention": HEADS, "mlp": {"kind": "experts", "experts": 3}},
        {"kind": "transformer", "layers": 1, "attention": HEADS, "cross": HEADS, "mlp": {"kind": "experts"}},
    ),
}


def recipe(stack: str = "elman", dropout: float = 0.0, data: Table | None = None, **said: Any) -> Table:
    """A whole recipe of about 20,000 parameters; what is said goes to its task or its training."""
    encoder, decoder = STACKS[stack]
    model = {
        "kind": "seq2seq",
        "width": 16,
        "encoder": encoder | {"dropout": dropout},
        "decoder": decoder | {"dropout": dropout},
    }
    toy = {"kind": "toy", "letters": 6, "max_length": 3, "train": 90, "valid": 4, "test": 4} | (data or {})
    usual = {"steps": 6, "batch_tokens": 48, "validate_every": 3, "schedule": {"kind": "constant"}, "keep": 9}
    asked = usual | {"optimizer": {"kind": "adamw", "learning_rate": 0.01}} | said
    groups = {group: {key: asked.pop(key) for key in keys if key in asked} for group, keys in GROUPS.items()}
    return {
        "name": "toy",
        "task": {"kind": "translation"} | groups.pop("task"),
        "data": toy,
        "tokenizer": {"kind": "words"},
        "model": model,
        "training": asked | groups,
        "decoding": {"kind": "greedy"},
    }


def whole(table: Table, out: Path, resume: bool = False, listener: Listener = SILENT) -> list[Event]:
    """Everything that happens to the end."""
    return list(training(table, out=out, resume=resume, listener=listener))


def until(table: Table, out: Path, last: Callable[[Event], bool], resume: bool = False) -> list[Event]:
    """Asked to stop as soon as something has happened, and then to the end."""
    stop, seen = Stop(), []
    for event in training(table, out=out, resume=resume, stop=stop):
        seen.append(event)
        stop.asked = stop.asked or last(event)
    return seen


def killed(table: Table, out: Path, last: Callable[[Event], bool], resume: bool = False) -> list[Event]:
    """Dropped without a word as soon as something has happened."""
    events, seen = training(table, out=out, resume=resume), []
    for event in events:
        seen.append(event)
        if last(event):
            events.close()  # type: ignore[attr-defined]
    return seen


def tensors(folder: Path, file: str = WEIGHTS, step: int | None = None) -> dict[str, Tensor]:
    """Those of the newest checkpoint, or of another."""
    found = [one for one in Run.open(folder).checkpoints() if step in (None, one.step)]
    return found[0].weights() if file == WEIGHTS else found[0].state()


def fingerprint(folder: Path) -> dict[str, Any]:
    """All that the newest checkpoint holds, to the bit, except when it was saved before."""
    newest = Run.open(folder).checkpoints()[0]
    hashes = {name: hashlib.sha256((newest.folder / name).read_bytes()).hexdigest() for name in FILES}
    return {"step": newest.step, **hashes, "progress": newest.progress()}
