"""Notes, part E: attention as an operator of its own."""

import math

import pytest
import torch
from measures import FUSED, Operations, exponent, filled, kept, language_model, made, mixed_by, model, reach, weights_of
from torch import nn
from torch.testing import assert_close

from regard.model.attention import Dot, Multihead, Site
from regard.model.mask import Mask

PERMUTED = torch.tensor([3, 0, 4, 1, 2])


def attention(width: int = 8, data: int | None = None, heads: int = 2, kernel: str = "auto") -> Multihead:
    return filled(Multihead(Site(width, data), heads=heads, kernel=kernel))


def plain(width: int) -> Multihead:
    """One head whose projections are all the identity."""
    layer = Multihead(Site(width, width), heads=1, bias=False)
    with torch.no_grad():
        layer.query.weight.copy_(torch.eye(width))
        layer.key_value.weight.copy_(torch.eye(width).repeat(2, 1))
        layer.output.weight.copy_(torch.eye(width))
    return layer


def test_060_decoder_states_ask_encoder_states_answer_contexts_come_out():
    translator = filled(
        model(
            "seq2seq",
            source_vocab_size=11,
            target_vocab_size=11,
            width=6,
            encoder={"kind": "recurrent", "direction": "forward"},
            decoder={"kind": "recurrent", "attention": "general", "order": "luong", "readout": "concat"},
        )
    )
    source, target = torch.randint(11, (2, 5)), torch.randint(11, (2, 3))
    states, contexts = translator.states(source, target).split(6, -1)
    again = translator.decoder.attention(states, translator.encode(source).states, Mask())
    assert_close(again, contexts, atol=1e-6, rtol=1e-5)


def test_061_taken_out_of_the_network_it_is_a_scaled_dot_product():
    queries, data = torch.randn(1, 1, 5), torch.randn(1, 6, 5)
    similarity = torch.tensor([float(queries[0, 0] @ vector) / math.sqrt(5) for vector in data[0]])
    wanted = sum(share * vector for share, vector in zip(similarity.softmax(0), data[0], strict=True))
    assert_close(plain(5)(queries, data, Mask())[0, 0], wanted, atol=1e-6, rtol=1e-5)


def test_062_many_queries_at_once_are_the_same_as_one_by_one():
    layer, queries, data = attention(data=8), torch.randn(2, 4, 8), torch.randn(2, 7, 8)
    together = layer(queries, data, Mask())
    apart = torch.cat([layer(query[:, None], data, Mask()) for query in queries.unbind(1)], 1)
    assert_close(together, apart, atol=1e-6, rtol=1e-5)


def test_062_the_softmax_runs_over_the_data_and_the_data_have_a_number_of_their_own():
    """Trap T8: X is N_x × D, and in rows of queries and columns of keys each row is a distribution."""
    queries, data = torch.randn(1, 4, 5), torch.randn(1, 7, 5)
    weights = weights_of(plain(5), queries, data)[0, 0]
    assert weights.shape == (4, 7)
    assert_close(weights.sum(1), torch.ones(4))
    assert (weights.sum(0) - 1).abs().max() > 0.05  # the notes' "columns" do not sum to one
    scores = queries[0] @ data[0].T / math.sqrt(5)
    assert_close(weights, scores.softmax(1), atol=1e-6, rtol=1e-5)
    assert not torch.allclose(weights, scores.softmax(0), atol=1e-2)


def test_063_keys_and_values_are_two_roles_and_data_may_have_another_width():
    layer, queries, data = attention(8, data=5), torch.randn(1, 3, 8), torch.randn(1, 6, 5)
    before, weights = layer(queries, data, Mask()), weights_of(layer, queries, data)
    assert before.shape == (1, 3, 8)
    with torch.no_grad():
        layer.key_value.weight[8:] += 1.0  # W_v: other output, the same weights
    assert torch.equal(weights_of(layer, queries, data), weights)
    assert (layer(queries, data, Mask()) - before).abs().max() > 1e-2
    with torch.no_grad():
        layer.key_value.weight[:8] *= -1.0  # W_k: other weights
    assert (weights_of(layer, queries, data) - weights).abs().max() > 1e-2


