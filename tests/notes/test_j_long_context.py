"""Notes, part J: attention for long contexts."""

import math
from itertools import pairwise

import pytest
import torch
from measures import FUSED, Operations, exponent, filled, kept, made, mixed_by, reach, weights_of
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.attention import LinearAttention, Multihead, Site
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.stack import DecoderSite

FEATURES = {
    "elu": lambda x: torch.where(x > 0, x + 1, x.exp()),
    "relu": lambda x: x.clamp(min=0) + 1e-3,
    "softmax": lambda x: x.exp() / x.exp().sum(-1, keepdim=True),
}
CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])


def linear(feature: str = "elu", kernel: str = "auto", width: int = 8) -> LinearAttention:
    options = {"kind": "linear", "heads": 2, "feature": feature, "kernel": kernel}
    return made("attention", options, Site(width))


def features(layer: LinearAttention, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """φ(Q), φ(K) and V of one row, head by head, by hand."""
    phi = FEATURES[type(layer.feature).__name__.removesuffix("Map").lower()]
    keys, values = (x @ layer.key_value.weight.T + layer.key_value.bias).chunk(2, -1)
    queries = x @ layer.query.weight.T + layer.query.bias
    queries, keys, values = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in (queries, keys, values))
    return phi(queries), phi(keys), values


def windowed(width: int, first: int = 0, causal: bool = False, size: int = 8) -> tuple[Multihead, Mask]:
    mask = Mask(window=width, first=first, causal=causal)
    return filled(Multihead(Site(size, None, mask), heads=2)), mask


def work(layer: nn.Module, mask: Mask, length: int, *kinds: str) -> int:
    """The work of the products that are not projections."""
    with torch.no_grad(), Operations() as seen:
        layer(torch.randn(1, length, 8), None, mask)
    return seen.work(*kinds)


def kept_at(layer: nn.Module, mask: Mask, length: int) -> int:
    x = torch.randn(1, length, 8)
    return kept(lambda: layer(x, None, mask), layer.parameters())[0]


@CAUSAL
@pytest.mark.parametrize("feature", FEATURES)
def test_142_a_feature_map_takes_the_place_of_the_softmax(feature: str, causal: bool):
    layer, x = linear(feature), torch.randn(1, 6, 8)
    queries, keys, values = features(layer, x)
    table = queries @ keys.mT * (torch.ones(6, 6).tril() if causal else 1.0)
    shares = table / table.sum(-1, keepdim=True)
    assert_close(weights_of(layer, x, mask=Mask(causal=causal)), shares, atol=1e-5, rtol=1e-4)
    wanted = layer.answer(shares @ values)
    assert_close(layer(x, None, Mask(causal=causal)), wanted, atol=1e-5, rtol=1e-4)


@CAUSAL
def test_142_no_n_by_n_matrix_is_formed_or_kept(causal: bool):
    layer, mask = linear(), Mask(causal=causal)
    with Operations() as seen:
        layer(torch.randn(1, 1024, 8), None, mask)
    assert seen.largest < 1024 * 1024 / 4
    assert exponent(lambda length: kept_at(layer, mask, length), 1024) < 1.1
    naive = linear(kernel="naive")
    assert exponent(lambda length: kept_at(naive, mask, length), 512) > 1.8


@CAUSAL
def test_143_keys_and_values_first_is_the_same_as_queries_and_keys_first(causal: bool):
    fast, slow, x = linear(), linear(kernel="naive"), torch.randn(2, 150, 8)
    slow.load_state_dict(fast.state_dict())
    mask = Mask(causal=causal)
    assert_close(fast(x, None, mask), slow(x, None, mask), atol=1e-5, rtol=1e-4)


def test_143_the_cost_is_n_times_the_square_of_the_width():
    layer = linear()
    sums = 2 * (2 * 1024 * 4 * 4) * 2  # two products of n·d², two heads of width 4
    norms = 2 * 1024 * 4 * 2
    assert work(layer, Mask(), 1024, "bmm") == sums + norms
    for mask in (Mask(), Mask(causal=True)):
        assert exponent(lambda length, mask=mask: work(layer, mask, length), 1024) == pytest.approx(1.0, abs=0.02)


