"""Masks say by structure who sees whom; joined by `&` they mean what their drawings have in common."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.model.mask import Mask, places

LENGTH, ROWS = 9, 2
AT = torch.arange(LENGTH)
many = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))

LENGTHS = st.none() | st.lists(st.integers(0, LENGTH), min_size=ROWS, max_size=ROWS).map(torch.tensor)
STARTS = st.lists(st.booleans(), min_size=LENGTH, max_size=LENGTH)
SEGMENTS = st.lists(STARTS, min_size=ROWS, max_size=ROWS).map(lambda starts: torch.tensor(starts).long().cumsum(1))


@st.composite
def masks(draw: st.DrawFn, segments: st.SearchStrategy[Tensor | None]) -> Mask:
    window = draw(st.none() | st.integers(1, LENGTH))
    first = draw(st.integers(0, 3)) if window is not None else 0
    return Mask(draw(st.booleans()), window, first, draw(LENGTHS), draw(LENGTHS), draw(segments))


def dense(mask: Mask) -> Tensor:
    return mask.dense(AT, AT).expand(ROWS, 1, LENGTH, LENGTH)


def joined(one: Mask, other: Mask) -> Mask | None:
    try:
        return one & other
    except ValueError:
        return None


@many
@given(masks(st.none()), masks(st.none()))
def test_joining_is_the_intersection(one: Mask, other: Mask) -> None:
    both = joined(one, other)
    if both is not None:
        assert torch.equal(dense(both), dense(one) & dense(other))


@many
@given(masks(SEGMENTS), SEGMENTS)
def test_joining_segments_is_the_intersection(one: Mask, segments: Tensor) -> None:
    """Without global positions: those count from the beginning of a segment, so they move with it."""
    one = Mask(one.causal, one.window, 0, one.key_lengths, one.query_lengths, one.segments)
    other = Mask(segments=segments)
    assert torch.equal(dense(one & other), dense(one) & dense(other))


@many
@given(masks(SEGMENTS | st.none()), masks(st.none()))
def test_the_order_of_joining_does_not_matter(one: Mask, other: Mask) -> None:
    here, there = joined(one, other), joined(other, one)
    assert (here is None) == (there is None)
    if here is not None and there is not None:
        assert torch.equal(dense(here), dense(there))


def test_windows_are_refused_only_where_the_union_would_need_two() -> None:
    narrow, wide = Mask(window=2, first=3), Mask(window=4, first=1)
    with pytest.raises(ValueError, match="narrower has no more global positions"):
        narrow & wide
    assert (Mask(window=2, first=1) & Mask(window=4, first=3)).first == 1
    assert (Mask(window=4, first=3) & Mask(window=4, first=1)).first == 1
    assert (narrow & Mask(causal=True)).first == 3


@many
@given(masks(SEGMENTS | st.none()))
def test_nothing_joined_changes_nothing(mask: Mask) -> None:
    assert torch.equal(dense(mask & Mask()), dense(mask))
    assert torch.equal(dense(Mask() & mask), dense(mask))


@many
@given(masks(st.none()), st.integers(0, LENGTH), st.integers(0, LENGTH))
def test_part_of_a_mask_is_a_cut_out_of_the_whole(mask: Mask, start: int, stop: int) -> None:
    part = mask.dense(AT[start:stop], AT)
    assert torch.equal(part, mask.dense(AT, AT)[:, :, start:stop])


def test_a_drawing_shows_who_sees_whom() -> None:
    assert str(Mask(causal=True)) == "\n".join(
        [
            "■ · · · · ·",
            "■ ■ · · · ·",
            "■ ■ ■ · · ·",
            "■ ■ ■ ■ · ·",
            "■ ■ ■ ■ ■ ·",
            "■ ■ ■ ■ ■ ■",
        ]
    )


def test_a_drawing_shows_window_and_global_positions() -> None:
    assert str(Mask(window=2, first=1)) == "\n".join(
        [
            "■ ■ ■ ■ ■ ■",
            "■ ■ ■ · · ·",
            "■ ■ ■ ■ · ·",
            "■ · ■ ■ ■ ·",
            "■ · · ■ ■ ■",
            "■ · · · ■ ■",
        ]
    )


def test_a_drawing_shows_every_row_of_a_batch() -> None:
    packed = Mask(causal=True, segments=torch.tensor([[0, 0, 1], [0, 1, 1]]))
    assert str(packed) == "■ · ·\n■ ■ ·\n· · ■\n\n■ · ·\n· ■ ·\n· ■ ■"


def test_global_positions_count_from_the_beginning_of_each_segment() -> None:
    mask = Mask(causal=True, window=1, first=1, segments=torch.tensor([[0, 0, 0, 1, 1, 1]]))
    assert str(mask) == "\n".join(
        [
            "■ · · · · ·",
            "■ ■ · · · ·",
            "■ · ■ · · ·",
            "· · · ■ · ·",
            "· · · ■ ■ ·",
            "· · · ■ · ■",
        ]
    )


def test_padding_neither_sees_nor_is_seen() -> None:
    seen = Mask().padded(torch.tensor([3, 0]))
    grid = seen.dense(AT, AT)[:, 0]
    assert grid[0, :3, :3].all()
    assert grid.sum() == 9


def test_lengths_given_twice_are_still_known_to_be_the_same() -> None:
    """Decoders with padded rows keep the fast causal kernel only if they know it."""
    lengths = torch.tensor([3, 5])
    assert (Mask(causal=True) & Mask(key_lengths=lengths).padded(lengths)).pads_last
    assert not (Mask(causal=True) & Mask(key_lengths=lengths)).pads_last


@many
@given(SEGMENTS)
def test_places_count_from_zero_in_every_segment(segments: Tensor) -> None:
    for row, found in zip(segments.tolist(), places(segments).tolist(), strict=True):
        wanted = [row[:i].count(number) for i, number in enumerate(row)]
        assert found == wanted


def test_the_structure_is_what_holds_for_every_batch() -> None:
    mask = Mask(True, 3, 1, torch.tensor([2]), torch.tensor([2]), torch.tensor([[0, 1]]))
    assert mask.structure().key_lengths is None
    assert mask.structure().segments is None
    assert (mask.structure().causal, mask.structure().window, mask.structure().first) == (True, 3, 1)