def test_064_cross_attention_gives_one_output_per_query_a_mix_of_all_values():
    layer, queries, data = attention(8, data=5), torch.randn(1, 3, 8), torch.randn(1, 6, 5)
    data.requires_grad_()
    out = layer(queries, data, Mask())
    assert out.shape == queries.shape
    assert reach(out, data).all()
    _, values = layer.read(data)
    mixed = weights_of(layer, queries, data) @ values
    assert_close(out, layer.output(mixed.transpose(1, 2).flatten(2)), atol=1e-5, rtol=1e-5)
    assert (mixed <= values.amax(2, keepdim=True)).all()
    assert (mixed >= values.amin(2, keepdim=True)).all()


def test_065_self_attention_gives_one_output_per_input_from_three_projections():
    layer, x = attention(), torch.randn(2, 5, 8)
    assert layer(x, None, Mask()).shape == x.shape
    asked, keys, values = layer.both(x)
    projections = [layer.query.weight, *layer.key_value.weight.chunk(2)]
    biases = [layer.query.bias, *layer.key_value.bias.chunk(2)]
    for own, weight, bias in zip((asked, keys, values), projections, biases, strict=True):
        assert_close(own.transpose(1, 2).flatten(2), x @ weight.T + bias, atol=1e-5, rtol=1e-5)


def test_066_one_wide_product_is_three_separate_ones():
    layer, x = attention(), torch.randn(2, 5, 8)
    with Operations() as seen:
        fused = layer.both(x)
    assert seen.products == [("addmm", 2 * 10 * 8 * 24)]  # N×D times D×3D
    for one, three in zip(fused, (layer.ask(x), *layer.read(x)), strict=True):
        assert_close(one, three, atol=1e-6, rtol=1e-5)


def test_067_every_position_attends_to_all_itself_included_in_one_step():
    layer, x = attention(), torch.randn(1, 6, 8, requires_grad=True)
    assert (weights_of(layer, x) > 0).all()
    assert reach(layer(x, None, Mask()), x).all()


def test_068_permuted_inputs_give_permuted_outputs():
    encoder = made("encoder", {"kind": "transformer", "layers": 2, "positions": "none", "attention": "dot"}, 8)
    x = torch.randn(2, 5, 8)
    out, turned = (encoder(given, Mask()).states for given in (x, x[:, PERMUTED]))
    assert_close(turned, out[:, PERMUTED], atol=1e-5, rtol=1e-5)
    layer = attention()
    assert_close(layer(x[:, PERMUTED], None, Mask()), layer(x, None, Mask())[:, PERMUTED], atol=1e-6, rtol=1e-6)


