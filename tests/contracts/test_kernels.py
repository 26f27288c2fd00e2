"""Fast equals naive, in values and gradients, whatever the mask."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.model.attention.kernels import attend
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.positions import Alibi

from .pairs import STACKS, Pair, kernels, of
from .small import blocks_of, some, unchecked

HEADS = [(1, 1), (2, 2), (4, 2), (6, 1)]


def close(one: Tensor, other: Tensor, atol: float) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=atol)


@st.composite
def segmented(draw: st.DrawFn, rows: int, length: int) -> Tensor:
    """Several sequences in a row, each with a number of its own."""
    starts = [draw(st.lists(st.booleans(), min_size=length, max_size=length)) for _ in range(rows)]
    return torch.tensor(starts).long().cumsum(1)


@st.composite
def masks(draw: st.DrawFn, rows: int, length: int) -> Mask:
    """Any mask that self-attention over padded or packed rows can meet."""
    causal, window = draw(st.booleans()), draw(st.none() | st.integers(1, length + 2))
    first = draw(st.integers(0, 4)) if window is not None else 0
    pattern = Mask(causal, window, first)
    lengths = st.lists(st.integers(0, length), min_size=rows, max_size=rows).map(torch.tensor)
    kind = draw(st.sampled_from(["plain", "padded", "keys", "packed", "packed and padded"]))
    if "packed" in kind:
        pattern &= Mask(segments=draw(segmented(rows, length)))
    if "padded" in kind:
        return pattern.padded(draw(lengths))
    return pattern & Mask(key_lengths=draw(lengths)) if kind == "keys" else pattern


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Tensor], View]:
    rows, length = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 5, 13, 23, 37]))
    heads, groups = draw(st.sampled_from(HEADS))
    slopes = Alibi(0).slopes(heads) if draw(st.booleans()) else None
    maker = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    shapes = ((heads, 3), (groups, 3), (groups, draw(st.sampled_from([2, 3, 5]))))
    sizes = [(rows, count, length, width) for count, width in shapes]
    return [torch.randn(size, generator=maker) for size in sizes], View(draw(masks(rows, length)), slopes)


def mixed(tensors: list[Tensor], view: View, kernel: str) -> tuple[Tensor, list[Tensor]]:
    """Values, and gradients of something that weighs every number of them differently."""
    tensors = [tensor.clone().requires_grad_() for tensor in tensors]
    out = attend(*tensors, view, scale=0.6, kernel=kernel)
    waves = torch.cos(torch.arange(out.numel()).view_as(out) * 0.3)
    (out * waves).sum().backward()
    return out.detach(), [tensor.grad for tensor in tensors if tensor.grad is not None]


def compare(tensors: list[Tensor], view: View) -> None:
    naive, wanted = mixed(tensors, view, "naive")
    fast, given = mixed(tensors, view, "flash")
    assert fast.isfinite().all()
    close(fast, naive, 1e-5)
    for one, other in zip(given, wanted, strict=True):
        assert one.isfinite().all()
        close(one, other, 1e-4)
    size = tensors[0].shape[2]
    blind = ~view.visible(size, size, fast.device, slice(None)).any(-1).expand(fast.shape[:3])
    assert (fast[blind] == 0).all()
    assert (naive[blind] == 0).all()


@some
@given(situations(), st.sampled_from([1, 2, 4, 8]))
def test_fast_equals_naive(situation: tuple[list[Tensor], View], block: int) -> None:
    with unchecked(), blocks_of(block):
        compare(*situation)


@some
@given(situations())
def test_fast_equals_naive_when_everything_fits_into_one_block(situation: tuple[list[Tensor], View]) -> None:
    compare(*situation)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("window", "first"), [(40, 0), (130, 0), (40, 5), (129, 130)])
@pytest.mark.parametrize("slanted", [True, False])
def test_at_the_size_of_real_blocks(causal: bool, window: int, first: int, slanted: bool) -> None:
    tensors = [torch.randn(2, heads, 523, 4) for heads in (2, 1, 1)]
    slopes = Alibi(0).slopes(2) if slanted else None
    compare(tensors, View(Mask(causal, window, first).padded(torch.tensor([523, 301])), slopes))


@some
@given(st.integers(1, 6), st.sampled_from([1, 5, 11]), st.sampled_from(HEADS), st.lists(st.integers(0, 11), min_size=3))
def test_across_sequences_too(queries: int, keys: int, heads: tuple[int, int], lengths: list[int]) -> None:
    mask = Mask(key_lengths=torch.tensor([min(length, keys) for length in lengths[:3]]))
    sizes = [(3, heads[0], queries, 3), (3, heads[1], keys, 3), (3, heads[1], keys, 3)]
    tensors = [torch.randn(size, generator=torch.Generator().manual_seed(1)) for size in sizes]
    naive, wanted = mixed(tensors, View(mask), "naive")
    fast, given = mixed(tensors, View(mask), "flash")
    close(fast, naive, 1e-5)
    for one, other in zip(given, wanted, strict=True):
        close(one, other, 1e-4)
    assert (fast[mask.key_lengths == 0] == 0).all()


def passed(model: Any, stack: str, mask: Mask) -> tuple[Tensor, list[Tensor]]:
    """States of a whole stack, and the gradient of every parameter and input."""
    model.zero_grad()
    x = torch.randn(3, 19, 24, generator=torch.Generator().manual_seed(2)).requires_grad_()
    out = model.encoder(x, mask).states if stack == "encoder" else model.decoder(x, None, mask)
    waves = torch.cos(torch.arange(out.numel()).view_as(out) * 0.3)
    (out * waves).sum().backward()
    parameters = getattr(model, stack).parameters()
    return out.detach(), [each.grad for each in (x, *parameters) if each.grad is not None]


def families() -> list[list[Pair]]:
    """Legal pairs that differ in nothing but the kernel."""
    found: dict[tuple[str, ...], list[Pair]] = {}
    for pair in (pair for stack in STACKS for pair in of(stack)):
        if pair.refusal() is None and len(kernels(pair.attention)) > 1:
            found.setdefault((pair.stack, pair.attention, pair.pattern, pair.positions, pair.inside), []).append(pair)
    return list(found.values())


@pytest.mark.parametrize("family", families(), ids=lambda family: str(family[0]))
def test_whole_stacks_agree_on_every_kernel(family: list[Pair]) -> None:
    stack, models = family[0].stack, [pair.build() for pair in family]  # one seed, so the same weights
    segments = torch.tensor([[0] * 7 + [1] * 12, [0] * 19, [0] + [1] * 17 + [2]])
    masks = [Mask(key_lengths=torch.tensor([19, 8, 0])), Mask(segments=segments)]
    assert {pair.kernel for pair in family} == set(kernels(family[0].attention))
    for mask in masks:
        with unchecked(), blocks_of(4):
            (wanted, gradients), *others = (passed(model, stack, mask) for model in models)
        for out, its_gradients in others:
            close(out, wanted, 1e-5)
            for one, other in zip(its_gradients, gradients, strict=True):
                close(one, other, 1e-4)
