"""Notes, part A: recurrent models."""

import pytest
import torch
from measures import filled, language_model, made, model, parameters, reach
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.mask import Mask
from regard.model.recurrent import Cell, Elman, Gru, Lstm

CELLS = {"elman": (Elman, nn.RNN), "lstm": (Lstm, nn.LSTM), "gru": (Gru, nn.GRU)}


def with_weights_of(cell: Cell, kind: type[nn.RNNBase]) -> nn.RNNBase:
    """torch's module of the same kind with the same weights."""
    theirs = kind(cell.weight_ih.shape[1], cell.width, batch_first=True)
    with torch.no_grad():
        for name, weight in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), cell.weights(), strict=True):
            getattr(theirs, f"{name}_l0").copy_(weight)
    return theirs


def by_steps(cell: Cell, x: Tensor) -> Tensor:
    """The cell's own formula, one step after another."""
    state, outputs = cell.zero(x), []
    for projected in cell.project(x).unbind(1):
        state = cell.step(projected, state)
        outputs.append(state[0])
    return torch.stack(outputs, 1)


def by_formula(x: Tensor, past: Tensor, weights: list[list[Tensor]]) -> Tensor:
    """h_t = tanh(W_x x_t + W_h h_{t-1} + b), with weights that may be given for every step apart."""
    outputs = []
    for step, (into, over, *biases) in zip(x.unbind(1), weights, strict=True):
        past = torch.tanh(step @ into.T + past @ over.T + sum(biases))
        outputs.append(past)
    return torch.stack(outputs, 1)


def check_against_torch(name: str) -> None:
    ours, theirs = CELLS[name]
    cell, x = filled(ours(3, 5)), torch.randn(2, 7, 3)
    copied = with_weights_of(cell, theirs)
    expected = copied(x)[0]
    fused, _ = cell.run(x, cell.zero(x))
    assert_close(by_steps(cell, x), expected, atol=1e-6, rtol=1e-6)
    assert_close(fused, expected, atol=1e-6, rtol=1e-6)
    push = torch.randn_like(expected)
    wanted = torch.autograd.grad((expected * push).sum(), list(copied.parameters()))
    given = torch.autograd.grad((by_steps(cell, x) * push).sum(), cell.weights())
    for own, other in zip(given, wanted, strict=True):
        assert_close(own, other, atol=1e-5, rtol=1e-5)


def test_001_elman_is_the_formula_of_the_notes_and_torch_rnn():
    cell, x = filled(Elman(3, 5)), torch.randn(2, 7, 3)
    expected = by_formula(x, torch.zeros(2, 5), [cell.weights()] * 7)
    assert_close(by_steps(cell, x), expected, atol=1e-6, rtol=1e-6)
    assert_close(cell.run(x, cell.zero(x))[0], expected, atol=1e-6, rtol=1e-6)
    check_against_torch("elman")


@pytest.mark.parametrize("cell", CELLS)
def test_002_no_state_depends_on_a_later_input_and_all_depend_on_every_earlier_one(cell: str):
    encoder = made("encoder", {"kind": "recurrent", "cell": cell, "direction": "forward"}, 6)
    x = torch.randn(2, 7, 6, requires_grad=True)
    assert torch.equal(reach(encoder(x, Mask()).states, x), torch.ones(7, 7).tril().bool())


def test_002_read_in_both_directions_every_state_sees_all_inputs():
    encoder = made("encoder", {"kind": "recurrent", "direction": "both"}, 6)
    x = torch.randn(2, 7, 6, requires_grad=True)
    assert reach(encoder(x, Mask()).states, x).all()


def test_003_one_set_of_weights_serves_all_steps():
    cell, x = filled(Elman(3, 5)), torch.randn(2, 6, 3)
    copies = [[weight.detach().clone().requires_grad_() for weight in cell.weights()] for _ in range(6)]
    by_formula(x, torch.zeros(2, 5), copies).square().sum().backward()
    by_steps(cell, x).square().sum().backward()
    for i, weight in enumerate(cell.weights()):
        shared = sum(copy[i].grad for copy in copies)
        assert_close(weight.grad, shared, atol=1e-5, rtol=1e-5)
    assert parameters(cell) == 5 * 3 + 5 * 5 + 2 * 5  # no T anywhere


