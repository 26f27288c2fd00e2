"""Eight-bit products: exact where nothing needs rounding, near elsewhere, never over the edge of 16 bits."""

import pytest
import torch
from torch import nn

from regard.errors import InputError
from regard.model.assembly import Seq2Seq
from regard.model.build import build
from regard.model.head import select_rows
from regard.model.quantize import BLOCK, FINEST, MOST, QuantizedLinear, quantize


def linear(wide: int, out: int, bias: bool = True, seed: int = 1) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(wide, out, bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("wide", [5, 64, 300])
def test_the_product_of_operands_that_need_no_rounding_is_exact(wide: int, bias: bool) -> None:
    """All on steps of powers of two, from end to end of their ranges: not a bit may be lost."""
    plain, maker = linear(wide, 40, bias), torch.Generator().manual_seed(2)
    weight = torch.randint(-MOST, MOST + 1, (40, wide), generator=maker)
    weight[:, 0] = MOST
    x = torch.randint(-FINEST, FINEST + 1, (3, 7, wide), generator=maker)
    x[..., 0] = FINEST
    with torch.no_grad():
        plain.weight.copy_(weight * 2.0 ** (torch.arange(40) % 5 - 6)[:, None])
        if plain.bias is not None:
            plain.bias.copy_(torch.arange(40) / 8 - 2)
        wanted = plain.double()(x.double() / 32).float()
    eight = QuantizedLinear.of(plain.float())
    torch.testing.assert_close(eight(x / 32), wanted, rtol=1e-6, atol=1e-5)  # a step of a weight would be 1e-3


@pytest.mark.parametrize("wide", [5, 64, 300])
def test_what_comes_in_is_off_by_half_a_step_at_most(wide: int) -> None:
    eight, x = QuantizedLinear.of(linear(wide, 40, bias=False)), torch.randn(3, 7, wide)
    scales = (eight.weight().abs().amax(1) / MOST)[:, None]
    weight = ((eight.weight() / scales).round() * scales).double()
    step = x.abs().amax(-1, keepdim=True).double() / FINEST
    off = (eight(x).double() - x.double() @ weight.T).abs()
    assert (off <= 0.501 * step * weight.abs().sum(1)).all()


@pytest.mark.parametrize("wide", [5, BLOCK, 2 * BLOCK + 7])
def test_weights_are_rounded_block_by_block_to_half_a_step(wide: int) -> None:
    """A weight that sticks out spoils no more than its block."""
    plain = linear(wide, 40)
    with torch.no_grad():
        plain.weight[3] *= 100
        plain.weight[4] = 0
        plain.weight[5, 2] = 50
    eight = QuantizedLinear.of(plain)
    assert int(eight.rows.abs().max()) == FINEST
    assert eight.rows.shape == plain.weight.shape
    for one, other in zip(eight.weight().split(BLOCK, 1), plain.weight.split(BLOCK, 1), strict=True):
        assert ((one - other).abs().amax(1) <= 0.501 * other.abs().amax(1) / FINEST).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_sum_of_two_products_is_cut_off(sign: float) -> None:
    """Operands as large as they come: instructions that add pairs in 16 bits would saturate above 32,767."""
    plain = linear(512, 16, bias=False)
    with torch.no_grad():
        plain.weight.fill_(sign)
    torch.testing.assert_close(QuantizedLinear.of(plain)(torch.ones(4, 512)), torch.full((4, 16), 512 * sign))


def test_what_comes_out_is_near_the_product_in_float() -> None:
    plain = linear(256, 1000)
    x = torch.randn(320, 256)
    wanted = plain(x).detach()
    off = (QuantizedLinear.of(plain)(x) - wanted).pow(2).mean().sqrt() / wanted.std()
    assert float(off) < 0.02


@pytest.mark.parametrize("eight", [False, True])
def test_a_narrowed_head_gives_the_same_numbers_for_fewer_words(eight: bool) -> None:
    plain = linear(32, 100)
    head = QuantizedLinear.of(plain) if eight else plain
    x, chosen = torch.randn(6, 32), torch.tensor([0, 1, 7, 50, 99])
    torch.testing.assert_close(select_rows(head, chosen)(x), head(x)[:, chosen], rtol=0, atol=1e-6)


def test_every_linear_layer_of_a_model_is_rounded_and_nothing_else() -> None:
    model = build("transformer-tiny", "model.source_vocab_size=50", "model.target_vocab_size=50").eval()
    assert isinstance(model, Seq2Seq)
    source, target = torch.randint(4, 50, (3, 6)), torch.randint(4, 50, (3, 5))
    with torch.inference_mode():
        wanted = model(source, target)
        count = sum(isinstance(part, nn.Linear) for part in model.modules())
        quantize(model)
        found = model(source, target)
    assert not any(isinstance(part, nn.Linear) for part in model.modules())
    assert sum(isinstance(part, QuantizedLinear) for part in model.modules()) == count > 40
    assert 0 < float((found - wanted).abs().mean() / wanted.std()) < 0.05


@pytest.mark.parametrize("mlp", ["relu", "gelu", "swiglu", "experts"])
def test_a_model_in_eight_bits_runs_with_gradients_on(mlp: str) -> None:
    decoder = {"kind": "transformer", "layers": 2, "mlp": mlp}
    model = build({"model": {"kind": "language_model", "width": 16, "vocab_size": 9, "decoder": decoder}}).eval()
    quantize(model)
    tokens = torch.randint(9, (2, 5))
    with torch.no_grad():
        wanted = model(tokens)
    torch.testing.assert_close(model(tokens).detach(), wanted)


def test_devices_other_than_a_cpu_are_refused_before_anything_is_changed() -> None:
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(3, 4))
    with pytest.raises(InputError, match="int8: eight-bit products run on a CPU, and this model is on meta"):
        quantize(model)
    assert isinstance(model[0], nn.Linear)