def test_068_outputs_are_equivariant_and_only_their_mean_is_invariant():
    """Trap T4: "permutation-invariant" holds for what is pooled, not for the tokens."""
    layer, x = attention(), torch.randn(2, 5, 8)
    out, turned = layer(x, None, Mask()), layer(x[:, PERMUTED], None, Mask())
    assert (turned - out).abs().max() > 1e-2
    assert_close(turned.mean(1), out.mean(1), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi"])
def test_069_positions_break_the_equivariance(positions: str):
    heads = {"kind": "multihead", "heads": 2}
    encoder = made("encoder", {"kind": "transformer", "layers": 1, "positions": positions, "attention": heads}, 8)
    x = torch.randn(2, 5, 8)
    out, turned = (encoder(given, Mask()).states for given in (x, x[:, PERMUTED]))
    assert (turned - out[:, PERMUTED]).abs().max() > 1e-3


@pytest.mark.parametrize("kernel", ["naive", "flash"])
def test_070_masked_self_attention_never_looks_ahead(kernel: str):
    heads = {"kind": "multihead", "heads": 2, "kernel": kernel}
    writer, tokens = language_model(width=12, attention=heads), torch.randint(11, (2, 6))
    for layer in writer.decoder.layers:
        weights = mixed_by(layer.attention, lambda: writer(tokens))
        assert (weights.triu(1) == 0.0).all()
        assert (weights[..., torch.ones(6, 6).tril().bool()] > 0).all()


def test_071_heads_work_in_parallel_in_the_same_products():
    x, counts = torch.randn(2, 5, 8), []
    for heads in (1, 2, 4):
        layer = attention(heads=heads, kernel="naive")
        with Operations() as seen:
            out = layer(x, None, Mask())
        counts.append([name for name, _ in seen.products])
        assert weights_of(layer, x).shape == (2, heads, 5, 5)
        assert out.shape == x.shape
    assert counts[0] == counts[1] == counts[2]


def test_072_self_attention_is_four_products():
    with Operations() as seen:
        attention(8, heads=2, kernel="naive")(torch.randn(1, 5, 8), None, Mask())
    assert seen.products == [
        ("addmm", 2 * 5 * 8 * 24),  # QKV projection
        ("bmm", 2 * 2 * 5 * 5 * 4),  # QK similarity
        ("bmm", 2 * 2 * 5 * 5 * 4),  # V-weighting
        ("addmm", 2 * 5 * 8 * 8),  # output projection
    ]


def test_073_the_matrix_is_n_by_n_and_so_is_its_cost():
    layer = attention(8, heads=2, kernel="naive")

    def work(length: int) -> int:
        with Operations() as seen:
            layer(torch.randn(1, length, 8), None, Mask())
        assert seen.work("bmm") == 4 * length**2 * 8
        return seen.work("bmm")

    assert exponent(work, 32) == 2.0
    assert weights_of(layer, torch.randn(1, 9, 8)).shape[-2:] == (9, 9)


@pytest.mark.parametrize("causal", [False, True])
def test_074_the_naive_kernel_keeps_heads_times_n_by_n(causal: bool):
    layer, mask = attention(16, heads=4, kernel="naive"), Mask(causal=causal)
    shapes = kept_at(layer, mask, 256)[1]
    assert any(math.prod(shape) == 4 * 256 * 256 for shape in shapes)
    assert exponent(lambda length: kept_at(layer, mask, length)[0], 512) > 1.9


@pytest.mark.parametrize("causal", [False, True])
def test_075_flash_keeps_and_forms_no_matrix(causal: bool):
    layer, mask = attention(16, heads=4, kernel="flash"), Mask(causal=causal)
    assert exponent(lambda length: kept_at(layer, mask, length)[0], 512) < 1.05
    with Operations() as seen:
        layer(torch.randn(1, 1024, 16), None, mask)
    assert seen.largest == 1024 * 3 * 16  # Q, K and V are the largest there is
    assert seen.names.count(FUSED) == 1  # both products at once


def kept_at(layer: nn.Module, mask: Mask, length: int) -> tuple[int, list[torch.Size]]:
    x = torch.randn(1, length, 16)
    return kept(lambda: layer(x, None, mask), layer.parameters())


@pytest.mark.parametrize(
    "mask", [Mask(), Mask(causal=True), Mask().padded(torch.tensor([130, 300]))], ids=["full", "causal", "padded"]
)
def test_076_flash_is_exact(mask: Mask):
    naive, flash = attention(16, heads=4, kernel="naive"), attention(16, heads=4, kernel="flash")
    flash.load_state_dict(naive.state_dict())
    x = torch.randn(2, 300, 16, requires_grad=True)
    outputs = [layer(x, None, mask) for layer in (naive, flash)]
    assert_close(outputs[1], outputs[0], atol=1e-5, rtol=1e-5)
    push = torch.randn_like(outputs[0])
    grads = [torch.autograd.grad((out * push).sum(), x)[0] for out in outputs]
    assert_close(grads[1], grads[0], atol=1e-4, rtol=1e-4)


def test_076_flash_is_exact_without_projections_too():
    x = torch.randn(1, 200, 8)
    naive, flash = (Dot(Site(8), kernel=kernel)(x, None, Mask()) for kernel in ("naive", "flash"))
    assert_close(flash, naive, atol=1e-5, rtol=1e-5)