def test_143_what_is_kept_of_all_keys_and_values_is_d_by_d_and_answers_every_query():
    layer, x, data = linear(), torch.randn(1, 3, 8), torch.randn(1, 100, 8)
    _, keys, values = features(layer, data)
    sums, totals = layer.remember(data, Mask()).held
    assert sums.shape == (1, 2, 4, 4)  # two heads of d × d, however many keys
    assert_close(sums, keys.mT @ values, atol=1e-4, rtol=1e-4)  # φ(K)ᵀV
    queries = features(layer, x)[0]
    wanted = queries @ sums / (queries @ totals[..., None])
    assert_close(layer(x, data, Mask()), layer.answer(wanted), atol=1e-5, rtol=1e-4)


def scaled(size: float, count: int = 48, width: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys of one head, and what softmax attention makes of them."""
    queries, keys = (size * torch.randn(1, 1, count, width) for _ in range(2))
    return queries, keys, (queries @ keys.mT / width**0.5).softmax(-1)


def shares_of(feature: object, queries: Tensor, keys: Tensor) -> Tensor:
    table = {"kind": "linear", "heads": 1, "feature": feature}
    layer = made("attention", table, Site(queries.shape[-1]))
    asked, read = layer.feature.queries(queries), layer.feature.keys(keys)
    return layer.weigh(asked, read, View(Mask()), slice(None))


def off(feature: object, size: float, times: int = 12) -> float:
    """How far its weights are from the softmax's, as a share of their length, on average."""
    errors = []
    for _ in range(times):
        queries, keys, wanted = scaled(size)
        errors.append(float((shares_of(feature, queries, keys) - wanted).norm() / wanted.norm()))
    return sum(errors) / times


def test_144_random_features_come_to_the_softmax_as_one_over_the_root_of_their_number():
    """Trap T14: they do approximate it; fourfold features, half the error."""
    counts = [32, 128, 512, 2048]
    errors = [off({"kind": "random", "features": count}, size=0.4) for count in counts]
    slopes = [math.log(after / before, 4) for before, after in pairwise(errors)]
    assert sum(slopes) / 3 == pytest.approx(-0.5, abs=0.1)
    assert all(-0.7 < slope < -0.3 for slope in slopes)
    assert errors[-1] < 0.05


@pytest.mark.parametrize("feature", FEATURES)
def test_144_the_other_maps_are_another_attention_and_nothing_makes_them_a_softmax(feature: str):
    """Trap T14: their error has no number to fall with, and grows where the softmax looks sharply."""
    random = {"kind": "random", "features": 2048}
    assert off(feature, size=0.4) > 2.5 * off(random, size=0.4)
    assert off(feature, size=2.0) > 0.7


def test_144_sums_of_a_fixed_size_recall_fewer_things_than_a_softmax():
    """Each of 64 keys is asked for: how much of its own value comes back? A product of rank d cannot tell 64 apart."""
    keys = 12 * nn.functional.normalize(torch.randn(1, 1, 64, 8), dim=-1)

    def recalled(weights: Tensor) -> float:
        return float(weights.diagonal(dim1=-2, dim2=-1).mean())

    exact = recalled((keys @ keys.mT / 8**0.5).softmax(-1))
    linear = [recalled(shares_of(feature, keys, keys)) for feature in FEATURES]
    random = [recalled(shares_of({"kind": "random", "features": count}, keys, keys)) for count in (64, 65536)]
    assert exact > 0.99
    assert max(linear) < 0.5
    assert linear[0] < 0.1
    assert random[0] < random[1]


@CAUSAL
def test_145_only_neighbours_are_seen(causal: bool):
    layer, mask = windowed(3, causal=causal, size=18)
    x, at = torch.randn(1, 9, 18), torch.arange(9)
    away = at[:, None] - at[None]
    near = (away.abs() < 3) & ((away >= 0) | (not causal))
    shares = mixed_by(layer, lambda: layer(x, None, mask))
    assert torch.equal(shares != 0, near.expand_as(shares))


@CAUSAL
def test_145_the_cost_of_a_window_is_n_times_w(causal: bool):
    for first in (0, 4):
        layer, mask = windowed(65, first, causal)
        assert exponent(lambda length, layer=layer, mask=mask: work(layer, mask, length, FUSED), 8192) < 1.1
        assert exponent(lambda length, layer=layer, mask=mask: kept_at(layer, mask, length), 4096) < 1.1

    def by_width(width: int) -> int:
        layer, mask = windowed(width + 1, causal=causal)
        return work(layer, mask, 16_384, FUSED)

    assert 0.8 < exponent(by_width, 512) < 1.05
    full = work(filled(Multihead(Site(8), heads=2)), Mask(), 8192, FUSED)
    assert full == 4 * 8192**2 * 8
    narrow, mask = windowed(65, causal=causal)
    assert work(narrow, mask, 8192, FUSED) < full / 15


def stack(kind: str, layers: int, pattern: dict[str, object]) -> nn.Module:
    recipe = {
        "kind": "transformer",
        "layers": layers,
        "pattern": pattern,
        "attention": {"kind": "multihead", "heads": 2},
        "positions": "none",
    }
    return made(kind, recipe, 8 if kind == "encoder" else DecoderSite(8))


def reached(stack: nn.Module, kind: str, length: int) -> Tensor:
    x = torch.randn(1, length, 8, requires_grad=True)
    out = stack(x, Mask()).states if kind == "encoder" else stack(x, None, Mask())
    return reach(out, x)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize(("layers", "width"), [(1, 3), (2, 3), (3, 2), (2, 5)])
def test_147_a_stack_of_windows_reaches_exactly_layers_times_width_less_one(kind: str, layers: int, width: int):
    seen = reached(stack(kind, layers, {"kind": "window", "width": width}), kind, 16)
    at = torch.arange(16)
    away = at[:, None] - at[None]
    wanted = away.abs() <= layers * (width - 1)
    assert torch.equal(seen, wanted if kind == "encoder" else wanted & (away >= 0))


def test_147_what_lies_further_back_cannot_be_recalled_at_all():
    """The block kernel, at a length where it runs: not one bit of the last state changes."""
    decoder, x = stack("decoder", 2, {"kind": "window", "width": 40}), torch.randn(1, 600, 8)
    edge = 599 - 2 * 39  # the last position that can matter
    far, near = x.clone(), x.clone()
    far[:, :edge] = torch.randn(1, edge, 8)
    near[:, edge] = torch.randn(8)
    last, without, within = (decoder(given, None, Mask())[:, -1] for given in (x, far, near))
    assert torch.equal(last, without)
    assert not torch.equal(last, within)


def test_148_global_positions_restore_the_long_range():
    local = reached(stack("encoder", 2, {"kind": "window", "width": 2}), "encoder", 16)
    both = reached(stack("encoder", 2, {"kind": "local_global", "width": 2, "first": 1}), "encoder", 16)
    assert not local[15, 0]
    assert not local[0, 15]
    assert both.all()  # over the global position, in two steps


def test_148_in_a_decoder_global_positions_are_what_everybody_still_sees():
    seen = reached(stack("decoder", 2, {"kind": "local_global", "width": 2, "first": 3}), "decoder", 16)
    at = torch.arange(16)
    away = at[:, None] - at[None]
    assert torch.equal(seen, (away >= 0) & ((away <= 2) | (at < 3)))


def test_149_flash_is_the_one_of_four_ways_that_changes_no_number():
    """All four keep memory in step with the length; the other three pay with what they see, flash with time."""
    near, far = Mask(window=40), Mask(window=40, first=2)
    full = filled(Multihead(Site(8), heads=2, kernel="naive"))
    ways = {
        "flash": (Multihead(Site(8), heads=2, kernel="flash"), Mask()),
        "window": (Multihead(Site(8, None, near), heads=2), near),
        "local_global": (Multihead(Site(8, None, far), heads=2), far),
        "linear": (linear(), Mask()),
    }
    x, errors = torch.randn(1, 600, 8), {}
    for name, (layer, mask) in ways.items():
        layer.load_state_dict(full.state_dict())
        errors[name] = float((layer(x, None, mask) - full(x, None, Mask())).detach().abs().max())
        assert exponent(lambda length, layer=layer, mask=mask: kept_at(layer, mask, length), 1024) < 1.1
    assert exponent(lambda length: kept_at(full, Mask(), length), 512) > 1.8
    assert errors.pop("flash") < 1e-5
    assert min(errors.values()) > 1e-2
    works = [work(*ways[name], length, FUSED) for name, length in (("flash", 512), ("flash", 1024))]
    assert works[1] == 4 * works[0]
