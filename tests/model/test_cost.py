"""What a model costs: found with numbers or without, and equal to formulas worked out by hand."""

from typing import Any

import pytest
import torch
from torch import nn

from regard.model.assembly import Assembly
from regard.model.build import build
from regard.model.cost import imagined, kept_for_backward
from regard.model.describe import _cost, describe

RECURRENT = {"kind": "recurrent", "layers": 2}


def made(kind: str, **parts: object) -> Assembly:
    sizes = {"source_vocab_size": 11, "target_vocab_size": 11} if kind == "seq2seq" else {"vocab_size": 11}
    found = build({"name": "small", "model": {"kind": kind, "width": 8, **sizes, **parts}})
    assert isinstance(found, Assembly)
    return found


@pytest.mark.parametrize("cell", ["elman", "gru", "lstm"])
@pytest.mark.parametrize("attention", ["none", "additive", "general"])
def test_every_further_row_costs_alike(cell: str, attention: str) -> None:
    decoder = RECURRENT | {"cell": cell, "attention": {"kind": attention}}
    model = made("seq2seq", width=64, encoder=RECURRENT | {"cell": cell}, decoder=decoder)
    two, four, many = (_cost(model, rows, 7) for rows in (2, 4, 9))
    found = two.extended(four, 9)
    assert found.flops == many.flops
    assert found.activations == pytest.approx(many.activations, rel=0.05 if cell == "lstm" else 0)  # it keeps pages
    assert 0 < two.activations < many.activations


def test_to_describe_draws_nothing() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    describe("numbers-gru", length=4, batch=2)
    assert torch.equal(torch.rand(2), wanted)


def test_imagined_and_real_models_cost_the_same() -> None:
    with imagined():
        fake = _cost(made("language_model"), 3, 9)
    real = _cost(made("language_model"), 3, 9)
    assert (fake.flops, fake.activations) == (real.flops, real.activations)


# The formulas. Every multiplication counts two, with the addition that goes with it. No operation is run for them.
WIDTH, WORDS, LENGTH, ROWS = 8, 11, 6, 3
GATES = {"elman": 1, "gru": 3, "lstm": 4}


def product(inside: int, outside: int) -> int:
    """One vector times a matrix."""
    return 2 * inside * outside


def step(cell: str, inside: int = WIDTH, width: int = WIDTH) -> int:
    """One step of a cell: each gate reads the input and the state before."""
    return GATES[cell] * product(inside + width, width)


SQUARE = product(WIDTH, WIDTH)
HEAD = product(WIDTH, WORDS)
PROJECTIONS = 4 * SQUARE  # of queries, keys, values, and of what the heads give
MIX = 2 * product(WIDTH, LENGTH)  # the scores of all keys, and the sum of all values; all heads together
MLP = 2 * product(WIDTH, 4 * WIDTH)
LAYER = PROJECTIONS + MIX + MLP
ADDITIVE = 2 * SQUARE + LENGTH * product(WIDTH, 1) + product(LENGTH, WIDTH)  # Ws, Uh; vᵀtanh of each key; the context
MULTIHEAD = {"kind": "multihead", "heads": 2}
LINEAR = {"kind": "linear", "heads": 2}
LINEAR_MIX = 2 * (2 * product(4, 4) + product(4, 1))  # two heads of width 4: φ(K)ᵀV, φ(Q) times it, and the norm
EXPERTS = {"kind": "experts", "experts": 5, "hidden": 16}


@pytest.mark.parametrize("cell", GATES)
def test_work_of_recurrent_language_models(cell: str) -> None:
    model = made("language_model", decoder=RECURRENT | {"cell": cell})
    assert _cost(model, ROWS, LENGTH).flops == ROWS * LENGTH * (2 * step(cell) + HEAD)


