"""Notes, part F: the scaled dot product, and heads."""

import math

import pytest
import torch
from measures import Operations, filled, language_model, weights_of
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.attention import Dot, General, Multihead, Site
from regard.model.attention.kernels import attend, weights
from regard.model.attention.view import View
from regard.model.mask import Mask

SIZES = [4, 16, 64, 256]


def attention(width: int = 8, heads: int = 2) -> Multihead:
    return filled(Multihead(Site(width), heads=heads))


def by_hand(queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """s_i = Σ_j α_ij v_j, one number at a time."""
    outputs = []
    for query in queries:
        similarity = [float((query @ key).detach()) * scale for key in keys]
        total = sum(math.exp(each) for each in similarity)
        outputs.append(sum(math.exp(each) / total * value for each, value in zip(similarity, values, strict=True)))
    return torch.stack(outputs)


def projections(layer: Multihead, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of every position, all heads side by side."""
    keys, values = layer.key_value.weight.chunk(2)
    biases = layer.key_value.bias.chunk(2)
    return x @ layer.query.weight.T + layer.query.bias, x @ keys.T + biases[0], x @ values.T + biases[1]


def test_078_self_attention_needs_no_projections():
    x = torch.randn(1, 5, 6)
    assert_close(Dot(Site(6))(x, None, Mask())[0], by_hand(x[0], x[0], x[0], 1.0), atol=1e-5, rtol=1e-5)


def test_079_all_outputs_are_computed_at_once():
    layer, steps = Dot(Site(6), kernel="naive"), []
    for length in (5, 50):
        with Operations() as seen:
            layer(torch.randn(1, length, 6), None, Mask())
        steps.append(seen.names)
    assert steps[0] == steps[1]  # longer, but not one operation more
    x = torch.randn(1, 5, 6)
    alone = torch.cat([layer(x[:, i : i + 1], x, Mask()) for i in range(5)], 1)
    assert_close(layer(x, None, Mask()), alone, atol=1e-6, rtol=1e-5)


def test_080_queries_keys_and_values_are_linear_in_the_same_vector():
    layer, x = attention(heads=1), torch.randn(1, 5, 8)
    for own, hand in zip((layer.ask(x), *layer.read(x)), projections(layer, x), strict=True):
        assert_close(own[:, 0], hand, atol=1e-5, rtol=1e-5)


def test_080_the_query_looks_the_key_is_found_and_the_value_is_handed_over():
    layer, x = attention(heads=1), torch.randn(1, 5, 8)
    asked, keys, values = layer.both(x)
    before = weights(asked, keys, View(Mask()), layer.scale)
    looking, found, handed = (vectors.clone() for vectors in (asked, keys, values))
    for vectors in (looking, found, handed):
        vectors[:, :, 2] += 1.0
    rows = (weights(looking, keys, View(Mask()), layer.scale) != before)[0, 0].any(-1)
    assert rows.tolist() == [False, False, True, False, False]  # only what position 2 looks for
    columns = weights(asked, found, View(Mask()), layer.scale) / before
    assert_close(columns[0, 0, :, 0], columns[0, 0, :, 4])  # all others lose or gain alike
    assert (columns[0, 0, :, 2] / columns[0, 0, :, 0] - 1).abs().max() > 1e-2
    given = attend(asked, keys, handed, View(Mask()), scale=layer.scale)
    plain = attend(asked, keys, values, View(Mask()), scale=layer.scale)
    assert_close(given - plain, before[..., 2:3].expand_as(plain), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kernel", ["naive", "flash"])
def test_081_without_scaling_the_score_is_the_bare_product(kernel: str):
    bare = filled(Multihead(Site(8), heads=1, scale="one", kernel=kernel))
    scaled, x = Multihead(Site(8), heads=1, kernel=kernel), torch.randn(1, 5, 8)
    scaled.load_state_dict(bare.state_dict())
    wanted = by_hand(*(part[0] for part in projections(bare, x)), scale=1.0)
    own = bare(x, None, Mask())
    assert_close(own[0], wanted @ bare.output.weight.T + bare.output.bias, atol=1e-5, rtol=1e-5)
    assert (own - scaled(x, None, Mask())).abs().max() > 1e-2


def test_081_a_recipe_may_leave_the_scale_out():
    decoder = {"layers": 1, "attention": {"kind": "multihead", "heads": 2, "scale": "one"}}
    scales = [language_model(**options).decoder.layers[0].attention.scale for options in (decoder, {})]
    assert scales == [1.0, 8**-0.5]


def test_081_luongs_general_score_is_the_same_with_one_matrix_for_two():
    general, x = filled(General(Site(6))), torch.randn(1, 5, 6)
    wanted = by_hand(x[0] @ general.compare.weight.T, x[0], x[0], 1.0)
    assert_close(general(x, None, Mask())[0], wanted, atol=1e-5, rtol=1e-5)


def test_082_similarity_scaling_softmax_weighted_sum():
    layer, x = attention(heads=1), torch.randn(1, 5, 8)
    queries, keys, values = projections(layer, x)
    mixed = by_hand(queries[0], keys[0], values[0], 1 / math.sqrt(8))
    wanted = mixed @ layer.output.weight.T + layer.output.bias
    assert_close(layer(x, None, Mask())[0], wanted, atol=1e-5, rtol=1e-5)


def test_083_the_three_matrices_are_learnable_linear_maps_and_no_embeddings():
    layer = Multihead(Site(4), heads=1, bias=False)
    shapes = [layer.query.weight.shape, *(part.shape for part in layer.key_value.weight.chunk(2))]
    assert shapes == [(4, 4)] * 3
    one, other = torch.randn(1, 3, 4), torch.randn(1, 3, 4)
    sums = zip(layer.both(one + 2 * other), layer.both(one), layer.both(other), strict=True)
    for both, first, second in sums:
        assert_close(both, first + 2 * second, atol=1e-5, rtol=1e-5)
    layer(one, None, Mask()).square().sum().backward()
    for part in (layer.query.weight.grad, *layer.key_value.weight.grad.chunk(2)):
        assert part.abs().max() > 0
    assert not any(isinstance(part, nn.Embedding) for part in layer.modules())


def love() -> tuple[Multihead, Tensor]:
    """I, love, you as unit vectors, and a query matrix that makes "I" look 72 : 15 : 13 at them."""
    layer, words = Multihead(Site(4), heads=1, bias=False), torch.eye(4)[None, :3]
    with torch.no_grad():
        layer.query.weight[:, 0] = 2 * torch.tensor([0.72, 0.15, 0.13, 1.0]).log()  # √d_k = 2
        layer.key_value.weight[:4] = torch.eye(4)
        layer.output.weight.copy_(torch.eye(4))
    return layer, words


def test_084_i_love_you():
    layer, words = love()
    assert_close(weights_of(layer, words)[0, 0, 0], torch.tensor([0.72, 0.15, 0.13]))
    values = words[0] @ layer.key_value.weight[4:].T
    out = layer(words, None, Mask())[0, 0]
    assert_close(out, 0.72 * values[0] + 0.15 * values[1] + 0.13 * values[2])
    assert (out - words[0, 0]).abs().max() > 1e-2  # no longer the embedding it was


def test_084_i_means_something_else_in_other_company():
    layer, words = love()
    other = words.clone()
    other[0, 1] = torch.tensor([0.0, 0.0, 0.0, 1.0])  # "love" becomes another word
    before, after = layer(words, None, Mask()), layer(other, None, Mask())
    assert (before[0, 0] - after[0, 0]).abs().max() > 1e-2


def test_085_every_word_weighs_every_other_and_the_likest_most():
    likes = torch.tensor([[0.1, 2.0, 1.0], [3.0, 0.2, 0.5], [0.3, 1.0, 0.9]])
    layer = Multihead(Site(3), heads=1, bias=False)
    with torch.no_grad():
        layer.query.weight.copy_(likes.T)
        layer.key_value.weight[:3] = torch.eye(3)
    shares = weights_of(layer, torch.eye(3)[None])[0, 0]
    assert (shares > 0).all()
    assert_close(shares.sum(-1), torch.ones(3))
    assert torch.equal(shares.argsort(-1), likes.argsort(-1))


def products(size: int, mean: float = 0.0) -> Tensor:
    """Many q·k of random vectors, as the kernel sees them before its scale."""
    generator = torch.Generator().manual_seed(size)
    queries, keys = (torch.randn(20_000, size, generator=generator) for _ in range(2))
    return (queries * (keys + mean)).sum(-1)


@pytest.mark.parametrize("size", SIZES)
def test_086_the_variance_of_the_product_is_the_width_of_the_head(size: int):
    assert float(products(size).var()) == pytest.approx(size, rel=0.06)


@pytest.mark.parametrize("size", SIZES)
def test_086_with_keys_of_mean_one_it_would_be_twice_the_width(size: int):
    """Trap T2: the notes write E[k] = 1; the result they derive needs 0."""
    variance = float(products(size, mean=1.0).var())
    assert variance == pytest.approx(2 * size, rel=0.06)
    assert variance != pytest.approx(size, rel=0.5)
    assert variance / size == pytest.approx(2.0, rel=0.06)  # scaled, it would be 2 and not 1


@pytest.mark.parametrize("size", SIZES)
def test_087_scaled_the_variance_is_one_for_every_width(size: int):
    scale = Multihead(Site(2 * size), heads=2).scale
    assert scale == 1 / math.sqrt(size)
    assert float((products(size) * scale).var()) == pytest.approx(1.0, rel=0.06)


def sharpness(size: int, scale: float) -> tuple[float, float]:
    """The entropy of softmax weights over 32 random keys, and the size of the softmax's own gradient."""
    generator = torch.Generator().manual_seed(size)
    asked, keys = (torch.randn(1, 1, count, size, generator=generator) for count in (200, 32))
    shares = weights(asked, keys, View(Mask()), scale)[0, 0]
    entropy = -(shares * shares.clamp(min=1e-30).log()).sum(-1).mean()
    slope = torch.diag_embed(shares) - shares[:, :, None] * shares[:, None]  # ∂ softmax / ∂ scores
    return float(entropy), float(slope.flatten(1).norm(dim=1).mean())


def test_088_unscaled_the_softmax_is_nearly_one_hot_and_its_gradient_vanishes():
    bare = [sharpness(size, 1.0) for size in (16, 256, 4096)]
    scaled = [sharpness(size, size**-0.5) for size in (16, 256, 4096)]
    entropies, slopes = zip(*bare, strict=True)
    assert entropies[0] > 2 * entropies[1] > 4 * entropies[2]
    assert slopes[0] > 1.5 * slopes[1] > 2.25 * slopes[2]
    assert entropies[2] < 0.05 * math.log(32)
    for entropy, _ in scaled:
        assert entropy > 0.8 * math.log(32)
    assert max(slope for _, slope in scaled) < 1.15 * min(slope for _, slope in scaled)


def test_089_each_head_is_attention_through_matrices_of_its_own():
    layer, x = attention(12, heads=3), torch.randn(1, 5, 12)
    mixed = layer.mix(*layer.both(x), View(Mask()))
    queries, keys, values = projections(layer, x)
    for head in range(3):
        part = slice(4 * head, 4 * head + 4)
        assert layer.query.weight[part].T.shape == (12, 4)  # d_model × d_k
        wanted = by_hand(queries[0, :, part], keys[0, :, part], values[0, :, part], 0.5)
        assert_close(mixed[0, head], wanted, atol=1e-5, rtol=1e-5)


def test_089_changing_one_head_leaves_the_others_alone():
    layer, x = attention(12, heads=3), torch.randn(1, 5, 12)
    before = layer.mix(*layer.both(x), View(Mask()))
    with torch.no_grad():
        for weight in (layer.query.weight[4:8], layer.key_value.weight[4:8], layer.key_value.weight[16:20]):
            weight.add_(1.0)
    after = layer.mix(*layer.both(x), View(Mask()))
    same = [torch.equal(before[:, head], after[:, head]) for head in range(3)]
    assert same == [True, False, True]


def test_090_width_512_and_8_heads_make_heads_of_64():
    with torch.device("meta"):
        layer, x = Multihead(Site(512), heads=8), torch.empty(1, 3, 512)
        asked, keys, values = layer.both(x)
    assert asked.shape == keys.shape == values.shape == (1, 8, 3, 64)
    assert layer.scale == 1 / 8


def test_091_heads_are_laid_side_by_side_and_projected_back():
    layer, x = attention(12, heads=3), torch.randn(1, 5, 12)
    mixed = layer.mix(*layer.both(x), View(Mask()))
    assert layer.output.weight.T.shape == (3 * 4, 12)  # h·d_v × d_model
    concatenated = torch.cat([mixed[:, head] for head in range(3)], -1)
    assert_close(layer(x, None, Mask()), concatenated @ layer.output.weight.T + layer.output.bias)
