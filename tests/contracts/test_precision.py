"""Every mechanism in every type of number, pure and under autocast, held against the same weights in float64.

What may differ is what rounding costs: a share of the length of all logits, or of the gradient, that does not grow
with the length of a row. `LARGEST` is what was found (docs/results), with room for other machines.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.assembly import LanguageModel, Seq2Seq
from regard.model.mechanism import auxiliary_loss

from .small import Case, answerers, blocks_of, bodies, decoders, encoders, every, models, small, tokens, unchecked
from .trained import batch

KINDS = [
    (torch.float32, False),
    (torch.bfloat16, False),
    (torch.bfloat16, True),
    (torch.float16, False),
    (torch.float16, True),
]
LARGEST = {torch.float64: 1e-12, torch.float32: 5e-6, torch.bfloat16: 0.04, torch.float16: 0.005}
GRADIENT = {torch.float32: 2e-5, torch.bfloat16: 0.4, torch.float16: 0.2}
ALL = [*models(), *bodies(), *encoders(), *decoders(), *answerers()]
WRITERS = [*decoders(), *answerers()]


def autocast(kind: torch.dtype, on: bool) -> AbstractContextManager[Any]:
    return torch.autocast("cpu", kind) if on else nullcontext()


def off(found: Tensor, wanted: Tensor) -> float:
    """How far off, as a share of the length of what is right."""
    assert found.isfinite().all()
    return float((found.double() - wanted).norm() / wanted.norm())


def learnt(model: Any, kind: torch.dtype, cast: bool) -> tuple[Tensor, Tensor]:
    """Logits, and the gradient of their loss by all parameters."""
    inputs, wanted = batch(model)
    own = next(model.parameters()).dtype
    with autocast(kind, cast):
        logits = model(*(given.to(own) if given.is_floating_point() else given for given in inputs))
        cost = F.cross_entropy(logits.flatten(0, -2).to(torch.promote_types(own, torch.float32)), wanted.flatten())
        extra = auxiliary_loss(model)
        (cost if extra is None else cost + extra).backward()
    return logits.detach(), torch.cat(
        [each.grad.double().flatten() for each in model.parameters() if each.grad is not None]
    )


@every(ALL)
def test_all_types_learn_alike(case: Case) -> None:
    with unchecked(), blocks_of(4):
        right = learnt(case.build().double().train(), torch.float64, False)
        for kind, cast in KINDS:
            model = case.build().train()
            logits, gradient = learnt(model if cast else model.to(kind), kind, cast)
            assert off(logits, right[0]) < LARGEST[kind], (kind, cast)
            if kind == torch.float32 or "feature.relu" not in case.name:  # at its bend any rounding turns a slope
                assert off(gradient, right[1]) < GRADIENT[kind], (kind, cast)


def written(model: Any, steps: list[int]) -> Tensor:
    """Logits step by step."""
    target = tokens(2, sum(steps), seed=1)
    memory = model.start(tokens(2, 9), torch.tensor([9, 4])) if isinstance(model, Seq2Seq) else model.start(rows=2)
    return model.head(torch.cat([model.step(part, memory) for part in target.split(steps, 1)], 1))


@every(WRITERS)
def test_all_types_write_alike_step_by_step(case: Case) -> None:
    with unchecked(), blocks_of(4), torch.no_grad():
        right = written(case.build().double(), [17])
        for kind, cast in [(torch.float64, False), *KINDS]:
            model = case.build()
            with autocast(kind, cast):
                found = written(model if cast else model.to(kind), [0, 5, 1, 1, 8, 0, 2])
            assert off(found, right) < LARGEST[kind], (kind, cast)


LONG, SHORT = 3000, 60
LASTING = {
    "alibi": {"positions": small("positions", "alibi")},
    "alibi in a window": {"positions": small("positions", "alibi"), "pattern": small("pattern", "window", width=300)},
    "rotary": {"positions": small("positions", "rotary")},
    "sinusoidal": {"positions": small("positions", "sinusoidal")},
    "linear": {"positions": small("positions", "none"), "attention": small("attention", "linear", heads=1)},
    "linear, relu": {
        "positions": small("positions", "none"),
        "attention": small("attention", "linear", heads=1, feature=small("feature", "relu")),
    },
    "linear, random": {
        "positions": small("positions", "none"),
        "attention": small("attention", "linear", heads=1, feature=small("feature", "random")),
    },
}


def long_model(name: str) -> LanguageModel:
    table = small("model", "language_model", decoder=small("decoder", "transformer", **LASTING[name]))
    model = Case(name, table).build()
    assert isinstance(model, LanguageModel)
    return model


@pytest.mark.parametrize(("kind", "cast"), KINDS[1:])
@pytest.mark.parametrize("name", LASTING)
def test_long_rows_are_no_less_exact(name: str, kind: torch.dtype, cast: bool) -> None:
    """The last of 3,000 tokens are as far off as the first 60: positions and sums are not rounded away."""
    row = tokens(1, LONG)
    with unchecked(), torch.no_grad():
        right = long_model(name).double()(row)
        model = long_model(name)
        with autocast(kind, cast):
            model = model if cast else model.to(kind)
            at_once = model(row)
            memory = model.start(rows=1)
            parts = row.split([LONG - 100, *[1] * 5, 95], 1)
            in_steps = model.head(torch.cat([model.step(part, memory) for part in parts], 1))
    for found in (at_once, in_steps):
        early, late = off(found[:, :SHORT], right[:, :SHORT]), off(found[:, -SHORT:], right[:, -SHORT:])
        assert late < 2 * early + 0.1 * LARGEST[kind], (early, late)
        assert late < LARGEST[kind]


@pytest.mark.parametrize("name", LASTING)
def test_float64_is_float64(name: str) -> None:
    """No part of it goes by way of fewer figures: the fast kernels agree with the naive ones to the last."""
    row, inner = tokens(1, 700), LASTING[name]
    attention = {"attention": inner.get("attention", small("attention", "multihead")) | {"kernel": "naive"}}
    table = small("model", "language_model", decoder=small("decoder", "transformer", **inner | attention))
    with unchecked(), torch.no_grad():
        assert off(long_model(name).double()(row), Case(name, table).build().double()(row)) < LARGEST[torch.float64]
