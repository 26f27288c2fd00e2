"""Notes, part H: positions."""

import itertools
import math

import pytest
import torch
from measures import filled, language_model, made, translator
from torch import Tensor
from torch.testing import assert_close

from regard.model.attention import Multihead, Site
from regard.model.mask import Mask
from regard.model.positions import Learned, Places, Rotary, Sinusoidal, Where
from regard.model.positions.sinusoidal import encode, frequencies
from regard.model.watch import watch

PERMUTED = torch.tensor([3, 0, 4, 1, 2])


def encodings(count: int, width: int) -> Tensor:
    """PE of the first positions, as the module adds it."""
    return Sinusoidal(width).embed(torch.zeros(1, count, width), Where(0, count))[0]


def by_distance(table: Tensor) -> float:
    """How much the entries of one diagonal differ at most, against the spread of the whole table."""
    table = table.detach()
    spreads = [float(table.diagonal(k).max() - table.diagonal(k).min()) for k in range(-5, 6)]
    return max(spreads) / float(table.max() - table.min())


def test_118_the_table_is_the_formula():
    table = encodings(50, 6)
    for position, i in itertools.product(range(50), range(3)):
        angle = position / 10000 ** (2 * i / 6)
        assert float(table[position, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
        assert float(table[position, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_119_positions_are_added_to_embeddings_that_have_none():
    writer, tokens = language_model(positions="sinusoidal"), torch.tensor([[4, 7, 4, 4]])
    embedded = writer.target(tokens)
    assert torch.equal(embedded[:, 0], embedded[:, 2])
    heard: list[Tensor] = []
    writer.decoder.layers[0].register_forward_pre_hook(lambda module, given: heard.append(given[0]))
    writer(tokens)
    assert_close(heard[0], embedded + encodings(4, 16))
    assert not torch.allclose(heard[0][:, 0], heard[0][:, 2])


@pytest.mark.parametrize("positions", ["none", "sinusoidal"])
def test_120_without_positions_a_sentence_is_a_bag_of_words(positions: str):
    writer, source, target = translator(positions=positions), torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[0]])
    there, back = writer(source, target), writer(source[:, PERMUTED], target)
    assert torch.allclose(there, back, atol=1e-5) == (positions == "none")


def test_121_nothing_is_learned_and_everything_can_be_reconstructed():
    scheme = Sinusoidal(32)
    assert not list(scheme.parameters())
    assert not scheme.state_dict()
    table = encodings(500, 32)
    assert torch.equal(table, encodings(500, 32))
    later = Sinusoidal(32).embed(torch.zeros(1, 100, 32), Where(400, 500))[0]
    assert torch.equal(later, table[400:])
    assert torch.equal(torch.cdist(later, table).argmin(-1), torch.arange(400, 500))
    angle = torch.atan2(later[:, -2], later[:, -1]).double()  # the slowest pair still tells the position
    assert_close(angle / frequencies(32)[-1], torch.arange(400, 500).double(), atol=0.1, rtol=0)


def test_122_the_product_of_encodings_knows_the_distance_and_the_score_does_not():
    """Trap T5: both notes are right, each about another product."""
    table, layer = encodings(40, 16), filled(Multihead(Site(16), heads=1, bias=False))
    assert by_distance(table @ table.T) < 1e-5
    scores = layer.ask(table[None])[0, 0] @ layer.read(table[None])[0][0, 0].T
    assert by_distance(scores) > 0.1
    word = torch.randn(1, 1, 16).expand(1, 40, 16)  # the same word everywhere
    rotary = Places(Rotary(16), Where(0, 40))
    turned = rotary.rotate(layer.ask(word))[0, 0] @ rotary.rotate(layer.read(word)[0])[0, 0].T
    assert by_distance(turned) < 1e-4


def test_123_the_lowest_pair_of_dimensions_turns_fastest():
    """Trap T6: "low dimension, low frequency" is the wrong way round."""
    table = encodings(2000, 16).double()
    angles = torch.atan2(table[:, 0::2], table[:, 1::2])
    turned = torch.remainder(angles[1:] - angles[:-1], 2 * math.pi).sum(0)  # no pair turns as far as once a step
    measured = turned / 1999
    assert (measured[:-1] > 3 * measured[1:]).all()
    assert_close(measured, 10000 ** (-torch.arange(0, 16, 2) / 16).double(), atol=1e-6, rtol=1e-4)


def test_127_waves_are_bounded_smooth_periodic_and_the_same_at_every_length():
    table = encodings(2000, 64)
    assert table.abs().max() <= 1.0
    assert_close(table.square().sum(-1), torch.full((2000,), 32.0))
    steps = (table[1:] - table[:-1]).abs().amax(0)
    assert (steps <= frequencies(64).repeat_interleave(2).float() + 1e-5).all()  # no jump: at most ω a step
    assert torch.equal(encodings(10, 64), table[:10])
    once, again = encode(torch.tensor([3, 3 + 710]), 2)  # 710 is 113 turns
    assert_close(once, again, atol=1e-4, rtol=0)


WAVES = {"sines": slice(0, None, 2), "cosines": slice(1, None, 2)}


def closest(table: Tensor) -> float:
    """The least distance between any two positions."""
    return float(torch.pdist(table.double()).min())


@pytest.mark.parametrize("alone", WAVES)
def test_128_one_wave_alone_overlaps_and_with_its_other_half_does_not(alone: str):
    pair = encodings(400, 2)  # one frequency
    assert closest(pair[:, WAVES[alone]]) < 1e-5  # two positions, one value
    assert closest(pair) > 5e-3


@pytest.mark.parametrize(("alone", "least"), [("sines", 0.318), ("cosines", 0.312)])
def test_128_in_the_whole_table_sines_alone_do_not_overlap(alone: str, least: float):
    """Trap T12: waves of many lengths repeat together so late that one half of them tells all positions apart."""
    half = encodings(4000, 64)[:, WAVES[alone]]
    assert closest(half) == pytest.approx(least, abs=1e-3)


@pytest.mark.parametrize("alone", WAVES)
def test_128_what_half_the_table_loses_are_equal_steps_and_shifts_that_are_linear(alone: str):
    table = encodings(4000, 64).double()
    lengths = [(part[1:] - part[:-1]).norm(dim=-1) for part in (table, table[:, WAVES[alone]])]
    assert float(lengths[0].max() / lengths[0].min()) == pytest.approx(1.0, abs=1e-5)
    assert lengths[1].min() < 0.32
    assert lengths[1].max() > 1.43
    assert_close(table[:-7] @ shift(7, 64).T, table[7:], atol=1e-5, rtol=0)  # one rotation for all positions
    assert unexplained(table, 7) < 1e-10
    assert unexplained(table[:, WAVES[alone]], 7) > 0.2  # no matrix at all does it


def shift(steps: int, width: int) -> Tensor:
    """The matrix that turns PE(p) into PE(p + steps): a rotation of every pair."""
    angles = steps * frequencies(width)
    blocks = [torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()]).view(2, 2) for a in angles]
    return torch.block_diag(*blocks)