@pytest.mark.parametrize(
    ("decoder", "layer"),
    [
        ({"kind": "convolution", "kernel_size": 3}, product(3 * WIDTH, 2 * WIDTH)),
        ({"attention": MULTIHEAD}, LAYER),
        ({"attention": MULTIHEAD | {"kernel": "naive"}}, LAYER),
        ({"attention": MULTIHEAD | {"kv_heads": 1}}, LAYER - SQUARE),
        ({"attention": "dot"}, MIX + MLP),
        ({"attention": "general"}, SQUARE + MIX + MLP),
        ({"attention": "additive"}, ADDITIVE + MLP),
        ({"attention": LINEAR}, LAYER + LINEAR_MIX),  # causal: within a chunk all weights, across chunks the sums
        ({"attention": MULTIHEAD, "mlp": {"kind": "swiglu", "hidden": 16}}, LAYER - MLP + 3 * product(WIDTH, 16)),
        ({"attention": MULTIHEAD, "mlp": EXPERTS}, LAYER - MLP + product(WIDTH, 5) + 2 * 3 * product(WIDTH, 16)),
        (
            {"attention": MULTIHEAD, "mlp": EXPERTS | {"active": 3, "activation": "relu"}},
            LAYER - MLP + product(WIDTH, 5) + 3 * 2 * product(WIDTH, 16),
        ),
    ],
)
def test_work_of_language_models(decoder: dict[str, Any], layer: int) -> None:
    model = made("language_model", decoder={"kind": "transformer", "layers": 2} | decoder)
    assert _cost(model, ROWS, LENGTH).flops == ROWS * LENGTH * (2 * layer + HEAD)


