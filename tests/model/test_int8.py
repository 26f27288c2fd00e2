"""Eight-bit products: exact for rounded operands, near for others, never over the edge of 16 bits."""

import pytest
import torch
from torch import Tensor, nn

from regard.model.assembly import Seq2Seq
from regard.model.build import build
from regard.model.int8 import MOST, Rounded, narrowed, rounded


def linear(wide: int, out: int, bias: bool = True, seed: int = 1) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(wide, out, bias)


def as_rounded(x: Tensor) -> Tensor:
    """What comes in, on the 256 steps between its least (or 0) and its most (or 0)."""
    least, most = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    step = (most - least) / 255
    return (x / step).round() * step


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("wide", [5, 64, 300])
def test_the_product_of_rounded_operands_is_exact(wide: int, bias: bool) -> None:
    plain = linear(wide, 40, bias)
    eight = Rounded.of(plain)
    x = torch.randn(3, 7, wide)
    weight = eight.rows * eight.scales[:, None]
    wanted = nn.functional.linear(as_rounded(x), weight, plain.bias)
    torch.testing.assert_close(eight(x), wanted, rtol=0, atol=2e-2 * float(wanted.detach().std()))


def test_weights_are_rounded_row_by_row_to_half_a_step() -> None:
    plain = linear(64, 40)
    with torch.no_grad():
        plain.weight[3] *= 100
        plain.weight[4] = 0
    eight = Rounded.of(plain)
    assert int(eight.rows.abs().max()) == MOST
    error = (eight.rows * eight.scales[:, None] - plain.weight).abs().amax(1)
    assert (error <= 0.501 * plain.weight.abs().amax(1) / MOST).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_sum_of_two_products_is_cut_off(sign: float) -> None:
    """Operands as large as they come: instructions that add pairs in 16 bits would saturate above 32,767."""
    plain = linear(512, 16, bias=False)
    with torch.no_grad():
        plain.weight.fill_(sign)
    torch.testing.assert_close(Rounded.of(plain)(torch.ones(4, 512)), torch.full((4, 16), 512 * sign))


def test_what_comes_out_is_near_the_product_in_float() -> None:
    plain = linear(256, 1000)
    x = torch.randn(320, 256)
    wanted = plain(x).detach()
    off = (Rounded.of(plain)(x) - wanted).pow(2).mean().sqrt() / wanted.std()
    assert float(off) < 0.02


@pytest.mark.parametrize("eight", [False, True])
def test_a_narrowed_head_gives_the_same_numbers_for_fewer_words(eight: bool) -> None:
    plain = linear(32, 100)
    head = Rounded.of(plain) if eight else plain
    x, chosen = torch.randn(6, 32), torch.tensor([0, 1, 7, 50, 99])
    torch.testing.assert_close(narrowed(head, chosen)(x), head(x)[:, chosen], rtol=0, atol=1e-6)


def test_every_linear_layer_of_a_model_is_rounded_and_nothing_else() -> None:
    model = build("transformer-tiny", "model.source_vocab_size=50", "model.target_vocab_size=50").eval()
    assert isinstance(model, Seq2Seq)
    source, target = torch.randint(4, 50, (3, 6)), torch.randint(4, 50, (3, 5))
    with torch.inference_mode():
        wanted = model(source, target)
        count = sum(isinstance(part, nn.Linear) for part in model.modules())
        rounded(model)
        found = model(source, target)
    assert not any(isinstance(part, nn.Linear) for part in model.modules())
    assert sum(isinstance(part, Rounded) for part in model.modules()) == count > 40
    assert 0 < float((found - wanted).abs().mean() / wanted.std()) < 0.05