def unexplained(table: Tensor, steps: int) -> float:
    """The share of PE(p + steps) that the best of all matrices does not get from PE(p)."""
    before, after = table[:-steps], table[steps:]
    missed = before @ torch.linalg.lstsq(before, after).solution - after
    return float(missed.square().sum() / (after - after.mean(0)).square().sum())


def test_129_every_position_has_a_vector_of_its_own():
    table = encodings(20_000, 64).double()
    assert (table[1:] - table[0]).norm(dim=-1).min() > 0.5  # and by item 130 this is so from every position
    for start in (1, 777, 9_999):
        others = torch.cat([table[:start], table[start + 1 :]])
        assert (others - table[start]).norm(dim=-1).min() > 0.5


def test_130_one_step_is_the_same_everywhere_and_products_know_the_distance_only():
    table = encodings(1000, 64).double()
    steps = (table[1:] - table[:-1]).norm(dim=-1)
    assert_close(steps, steps[:1].expand_as(steps), atol=1e-5, rtol=0)
    for distance in (1, 2, 10, 100):
        products = (table[distance:] * table[:-distance]).sum(-1)
        wanted = float((distance * frequencies(64)).cos().sum())
        assert_close(products, torch.full_like(products, wanted), atol=1e-4, rtol=0)


def test_130_the_step_itself_turns_and_only_its_length_stays():
    """Trap T13: from token 1 to 2 is as far as from 2 to 3, but in another direction."""
    table = encodings(1000, 64).double()
    steps = table[1:] - table[:-1]
    assert (steps[1] - steps[0]).norm() > 0.5 * steps[0].norm()
    assert torch.cosine_similarity(steps[:1], steps, dim=-1).min() < -0.5  # somewhere it points back
    assert_close(steps[:-1] @ shift(1, 64).T, steps[1:], atol=1e-5, rtol=0)  # it turns as the positions do


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_131_longer_sequences_than_ever_seen_cause_no_error(positions: str):
    """Only that: trap T7, whether the model is any good there, is measured by a study."""
    writer = language_model(positions=positions)
    short, long = torch.randint(11, (1, 8)), torch.randint(11, (1, 700))
    before = writer(short)
    assert writer(long).isfinite().all()
    assert torch.equal(writer(short), before)


