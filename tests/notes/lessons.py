"""What the tests of the notes teach: small translators, trained from a recipe as a user's own would be."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from regard.trained import Trained, open_run, translate
from regard.training.train import train

Table = dict[str, Any]
Pair = tuple[str, str]

FAST = {"kind": "muon", "rate": 0.05, "adamw_rate": 0.02}
RECURRENT = {"kind": "recurrent"}
FIXED = {"kind": "recurrent", "context": "every_step"}
ATTENTIVE = {"kind": "recurrent", "attention": "additive", "order": "luong"}


def taught(out: Path, data: Table, encoder: Table, decoder: Table, **said: Any) -> Trained:
    """A translator of whole words and width 32, after a few steps; what is said goes to its training."""
    usual = {"steps": 100, "batch_tokens": 512, "smoothing": 0.0, "optimizer": FAST}
    recipe = {
        "data": data,
        "tokens": {"kind": "words"},
        "model": {"kind": "seq2seq", "width": 32, "encoder": encoder, "decoder": decoder},
        "training": usual | {"schedule": {"kind": "decay", "warmup": 10, "share": 0.5}} | said,
        "decoding": {"kind": "greedy"},
    }
    recipe["training"].setdefault("validate_every", recipe["training"]["steps"])
    return open_run(train(recipe, out=out).folder)


def written(path: Path, pairs: Iterable[Pair]) -> Table:
    """Pairs as a user would bring them, in one file, all of it to learn from."""
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return {"kind": "files", "train": str(path), "valid_share": 0.0}


def right(trained: Trained, pairs: Iterable[Pair]) -> list[bool]:
    """Which translations are what was wanted, to the letter."""
    pairs = list(pairs)
    found = translate(trained, [source for source, _ in pairs])
    return [one.text == wanted for one, (_, wanted) in zip(found, pairs, strict=True)]
