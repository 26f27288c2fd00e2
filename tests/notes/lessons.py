"""What the tests of the notes teach: small translators, by a recipe as a user's own, and still smaller models."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from regard.calls.training import train
from regard.decoding.engine import Engine
from regard.decoding.request import Request
from regard.decoding.sample import Greedy
from regard.trained import Trained, open_run
from regard.training.optimizer import Muon
from regard.verbs import translate

Table = dict[str, Any]
Pair = tuple[str, str]

FAST = {"kind": "muon", "learning_rate": 0.05, "adamw_learning_rate": 0.02}
RECURRENT = {"kind": "recurrent"}
FIXED = {"kind": "recurrent", "context": "every_step"}
ATTENTIVE = {"kind": "recurrent", "attention": "additive", "order": "luong"}


def taught(out: Path, data: Table, encoder: Table, decoder: Table, **said: Any) -> Trained:
    """A translator of whole words and width 32, after a few steps; what is said goes to its training."""
    schedule = {"kind": "warmup_stable_decay", "warmup_steps": 10, "decay_share": 0.5}
    usual = {"steps": 100, "optimizer": FAST, "schedule": schedule}
    recipe = {
        "task": {"kind": "translation", "batch_tokens": 512, "label_smoothing": 0.0},
        "data": data,
        "tokenizer": {"kind": "words"},
        "model": {"kind": "seq2seq", "width": 32, "encoder": encoder, "decoder": decoder},
        "training": usual
        | {"schedule": {"kind": "warmup_stable_decay", "warmup_steps": 10, "decay_share": 0.5}}
        | said,
        "decoding": {"kind": "greedy"},
    }
    recipe["training"].setdefault("checkpoints", {"validate_every": recipe["training"]["steps"]})
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


def teach(model: nn.Module, asked: Callable[[], tuple[Tensor, Tensor]], steps: int) -> None:
    """Teach a model by what is asked anew at every step: its logits, classes last, and the right answers."""
    optimizers = Muon(learning_rate=0.04, adamw_learning_rate=0.016).make(model)
    for step in range(steps):
        logits, wanted = asked()
        F.cross_entropy(logits.flatten(0, -2), wanted.flatten()).backward()
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["base_lr"] * min(1.0, 2 - 2 * step / steps)
            optimizer.step()
            optimizer.zero_grad()


def continued(writer: nn.Module, prompt: list[int], count: int) -> tuple[list[int], float]:
    """What greedy decoding writes after a prompt, and its log probability."""
    engine = Engine(writer, Greedy(), stop_tokens=())  # no token ends a text
    ((found,),) = engine.write([Request(prompt, None, count, 0)])
    return found.tokens, found.log_prob