@pytest.mark.parametrize("cell", CELLS)
def test_004_another_order_of_the_input_gives_another_summary(cell: str):
    encoder = made("encoder", {"kind": "recurrent", "cell": cell, "direction": "forward"}, 6)
    x = torch.randn(1, 5, 6)
    there, back = (encoder(order, Mask()).summary() for order in (x, x.flip(1)))
    assert (there - back).abs().max() > 1e-2


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("cell", CELLS)
def test_005_a_padded_row_equals_the_row_alone(cell: str, direction: str):
    encoder = made("encoder", {"kind": "recurrent", "cell": cell, "direction": direction, "layers": 2}, 6)
    lengths = torch.tensor([3, 7, 1])
    x = torch.randn(3, 7, 6)
    together = encoder(x, Mask(key_lengths=lengths))
    for row, length in enumerate(lengths.tolist()):
        alone = encoder(x[row : row + 1, :length], Mask())
        assert_close(together.states[row : row + 1, :length], alone.states, atol=1e-6, rtol=1e-6)
        assert_close(together.summary()[row], alone.summary()[0], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_006_the_summary_of_the_past_has_a_fixed_size(cell: str):
    recurrent = model(
        "language_model", vocab_size=11, width=8, tie_embeddings="none", decoder={"kind": "recurrent", "cell": cell}
    )
    sizes = [bytes_after(recurrent, steps) for steps in (2, 50)]
    assert sizes[0] == sizes[1] > 0
    attentive = language_model(width=8)
    assert bytes_after(attentive, 50) == 25 * bytes_after(attentive, 2)


def bytes_after(writer: nn.Module, steps: int) -> int:
    memory = writer.start(rows=1)
    writer.step(torch.randint(11, (1, steps)), memory)
    return memory.nbytes


def test_006_recall_falls_as_more_items_must_be_held():
    """Of a random network with 8 hidden units the best linear reader gets back no more than 8 items."""
    width, lags = 8, 24
    cell = filled(Elman(1, width), 0.0)
    with torch.no_grad():
        cell.weight_hh.copy_(0.7 * torch.linalg.qr(torch.randn(width, width)).Q)
        nn.init.normal_(cell.weight_ih, std=0.05)
        x = torch.randn(1, 6000, 1)
        states = cell.run(x, cell.zero(x))[0][0, lags:].double()
    recalled = torch.tensor([share_explained(states, x[0, lags - lag : 6000 - lag].double()) for lag in range(lags)])
    few, some, many, most = (float(recalled[:items].mean()) for items in (2, 8, 16, 24))
    assert few > 0.98
    assert few > some > many > most
    assert most < 0.35
    assert recalled.sum() < width * 1.02


def share_explained(states: Tensor, wanted: Tensor) -> float:
    guess = states @ torch.linalg.lstsq(states, wanted).solution
    return 1 - float((guess - wanted).var() / wanted.var())


def test_007_gradients_unfolded_by_hand_equal_autograd():
    cell, x = filled(Elman(3, 5)), torch.randn(2, 6, 3)
    states, pushes = by_steps(cell, x), torch.randn(2, 6, 5)
    wanted = unfolded(cell, x, states.detach(), pushes)
    for outputs in (states, cell.run(x, cell.zero(x))[0]):
        given = torch.autograd.grad((outputs * pushes).sum(), cell.weights()[:3])
        for own, hand in zip(given, wanted, strict=True):
            assert_close(own, hand, atol=1e-5, rtol=1e-6)


def unfolded(cell: Elman, x: Tensor, states: Tensor, pushes: Tensor) -> list[Tensor]:
    """From the last step to the first: δ_t = (push_t + δ_{t+1} W_h) ⊙ (1 - h_t²)."""
    into, over, bias = (torch.zeros_like(weight) for weight in cell.weights()[:3])
    coming = torch.zeros_like(states[:, 0])
    for step in reversed(range(x.shape[1])):
        delta = (pushes[:, step] + coming) * (1 - states[:, step] ** 2)
        past = states[:, step - 1] if step else torch.zeros_like(coming)
        into, over, bias = into + delta.T @ x[:, step], over + delta.T @ past, bias + delta.sum(0)
        coming = delta @ cell.weight_hh.detach()
    return [into, over, bias]


def test_012_lstm_equals_torch_lstm_with_the_same_weights():
    check_against_torch("lstm")


def test_013_gru_equals_torch_gru_with_the_same_weights():
    check_against_torch("gru")
