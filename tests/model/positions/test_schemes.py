"""Each scheme against its formula, written out number by number."""

import math

import pytest
import torch
from torch import Tensor
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

from regard.errors import InputError
from regard.model.positions import Alibi, Learned, Nowhere, Positions, Rotary, Sinusoidal, Where


def packed() -> Where:
    return Where(0, 3, torch.tensor([[0, 1, 0, 1, 2], [0, 0, 1, 2, 0]]))


@pytest.mark.parametrize("base", [10000.0, 100.0])
@pytest.mark.parametrize("width", [6, 7])
def test_sinusoidal_is_the_formula(width: int, base: float) -> None:
    """Pairs of sine and cosine; the first turns fastest."""
    found = Sinusoidal(width, base=base).embed(torch.zeros(1, 9, width), Where(4, 13))[0]
    for row, position in enumerate(range(4, 13)):
        for column in range(width):
            angle = position / base ** (column // 2 * 2 / width)
            wanted = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert found[row, column] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_rotary_is_the_formula(base: float) -> None:
    width = 6
    x = torch.randn(2, 3, 5, width, generator=torch.Generator().manual_seed(0))
    found = Rotary(width, base=base).rotate(x, Where(7, 12))
    for row, position in enumerate(range(7, 12)):
        for pair in range(width // 2):
            angle = position * base ** (-2 * pair / width)
            one, other = x[:, :, row, 2 * pair], x[:, :, row, 2 * pair + 1]
            turned = torch.stack(
                [math.cos(angle) * one - math.sin(angle) * other, math.sin(angle) * one + math.cos(angle) * other], -1
            )
            torch.testing.assert_close(found[:, :, row, 2 * pair : 2 * pair + 2], turned, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("trained", [0, 40])
def test_stretched_rotary_is_the_formula(trained: int) -> None:
    """Pairs turn slower by the factor: all of them, or those that turned seldom, by how seldom."""
    width, base, stretch, slow, fast = 10, 300.0, 3.0, 0.5, 3.0
    scheme = Rotary(width, base=base, stretch=stretch, trained=trained, slow=slow, fast=fast)
    ones = torch.tensor([1.0, 0.0]).repeat(width // 2).view(1, 1, 1, width)
    found = scheme.rotate(ones, Where(2, 3))[0, 0, 0]
    kinds = set()
    for pair in range(width // 2):
        speed = base ** (-2 * pair / width)
        turned = trained * speed / (2 * math.pi)
        kept = 0.0 if not trained or turned <= slow else 1.0 if turned >= fast else (turned - slow) / (fast - slow)
        kinds.add("all" if kept == 1 else "none" if kept == 0 else "some")
        angle = 2 * speed * (kept + (1 - kept) / stretch)
        assert found[2 * pair].item() == pytest.approx(math.cos(angle), abs=1e-6)
        assert found[2 * pair + 1].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert kinds == ({"all", "some", "none"} if trained else {"none"})


def test_pairs_are_slow_before_they_are_fast() -> None:
    with pytest.raises(ValueError, match="choose slow below fast"):
        Rotary(4, slow=4.0, fast=4.0)


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    scheme, maker = Rotary(8), torch.Generator().manual_seed(0)
    query, key = torch.randn(1, 1, 1, 8, generator=maker), torch.randn(1, 1, 1, 8, generator=maker)

    def score(asking: int, answering: int) -> Tensor:
        return (
            scheme.rotate(query, Where(asking, asking + 1)) * scheme.rotate(key, Where(answering, answering + 1))
        ).sum()

    torch.testing.assert_close(score(5, 2), score(905, 902), rtol=1e-4, atol=1e-5)
    assert abs(float(score(5, 2) - score(5, 1))) > 0.01


def test_rotary_keeps_the_kind_of_number() -> None:
    assert Rotary(4).rotate(torch.ones(1, 1, 2, 4, dtype=torch.bfloat16), Where(0, 2)).dtype == torch.bfloat16


@pytest.mark.parametrize("heads", [1, 2, 8, 16])
def test_alibi_is_the_formula(heads: int) -> None:
    slopes = Alibi(8).slopes(heads)
    assert slopes is not None
    assert slopes.tolist() == pytest.approx([2 ** (-8 * (head + 1) / heads) for head in range(heads)])


@pytest.mark.parametrize("heads", range(1, 40))
def test_alibi_of_any_number_of_heads_is_that_of_bloom(heads: int) -> None:
    """Whose tensor has m·j for every head and position."""
    slopes = Alibi(8).slopes(heads)
    assert slopes is not None
    theirs = build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), heads, torch.float32)
    assert slopes.tolist() == pytest.approx(theirs[:, 0, 1].tolist())


def test_learned_adds_a_row_of_its_table_for_each_position() -> None:
    scheme, x = Learned(4, limit=6), torch.randn(2, 3, 4)
    torch.testing.assert_close(scheme.embed(x, Where(2, 5)), x + scheme.table.weight[2:5])


def test_learned_says_where_it_ends() -> None:
    scheme = Learned(4, limit=6)
    scheme.embed(torch.zeros(1, 6, 4), Where(0, 6))
    with pytest.raises(InputError, match="position 6 is past the 6 learned positions; .* positions.limit has more"):
        scheme.embed(torch.zeros(1, 1, 4), Where(6, 7))


@pytest.mark.parametrize("kind", [Nowhere, Sinusoidal, Learned, Rotary, Alibi])
def test_a_scheme_speaks_at_its_own_moment_only(kind: type[Positions]) -> None:
    scheme, x = kind(4), torch.randn(1, 3, 4)
    speaks = {
        "embed": not torch.equal(scheme.embed(x, Where(2, 5)), x),
        "rotate": not torch.equal(scheme.rotate(x[None], Where(2, 5)), x[None]),
        "bias": scheme.slopes(2) is not None,
    }
    assert [moment for moment, loud in speaks.items() if loud] == [m for m in speaks if m == scheme.moment]


@pytest.mark.parametrize("kind", [Sinusoidal, Learned])
def test_packed_positions_count_from_the_beginning_of_each_segment(kind: type[Positions]) -> None:
    scheme = kind(4)
    alone = scheme.embed(torch.zeros(1, 3, 4), Where(0, 3))[0]
    found = scheme.embed(torch.zeros(2, 5, 4), packed())
    assert torch.equal(found, alone[packed().within])


def test_packed_rotation_counts_so_too() -> None:
    scheme, x = Rotary(4), torch.ones(2, 3, 5, 4)
    alone = scheme.rotate(torch.ones(1, 1, 3, 4), Where(0, 3))[0, 0]
    found = scheme.rotate(x, packed())
    torch.testing.assert_close(found, alone[packed().within][:, None].expand_as(found))


def test_what_is_not_heard_is_refused_with_what_to_choose() -> None:
    with pytest.raises(ValueError, match="rotary positions turn a dot product, which this attention does not have; "
                                         "choose none, sinusoidal, learned or alibi"):  # fmt: skip
        Rotary(4).check(("bias",), "this attention")
    with pytest.raises(ValueError, match="alibi positions slant attention scores, which a convolution does not have; "
                                         "choose none, sinusoidal or learned"):  # fmt: skip
        Alibi(4).check((), "a convolution")
    for scheme in (Nowhere(4), Sinusoidal(4), Learned(4)):
        scheme.check((), "anybody")


def test_rotary_refuses_heads_with_an_odd_one_out() -> None:
    with pytest.raises(ValueError, match="heads: rotary turns pairs, and a head 3 wide has an odd one out"):
        Rotary(12).check_head(3)
    Rotary(12).check_head(4)
    Sinusoidal(12).check_head(3)
