"""Tiny translators with random weights, one of each kind, in double precision: no rounding decides a word."""

from typing import Any

import torch

from regard.datasets.tokenizer.trainer import EOS, LEAST
from regard.listener import SILENT
from regard.model.assembly import Seq2Seq
from regard.model.build import build
from regard.recipe import Part
from regard.tasks.translation import Translation
from regard.training.menu import MENU

HEADS = {"kind": "multihead", "heads": 2}
STACKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "recurrent": ({"kind": "recurrent", "layers": 1}, {"kind": "recurrent", "layers": 1, "attention": "additive"}),
    "convolution": ({"kind": "convolution", "layers": 1}, {"kind": "convolution", "layers": 1}),
    "transformer": (
        {"kind": "transformer", "layers": 1, "attention": HEADS},
        {"kind": "transformer", "layers": 1, "attention": HEADS, "cross": HEADS},
    ),
}
TOY = {"kind": "toy", "letters": 4, "max_length": 5, "train": 60, "valid": 9, "test": 6}


def seq2seq(kind: str, words: int, ends: float = 0.0, **decoder: Any) -> Seq2Seq:
    """Writes whole words rather than bytes; `ends` makes the end likelier, so that there are several lengths."""
    reading, writing = STACKS[kind]
    sizes = {"width": 16, "source_vocab_size": words, "target_vocab_size": words}
    torch.manual_seed(0)
    model = build({"model": {"kind": "seq2seq", "encoder": reading, "decoder": writing | decoder, **sizes}})
    assert isinstance(model, Seq2Seq)
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
        model.head.bias[EOS + 1 : LEAST] -= 9.0
        model.head.bias[EOS] += ends
    return model


def ordered(data: Any = None, tokenizer: Any = "words", decoding: Any = "greedy", **said: Any) -> Part[Any]:
    """The task as a recipe asks for it; what is said goes to its section."""
    usual = {"kind": "translation", "max_length": 8, "batch_tokens": 60, "label_smoothing": 0.0}
    sections = {"data": data or TOY, "tokenizer": tokenizer, "decoding": decoding}
    return MENU.lift("task", usual | said, sections)


def prepared(data: Any = None, tokenizer: Any = "words", decoding: Any = "greedy", **said: Any) -> Translation:
    """The task with its data ready, as training has it."""
    task = ordered(data, tokenizer, decoding, **said).build(None)
    assert isinstance(task, Translation)
    task.prepare(SILENT)
    return task
