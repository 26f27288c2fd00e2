"""Recurrent stacks equal torch's, layer upon layer and in both directions, on ragged rows."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.model.mask import Mask
from regard.model.menu import MENU
from regard.model.stack import DecoderSite, State

ROWS, STEPS, WIDTH, LAYERS = 4, 6, 8, 2
LENGTHS = torch.tensor([4, 6, 1, 4])
TORCH = {"elman": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}

every_cell = pytest.mark.parametrize("cell", TORCH)
each_direction = pytest.mark.parametrize("direction", ["forward", "both"])
with_and_without_padding = pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "ragged"])


def counterpart(cell: str, ways: int) -> nn.RNNBase:
    torch.manual_seed(1)
    module = TORCH[cell](WIDTH, WIDTH // ways, LAYERS, batch_first=True, bidirectional=ways == 2)
    for weight in module.parameters():
        nn.init.normal_(weight, std=0.4)
    return module


def name_in_torch(name: str) -> str:
    """`layers.1.0.weight_ih` and `cells.1.weight_ih` are both `weight_ih_l1`."""
    _, layer, *way, weight = name.split(".")
    return f"{weight}_l{layer}" + ("_reverse" if way == ["1"] else "")


def copy(module: nn.RNNBase, stack: nn.Module) -> None:
    assert {name_in_torch(name) for name, _ in stack.named_parameters()} == {n for n, _ in module.named_parameters()}
    with torch.no_grad():
        for name, weight in stack.named_parameters():
            weight.copy_(module.get_parameter(name_in_torch(name)))


def run(module: nn.RNNBase, x: Tensor, lengths: Tensor | None) -> tuple[Tensor, list[State]]:
    """Outputs and, by layer, the final states of both directions side by side."""
    if lengths is None:
        out, final = module(x)
    else:
        packed, final = module(pack_padded_sequence(x, lengths, True, False))
        out, _ = pad_packed_sequence(packed, True, total_length=STEPS)
    parts = final if isinstance(final, tuple) else (final,)
    layers = [part.unflatten(0, (LAYERS, -1)).transpose(1, 2).flatten(2) for part in parts]
    return out, list(zip(*layers, strict=True))


def loss(out: Tensor, final: list[State]) -> Tensor:
    every = [out, *(part for state in final for part in state)]
    return sum((each * torch.linspace(-1, 1.5, each.numel()).view_as(each)).sum() for each in every)


def agree_in_gradients(stack: nn.Module, module: nn.RNNBase, x: Tensor, losses: tuple[Tensor, Tensor]) -> None:
    names = [name for name, _ in stack.named_parameters()]
    found = torch.autograd.grad(losses[0], [x, *stack.parameters()])
    wanted = torch.autograd.grad(losses[1], [x, *(module.get_parameter(name_in_torch(name)) for name in names)])
    for name, one, other in zip(["x", *names], found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}")


@every_cell
@each_direction
@with_and_without_padding
def test_a_recurrent_encoder_equals_torch_with_copied_weights(
    cell: str, direction: str, lengths: Tensor | None
) -> None:
    table = {"kind": "recurrent", "cell": cell, "layers": LAYERS, "direction": direction}
    encoder = MENU.order("encoder", table, "encoder").build(WIDTH)
    module = counterpart(cell, 2 if direction == "both" else 1)
    copy(module, encoder)
    x = torch.randn(ROWS, STEPS, WIDTH, requires_grad=True)
    encoded, (wanted, final) = encoder(x, Mask(key_lengths=lengths)), run(module, x, lengths)
    torch.testing.assert_close(encoded.states, wanted, rtol=0, atol=1e-6)
    torch.testing.assert_close(list(encoded.final), final, rtol=0, atol=1e-6)
    torch.testing.assert_close(encoded.summary(), final[-1][0], rtol=0, atol=1e-6)
    agree_in_gradients(encoder, module, x, (loss(encoded.states, list(encoded.final)), loss(wanted, final)))


@every_cell
@with_and_without_padding
def test_a_backward_encoder_is_torch_s_on_every_row_from_its_end(cell: str, lengths: Tensor | None) -> None:
    table = {"kind": "recurrent", "cell": cell, "layers": LAYERS, "direction": "backward"}
    encoder = MENU.order("encoder", table, "encoder").build(WIDTH)
    module = counterpart(cell, 1)
    copy(module, encoder)
    x = torch.randn(ROWS, STEPS, WIDTH)
    ends = [STEPS] * ROWS if lengths is None else lengths.tolist()

    def from_the_end(rows: Tensor) -> Tensor:
        return torch.stack([torch.cat([row[:end].flip(0), row[end:]]) for row, end in zip(rows, ends, strict=True)])

    encoded, (wanted, final) = encoder(x, Mask(key_lengths=lengths)), run(module, from_the_end(x), lengths)
    torch.testing.assert_close(encoded.states, from_the_end(wanted), rtol=0, atol=1e-6)
    torch.testing.assert_close(list(encoded.final), final, rtol=0, atol=1e-6)


@every_cell
def test_a_recurrent_decoder_without_a_source_equals_torch_with_copied_weights(cell: str) -> None:
    decoder = MENU.order("decoder", {"kind": "recurrent", "cell": cell, "layers": LAYERS}, "decoder").build(
        DecoderSite(WIDTH)
    )
    module = counterpart(cell, 1)
    copy(module, decoder)
    x = torch.randn(ROWS, STEPS, WIDTH, requires_grad=True)
    memory = decoder.start(None, ROWS)
    out, (wanted, final) = decoder(x, None, Mask(), memory), run(module, x, None)
    states = [entry.held for entry in memory.held()]
    torch.testing.assert_close(out, wanted, rtol=0, atol=1e-6)
    torch.testing.assert_close(states, final, rtol=0, atol=1e-6)
    agree_in_gradients(decoder, module, x, (loss(out, states), loss(wanted, final)))
