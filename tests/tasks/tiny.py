"""Tiny translators with random weights, one of each kind, in double precision: no rounding decides a word."""

from typing import Any

import torch

from regard.data.tokens import END, LEAST
from regard.model.assembly import Seq2Seq
from regard.model.build import build

HEADS = {"kind": "multihead", "heads": 2}
STACKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "recurrent": ({"kind": "recurrent", "layers": 1}, {"kind": "recurrent", "layers": 1, "attention": "additive"}),
    "convolution": ({"kind": "convolution", "layers": 1}, {"kind": "convolution", "layers": 1}),
    "transformer": (
        {"kind": "transformer", "layers": 1, "attention": HEADS},
        {"kind": "transformer", "layers": 1, "attention": HEADS, "cross": HEADS},
    ),
}


def seq2seq(kind: str, words: int, ends: float = 0.0) -> Seq2Seq:
    """Writes whole words rather than bytes; `ends` makes the end likelier, so that there are several lengths."""
    encoder, decoder = STACKS[kind]
    sizes = {"width": 16, "source_vocab_size": words, "target_vocab_size": words}
    torch.manual_seed(0)
    model = build({"model": {"kind": "seq2seq", "encoder": encoder, "decoder": decoder, **sizes}})
    assert isinstance(model, Seq2Seq)
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
        model.head.bias[END + 1 : LEAST] -= 9.0
        model.head.bias[END] += ends
    return model