def test_so_is_what_was_moved_there_afterwards() -> None:
    with pytest.raises(InputError, match="run on a CPU"):
        QuantizedLinear.of(linear(3, 4))(torch.zeros(1, 3, device="meta"))


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_what_is_no_number_stays_none(bad: float) -> None:
    """Weights near the end of what a type can hold give such rows; what is to be said of them is said later."""
    out = QuantizedLinear.of(linear(16, 8))(torch.full((2, 3, 16), bad))
    assert out.shape == (2, 3, 8)
    assert not out.isfinite().any()


def test_a_row_does_not_depend_on_the_others() -> None:
    """Nor on one that sticks out, or is none."""
    plain, x = linear(130, 40), torch.randn(9, 130)
    x[2] *= 1000.0
    x[3, 5] = torch.nan
    for eight in (QuantizedLinear.of(plain), QuantizedLinear.of(plain, rounds_inputs=False)):
        together, alone = eight(x), torch.cat([eight(row) for row in x.split(1)])
        torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5, equal_nan=True)
        assert together.isnan().all(1).tolist() == [row == 3 for row in range(9)]


def test_language_models_keep_what_does_not_stick_out() -> None:
    """A number that does spoils its own block of columns alone."""
    plain, x = linear(2 * BLOCK, 40), torch.randn(5, 2 * BLOCK)
    with torch.no_grad():
        plain.weight[:, :BLOCK] = 0
    wanted = plain(x)
    x[2, 7] = 3000.0
    by_blocks, by_row = QuantizedLinear.of(plain, rounds_inputs=False), QuantizedLinear.of(plain)
    assert (by_blocks(x) - wanted).abs().max() < 0.02
    assert (by_row(x) - wanted)[2].abs().max() > 0.5
    model = build("gpt-char", "model.decoder.layers=1", "model.width=24")
    quantize(model)
    assert not any(part.rounds_inputs for part in model.modules() if isinstance(part, QuantizedLinear))
