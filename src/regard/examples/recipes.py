"""Recipes of the examples: a translator and a writer of whole words, small enough to learn in seconds."""

from typing import Any

Table = dict[str, Any]

HEADS: Table = {"kind": "multihead", "heads": 4}
SCHEDULE: Table = {"kind": "warmup_stable_decay", "warmup_steps": 10, "decay_share": 0.5}
FAST: Table = {"kind": "muon", "learning_rate": 0.05, "adamw_learning_rate": 0.02}
STEADY: Table = {"kind": "muon", "learning_rate": 0.02, "adamw_learning_rate": 0.008}
SLOW: Table = {"kind": "adamw", "learning_rate": 0.005}


def training(steps: int, optimizer: Table) -> Table:
    """So many steps, by one seed."""
    return {
        "steps": steps,
        "seed": 1,
        "optimizer": optimizer,
        "schedule": SCHEDULE,
        "checkpoints": {"validate_every": steps},
    }


def translator(encoder: Table, decoder: Table, trained: Table, **model: Any) -> Table:
    """Pairs of sentences, all of them to learn from."""
    return {
        "task": {"kind": "translation", "batch_tokens": 512, "label_smoothing": 0.0},
        "data": {"kind": "files", "valid_share": 0.0},
        "tokenizer": {"kind": "words"},
        "model": {"kind": "seq2seq", "width": 32, "encoder": encoder, "decoder": decoder} | model,
        "training": trained,
        "decoding": {"kind": "greedy"},
    }


def writer(decoder: Table, trained: Table) -> Table:
    """Lines of text, each read by itself, of two layers with two heads each."""
    usual: Table = {"kind": "transformer", "layers": 2, "attention": HEADS | {"heads": 2}}
    more: Table = {"positions": "rotary", "residual": "pre", "mlp": "gelu"}
    return {
        "task": {"kind": "language", "context": 32, "batch_tokens": 1024, "documents": "apart"},
        "data": {"kind": "text", "documents": "line", "valid_share": 0.01},
        "tokenizer": {"kind": "words"},
        "model": {"kind": "language_model", "width": 32, "tie_embeddings": "none", "decoder": usual | more | decoder},
        "training": trained,
    }
