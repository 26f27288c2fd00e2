"""Where only [CLS] is read, the last layer works it out alone: the same numbers for less."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.model.build import build
from regard.model.describe import describe
from regard.model.watch import watch

CASES: dict[str, dict[str, Any]] = {
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "post": {"residual": "post"},
    "no residual": {"residual": "none"},
    "window": {"pattern": {"kind": "window", "width": 3}},
    "local and global": {"pattern": {"kind": "local_global", "width": 2, "first": 1}},
    "additive": {"attention": "additive"},
    "linear": {"attention": {"kind": "linear", "heads": 2}},
    "dot": {"attention": "dot"},
    "no attention": {"attention": "none"},
    "groups, naive": {"attention": {"kind": "multihead", "heads": 4, "kv_heads": 2, "kernel": "naive"}},
    "experts": {"mlp": {"kind": "experts", "experts": 3, "hidden": 8}},
    "layer scale": {"layer_scale": 0.3},
}


def model(pooling: str = "cls", **encoder: Any) -> nn.Module:
    torch.manual_seed(0)
    stack = {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 2}} | encoder
    body = {"kind": "patches", "width": 16, "patch": 4, "pooling": pooling, "registers": 1, "encoder": stack}
    made = build({"model": {"kind": "image_classifier", "classes": 4, "size": [12, 8], "body": body}})
    return made.double()


def learnt(whole: nn.Module, pixels: Tensor, read: int | None) -> tuple[Tensor, list[Tensor]]:
    whole.body.encoder.read = read
    whole.zero_grad()
    logits = whole(pixels)
    logits.square().sum().backward()
    return logits, [each.grad.clone() for each in whole.parameters() if each.grad is not None]


@pytest.mark.parametrize("pooling", ["cls", "distilled"])
@pytest.mark.parametrize("case", CASES)
def test_the_rest_is_not_missed(case: str, pooling: str) -> None:
    whole, pixels = model(pooling, **CASES[case]), torch.randn(3, 3, 12, 8, dtype=torch.float64)
    count = 1 if pooling == "cls" else 2
    assert whole.body.encoder.read == count
    short, short_grads = learnt(whole, pixels, count)
    full, full_grads = learnt(whole, pixels, None)
    torch.testing.assert_close(short, full)
    assert len(short_grads) == len(full_grads)
    for one, other in zip(short_grads, full_grads, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("case", ["learned", "rotary", "alibi", "window", "post"])
def test_who_watches_sees_all_rows_and_changes_nothing(case: str) -> None:
    whole, pixels = model(**CASES[case]).eval(), torch.randn(2, 3, 12, 8, dtype=torch.float64)
    alone = whole(pixels)
    with watch(whole) as seen:
        assert torch.equal(whole(pixels), alone)
    found = [sight.weights for sight in seen.values()]
    assert [weights.shape for weights in found] == [(2, 2, 8, 8)] * 2
    whole.body.encoder.read = None
    with watch(whole) as seen:
        whole(pixels)
    for one, other in zip(found, seen.values(), strict=True):
        torch.testing.assert_close(one, other.weights)


def test_the_mean_reads_all_and_costs_more() -> None:
    first, mean = ({"model.body.pooling": pooling} for pooling in ("cls", "mean"))
    assert describe("vit-32", first).flops_per_token < 0.95 * describe("vit-32", mean).flops_per_token