def test_131_learned_positions_end():
    scheme = Learned(4, limit=8)
    assert scheme.embed(torch.zeros(1, 8, 4), Where(0, 8)).shape == (1, 8, 4)
    with pytest.raises(ValueError, match="past the 8 learned positions"):
        scheme.embed(torch.zeros(1, 9, 4), Where(0, 9))


def rotated(x: Tensor, start: int = 0) -> Tensor:
    """Every pair times its 2×2 rotation matrix."""
    out = torch.empty_like(x)
    for place, i in itertools.product(range(x.shape[-2]), range(x.shape[-1] // 2)):
        angle = (start + place) * 10000 ** (-2 * i / x.shape[-1])
        matrix = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        out[..., place, 2 * i : 2 * i + 2] = x[..., place, 2 * i : 2 * i + 2] @ matrix.T
    return out


def test_132_real_rotations_and_complex_products_are_one_thing():
    x = torch.randn(1, 2, 9, 6)
    numbers = torch.complex(x[..., 0::2], x[..., 1::2])  # z_i
    turns = torch.exp(1j * torch.outer(torch.arange(9), 10000 ** (-torch.arange(0, 6, 2) / 6)))  # e^(i θ_i p)
    product = torch.view_as_real(numbers * turns).flatten(-2)
    own = Rotary(6).rotate(x, Where(0, 9))
    assert_close(rotated(x), product, atol=1e-5, rtol=1e-5)
    assert_close(own, product, atol=1e-5, rtol=1e-5)


def test_133_queries_and_keys_are_turned_and_neither_embeddings_nor_values():
    scheme, x = Rotary(8), torch.randn(1, 5, 8)
    assert scheme.embed(x, Where(0, 5)) is x
    layer = filled(Multihead(Site(8, None, Mask(), scheme), heads=2))
    asked, keys, values = layer.both(x)
    shares = (rotated(asked) @ rotated(keys).mT / 2).softmax(-1)
    places = Places(scheme, Where(0, 5))
    assert_close(layer(x, None, Mask(), places), layer.answer(shares @ values), atol=1e-5, rtol=1e-5)
    wrong = layer.answer(shares @ rotated(values))
    assert not torch.allclose(layer(x, None, Mask(), places), wrong, atol=1e-2)


def test_133_the_first_layer_is_given_bare_embeddings():
    writer, tokens = language_model(positions="rotary"), torch.tensor([[4, 7, 4]])
    heard: list[Tensor] = []
    writer.decoder.layers[0].register_forward_pre_hook(lambda module, given: heard.append(given[0]))
    writer(tokens)
    assert torch.equal(heard[0], writer.target(tokens))


@pytest.mark.parametrize("shift", [1, 7, 300])
def test_134_a_rotary_score_depends_on_the_distance_alone(shift: int):
    asked, keys = torch.randn(1, 1, 6, 8), torch.randn(1, 1, 6, 8)
    scores = [
        Rotary(8).rotate(asked, Where(start, start + 6)) @ Rotary(8).rotate(keys, Where(start, start + 6)).mT
        for start in (0, shift)
    ]
    assert_close(scores[0], scores[1], atol=1e-5, rtol=1e-5)


def test_134_a_shift_changes_no_rotary_weight_and_every_sinusoidal_one():
    changes = {}
    for kind in ("rotary", "sinusoidal"):
        heads = {"kind": "multihead", "heads": 2}
        encoder = made("encoder", {"kind": "transformer", "layers": 1, "positions": kind, "attention": heads}, 8)
        x, layer, seen_at = torch.randn(1, 6, 8), encoder.layers[0].attention, []
        for start in (0, 50):
            places = Places(encoder.positions, Where(start, start + 6))
            with watch(layer) as seen:
                layer(places.embed(x), None, Mask(), places)
            seen_at.append(next(iter(seen.values())).weights)
        changes[kind] = float((seen_at[0] - seen_at[1]).abs().max())
    assert changes["rotary"] < 1e-5
    assert changes["sinusoidal"] > 1e-2
