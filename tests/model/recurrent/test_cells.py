"""Cells: the step of the notes, torch's fused kernel and the gradient through time are one."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.model.mask import Mask
from regard.model.menu import MENU
from regard.model.recurrent import Cell, Elman, Gru, Lstm
from regard.model.recurrent.sweep import sweep, turned
from regard.model.stack import DecoderSite, State

ROWS, STEPS, INPUT, WIDTH = 3, 7, 4, 5
VALUES, GRADIENTS = 1e-6, 1e-5

Run = Callable[[Cell, Tensor, State], tuple[Tensor, State]]


def by_step(cell: Cell, x: Tensor, state: State) -> tuple[Tensor, State]:
    hidden = []
    for projected in cell.project(x).unbind(1):
        state = cell.step(projected, state)
        hidden.append(state[0])
    return torch.stack(hidden, 1), state


def at_once(cell: Cell, x: Tensor, state: State) -> tuple[Tensor, State]:
    return cell.run(x, state)


def by_hand(cell: Cell, x: Tensor, state: State) -> tuple[Tensor, State]:
    hidden = []
    for each in x.unbind(1):
        state = FORMULAS[type(cell)](gates(cell, each, state[0]), state)
        hidden.append(state[0])
    return torch.stack(hidden, 1), state


def gates(cell: Cell, x: Tensor, hidden: Tensor) -> list[tuple[Tensor, Tensor]]:
    """What the input and what the past say to each gate."""
    pieces = zip(*(weight.split(cell.width) for weight in cell.weights()), strict=True)
    return [(x @ w.T + b, hidden @ u.T + c) for w, u, b, c in pieces]


def elman(said: list[tuple[Tensor, Tensor]], state: State) -> State:
    return (torch.tanh(sum(said[0])),)


def lstm(said: list[tuple[Tensor, Tensor]], state: State) -> State:
    i, f, g, o = (x + past for x, past in said)
    cell = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def gru(said: list[tuple[Tensor, Tensor]], state: State) -> State:
    (reset, past_reset), (keep, past_keep), (new, past_new) = said
    r, z = torch.sigmoid(reset + past_reset), torch.sigmoid(keep + past_keep)
    return ((1 - z) * torch.tanh(new + r * past_new) + z * state[0],)


FORMULAS = {Elman: elman, Lstm: lstm, Gru: gru}
TORCH = {Elman: nn.RNN, Lstm: nn.LSTM, Gru: nn.GRU}
every_cell = pytest.mark.parametrize("kind", [Elman, Lstm, Gru], ids=["elman", "lstm", "gru"])
every_way = pytest.mark.parametrize("run", [by_step, at_once], ids=["step", "run"])


def fresh(kind: type[Cell]) -> Cell:
    torch.manual_seed(1)
    cell = kind(INPUT, WIDTH)
    for weight in cell.parameters():
        nn.init.normal_(weight, std=0.5)
    return cell


def inputs(steps: int = STEPS, rows: int = ROWS) -> Tensor:
    return torch.randn(rows, steps, INPUT, generator=torch.Generator().manual_seed(2), requires_grad=True)


def begun(cell: Cell, rows: int = ROWS) -> State:
    noise = torch.Generator().manual_seed(3)
    return tuple(torch.randn(rows, cell.width, generator=noise, requires_grad=True) for _ in range(cell.states))


def weighed(found: Sequence[Tensor]) -> Tensor:
    """A loss in which every number counts differently."""
    return sum((each * torch.linspace(-1, 1.5, each.numel()).view_as(each)).sum() for each in found)


def agree(found: Sequence[Tensor], wanted: Sequence[Tensor], tolerance: float) -> None:
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance)


def counterpart(cell: Cell) -> nn.RNNBase:
    module = TORCH[type(cell)](INPUT, WIDTH, batch_first=True)
    module.load_state_dict({f"{name}_l0": weight for name, weight in cell.named_parameters()})
    return module


def unpaired(final: Tensor | tuple[Tensor, Tensor]) -> State:
    return tuple(part[0] for part in (final if isinstance(final, tuple) else (final,)))


def paired(state: State) -> Tensor | tuple[Tensor, ...]:
    parts = tuple(part[None] for part in state)
    return parts if len(parts) == 2 else parts[0]


@every_cell
@every_way
def test_a_cell_equals_its_formula(kind: type[Cell], run: Run) -> None:
    cell, x = fresh(kind), inputs()
    state = begun(cell)
    (out, last), (wanted, wanted_last) = run(cell, x, state), by_hand(cell, x, state)
    agree([out, *last], [wanted, *wanted_last], VALUES)
    leaves = [x, *state, *cell.weights()]
    agree(
        torch.autograd.grad(weighed([out, *last]), leaves),
        torch.autograd.grad(weighed([wanted, *wanted_last]), leaves),
        GRADIENTS,
    )


@every_cell
@every_way
def test_a_cell_equals_torch_with_copied_weights(kind: type[Cell], run: Run) -> None:
    cell, x = fresh(kind), inputs()
    module, state = counterpart(cell), begun(cell)
    (out, last), (wanted, final) = run(cell, x, state), module(x, paired(state))
    agree([out, *last], [wanted, *unpaired(final)], VALUES)
    agree(
        torch.autograd.grad(weighed([out, *last]), [x, *state, *cell.weights()]),
        torch.autograd.grad(weighed([wanted, *unpaired(final)]), [x, *state, *module.parameters()]),
        GRADIENTS,
    )


@every_cell
def test_run_equals_a_loop_of_steps(kind: type[Cell]) -> None:
    cell, x = fresh(kind), inputs(40)
    state = begun(cell)
    (out, last), (wanted, wanted_last) = at_once(cell, x, state), by_step(cell, x, state)
    agree([out, *last], [wanted, *wanted_last], VALUES)


@every_cell
def test_run_goes_on_where_it_stopped(kind: type[Cell]) -> None:
    cell, x = fresh(kind), inputs()
    whole, last = cell.run(x, cell.zero(x))
    early, middle = cell.run(x[:, :3], cell.zero(x))
    late, end = cell.run(x[:, 3:], middle)
    agree([torch.cat([early, late], 1), *end], [whole, *last], VALUES)


RAGGED = [[7, 2, 5, 7, 1], [3, 3, 3, 3, 3], [1, 2, 3, 4, 6]]
ragged = pytest.mark.parametrize("lengths", RAGGED, ids=str)


@every_cell
@ragged
def test_sweep_equals_each_row_alone(kind: type[Cell], lengths: list[int]) -> None:
    cell, x = fresh(kind), inputs(rows=5)
    state = begun(cell, 5)
    out, last = sweep(cell, x, torch.tensor(lengths), state)
    alone, finals = torch.zeros(5, STEPS, WIDTH), [torch.zeros(5, WIDTH) for _ in state]
    for row, length in enumerate(lengths):
        alone[row, :length], final = by_step(cell, x[row : row + 1, :length], tuple(part[row, None] for part in state))
        for all_rows, part in zip(finals, final, strict=True):
            all_rows[row] = part
    agree([out, *last], [alone, *finals], VALUES)
    leaves = [x, *state, *cell.weights()]
    agree(
        torch.autograd.grad(weighed([out, *last]), leaves),
        torch.autograd.grad(weighed([alone, *finals]), leaves),
        GRADIENTS,
    )


@every_cell
@ragged
def test_sweep_equals_packed_torch(kind: type[Cell], lengths: list[int]) -> None:
    cell, x = fresh(kind), inputs(rows=5)
    module, state = counterpart(cell), begun(cell, 5)
    out, last = sweep(cell, x, torch.tensor(lengths), state)
    packed, final = module(pack_padded_sequence(x, torch.tensor(lengths), True, False), paired(state))
    wanted, _ = pad_packed_sequence(packed, True, total_length=STEPS)
    agree([out, *last], [wanted, *unpaired(final)], VALUES)
    agree(
        torch.autograd.grad(weighed([out, *last]), [x, *state, *cell.weights()]),
        torch.autograd.grad(weighed([wanted, *unpaired(final)]), [x, *state, *module.parameters()]),
        GRADIENTS,
    )


@every_cell
def test_sweep_without_lengths_reads_every_step(kind: type[Cell]) -> None:
    cell, x = fresh(kind), inputs()
    (out, last), (wanted, final) = sweep(cell, x, None), sweep(cell, x, torch.full((ROWS,), STEPS))
    agree([out, *last], [wanted, *final], VALUES)


@every_cell
@pytest.mark.parametrize("lengths", [[4, 0, 7], [0, 0, 0]], ids=str)
def test_an_empty_row_keeps_its_state(kind: type[Cell], lengths: list[int]) -> None:
    cell, x = fresh(kind), inputs()
    state = begun(cell)
    out, last = sweep(cell, x, torch.tensor(lengths), state)
    assert out.shape == (ROWS, STEPS, WIDTH)
    for row in (row for row, length in enumerate(lengths) if length == 0):
        assert not out[row].any()
        assert all(torch.equal(new[row], old[row]) for new, old in zip(last, state, strict=True))


def test_turned_reverses_only_what_is_real() -> None:
    x = torch.arange(10.0).view(2, 5, 1)
    assert turned(x, torch.tensor([3, 5])).squeeze(-1).tolist() == [[2, 1, 0, 3, 4], [9, 8, 7, 6, 5]]
    assert torch.equal(turned(x, None), x.flip(1))


@every_way
def test_the_unfolded_gradient_of_elman_equals_autograd(run: Run) -> None:
    """δ_t = (∂L/∂h_t + W_hᵀ δ_{t+1}) ⊙ (1 - h_t²), and every weight gathers from all steps."""
    cell, x = fresh(Elman), inputs()
    (first,) = state = begun(cell)
    hidden, _ = run(cell, x, state)
    outside = torch.linspace(-0.1, 0.1, hidden.numel()).view_as(hidden)
    before = torch.cat([first[:, None], hidden[:, :-1]], 1)
    by_input, by_past, by_bias = torch.zeros(WIDTH, INPUT), torch.zeros(WIDTH, WIDTH), torch.zeros(WIDTH)
    by_x, arriving = torch.zeros_like(x), torch.zeros(ROWS, WIDTH)
    for t in reversed(range(STEPS)):
        delta = (outside[:, t] + arriving) * (1 - hidden[:, t] ** 2)
        by_input += delta.T @ x[:, t]
        by_past += delta.T @ before[:, t]
        by_bias += delta.sum(0)
        by_x[:, t] = delta @ cell.weight_ih
        arriving = delta @ cell.weight_hh
    found = torch.autograd.grad((hidden * outside).sum(), [*cell.weights(), x, first])
    agree(found, [by_input, by_past, by_bias, by_bias, by_x, arriving], 1e-6)


@every_cell
def test_a_shared_weight_gathers_the_gradients_of_every_step(kind: type[Cell]) -> None:
    cell, x = fresh(kind), inputs()
    copies = [fresh(kind) for _ in range(STEPS)]
    state, hidden = cell.zero(x), []
    for each, now in zip(copies, x.unbind(1), strict=True):
        state = each.step(each.project(now), state)
        hidden.append(state[0])
    weighed([torch.stack(hidden, 1)]).backward()
    weighed([cell.run(x, cell.zero(x))[0]]).backward()
    for name, weight in cell.named_parameters():
        unfolded = [each.get_parameter(name).grad for each in copies]
        assert not torch.allclose(unfolded[0], unfolded[-1])
        torch.testing.assert_close(weight.grad, torch.stack(unfolded).sum(0), rtol=0, atol=GRADIENTS)


@every_cell
def test_the_number_of_weights_does_not_depend_on_the_steps(kind: type[Cell]) -> None:
    cell = fresh(kind)
    assert sum(weight.numel() for weight in cell.parameters()) == cell.gates * WIDTH * (INPUT + WIDTH + 2)
    for steps in (1, 3, 60):
        assert cell.run(inputs(steps), begun(cell))[0].shape == (ROWS, steps, WIDTH)


@every_cell
@every_way
def test_a_state_depends_on_the_past_and_never_on_the_future(kind: type[Cell], run: Run) -> None:
    cell, x = fresh(kind), inputs()
    hidden, _ = run(cell, x, cell.zero(x))
    for t in range(STEPS):
        (slope,) = torch.autograd.grad(hidden[:, t].sum(), x, retain_graph=True)
        assert not slope[:, t + 1 :].any()
        assert slope[:, : t + 1].abs().sum((0, 2)).all()


@every_cell
def test_the_order_of_the_inputs_matters(kind: type[Cell]) -> None:
    cell, x = fresh(kind), inputs()
    forth, back = (cell.run(each, cell.zero(x))[1][0] for each in (x, x.flip(1)))
    assert (forth - back).abs().max() > 0.01


@every_cell
def test_the_state_takes_the_same_bytes_after_any_number_of_steps(kind: type[Cell]) -> None:
    cell = fresh(kind)
    sizes = {steps: [part.nbytes for part in cell.run(inputs(steps), begun(cell))[1]] for steps in (1, 3, 300)}
    assert all(size == [ROWS * WIDTH * 4] * cell.states for size in sizes.values())


@pytest.mark.parametrize("kind", ["elman", "lstm", "gru"])
def test_the_memory_of_a_recurrent_decoder_does_not_grow(kind: str) -> None:
    decoder = MENU.order("decoder", {"kind": "recurrent", "cell": kind, "layers": 2}, "decoder").build(
        DecoderSite(WIDTH)
    )
    for weight in decoder.parameters():
        nn.init.normal_(weight, std=0.5)
    memory = decoder.start(None, ROWS)
    before = memory.nbytes
    for steps in (1, 2, 50):
        decoder(torch.zeros(ROWS, steps, WIDTH), None, Mask(), memory)
    assert memory.length == 53
    assert memory.nbytes == before == 2 * ROWS * WIDTH * 4 * decoder.cells[0].states