def both_ways(cell: str) -> int:
    return 2 * step(cell, WIDTH, WIDTH // 2)


@pytest.mark.parametrize("cell", GATES)
def test_work_of_a_fixed_vector(cell: str) -> None:
    one_way = RECURRENT | {"cell": cell, "direction": "forward"}
    model = made("seq2seq", encoder=one_way, decoder=RECURRENT | {"cell": cell})
    assert _cost(model, ROWS, LENGTH).flops == ROWS * LENGTH * (4 * step(cell) + HEAD)
    every_step = {"kind": "recurrent", "cell": cell, "context": "every_step"}  # tanh(W[c;h]) is its readout
    model = made("seq2seq", encoder={"kind": "recurrent", "cell": cell}, decoder=every_step)
    wanted = both_ways(cell) + step(cell, 2 * WIDTH) + product(2 * WIDTH, WIDTH) + HEAD
    assert _cost(model, ROWS, LENGTH).flops == ROWS * LENGTH * wanted


@pytest.mark.parametrize(("attention", "look"), [("additive", ADDITIVE), ("general", SQUARE + MIX), ("dot", MIX)])
@pytest.mark.parametrize(("order", "fed"), [("bahdanau", WIDTH), ("luong", 0), ("luong_feeding", WIDTH)])
def test_work_of_attention_on_recurrent_networks(attention: str, look: int, order: str, fed: int) -> None:
    decoder = {"kind": "recurrent", "cell": "gru", "attention": attention, "order": order}
    model = made("seq2seq", encoder={"kind": "recurrent", "cell": "gru"}, decoder=decoder)
    wanted = both_ways("gru") + step("gru", WIDTH + fed) + look + product(2 * WIDTH, WIDTH) + HEAD
    assert _cost(model, ROWS, LENGTH).flops == ROWS * LENGTH * wanted


@pytest.mark.parametrize(
    ("stack", "cross", "wanted"),
    [
        ({"kind": "transformer", "attention": MULTIHEAD}, MULTIHEAD, 2 * LAYER + PROJECTIONS + MIX),
        ({"kind": "transformer", "attention": LINEAR}, LINEAR, 2 * MLP + 3 * (PROJECTIONS + LINEAR_MIX) + MIX),
        ({"kind": "convolution", "kernel_size": 3}, None, 2 * product(3 * WIDTH, 2 * WIDTH) + MIX),
    ],
    ids=["transformer", "linear", "convolution"],
)
def test_work_of_translators(stack: dict[str, Any], cross: dict[str, Any] | None, wanted: int) -> None:
    stack = stack | {"layers": 1}
    model = made("seq2seq", encoder=stack, decoder=stack | ({"cross": cross} if cross else {}))
    assert _cost(model, ROWS, LENGTH).flops == ROWS * LENGTH * (wanted + HEAD)


def convolution(side: int, inside: int, outside: int, pixels: int) -> int:
    """`pixels` numbers of each outgoing channel, each from side × side numbers of each incoming one."""
    return pixels * product(side * side * inside, outside)


def test_work_of_a_vision_transformer() -> None:
    """Nine patches of 4×4×3 numbers and [CLS] are ten positions; the last layer answers for [CLS] alone."""
    encoder = {"kind": "transformer", "layers": 2, "attention": MULTIHEAD}
    body = {"kind": "patches", "width": WIDTH, "patch": 4, "encoder": encoder}
    model = build({"name": "small", "model": {"kind": "image_classifier", "size": 12, "classes": 5, "body": body}})
    mix = 2 * product(WIDTH, 10)
    first, last = 10 * (PROJECTIONS + mix + MLP), 10 * 2 * SQUARE + 2 * SQUARE + mix + MLP
    assert _cost(model, ROWS, 1).flops == ROWS * (9 * product(48, WIDTH) + first + last + product(WIDTH, 5))


def test_work_of_a_resnet() -> None:
    """A stage of one block at 12×12 pixels, and one at 6×6 whose way around is a convolution, too."""
    body = {"kind": "resnet", "width": 4, "blocks": 1, "stages": 2}
    model = build({"name": "small", "model": {"kind": "image_classifier", "size": 12, "classes": 5, "body": body}})
    stem, first = convolution(3, 3, 4, 144), 2 * convolution(3, 4, 4, 144)
    second = convolution(3, 4, 8, 36) + convolution(3, 8, 8, 36) + convolution(1, 4, 8, 36)
    assert _cost(model, ROWS, 1).flops == ROWS * (stem + first + second + product(8, 5))


@pytest.mark.parametrize(("skips", "beside"), [("concatenate", 2), ("none", 1)])
def test_work_of_a_unet(skips: str, beside: int) -> None:
    """Down from 8×8 pixels to 4×4, and up again past what was seen on the way or not."""
    sizes = {"width": 4, "scales": 2, "blocks": 1, "channels": 1, "size": 8}
    model = build({"name": "small", "model": {"kind": "image_restorer", "skips": skips} | sizes})
    down = convolution(3, 1, 4, 64) + 2 * convolution(3, 4, 4, 64)
    below = convolution(3, 4, 8, 16) + convolution(3, 8, 8, 16) + convolution(1, 4, 8, 16)
    up = convolution(1, 8, 4, 16) + convolution(3, 4 * beside, 4, 64) + convolution(3, 4, 4, 64)
    around = convolution(1, 8, 4, 64) if skips == "concatenate" else 0
    assert _cost(model, ROWS, 1).flops == ROWS * (down + below + up + around + convolution(1, 4, 1, 64))


def test_the_description_of_a_recipe() -> None:
    """Two LSTM layers of width 64, and 8,000 words."""
    found = describe("lstm-lm", "model.width=64", length=4, batch=3)
    assert found.flops_per_token == 2 * step("lstm", 64, 64) + product(64, 8000)


def test_bytes_kept_for_the_backward_pass() -> None:
    """x for the first product; relu(h) once, although ReLU and the second product both need it; no weight."""
    mlp = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    x = torch.randn(5, 8, requires_grad=True)
    assert kept_for_backward(lambda: mlp(x), mlp) == 4 * (5 * 8 + 5 * 32)


def test_bytes_kept_by_whole_models() -> None:
    """Flash keeps what grows with n; naive keeps the n×n weights of each head too, before and after masking.

    The second difference in n leaves nothing of what grows with n. A number takes four bytes, a mask's one.
    """
    decoder = {"kind": "transformer", "layers": 2}

    def kept(length: int, kernel: str) -> int:
        attention = MULTIHEAD | {"kernel": kernel}
        return _cost(made("language_model", decoder=decoder | {"attention": attention}), ROWS, length).activations

    def bend(kernel: str) -> int:
        return kept(16, kernel) - 2 * kept(32, kernel) + kept(48, kernel)

    assert bend("auto") == 0
    assert bend("naive") == 2 * 16**2 * 2 * (2 * 4 * ROWS * 2 + 1)
