"""What is kept between steps: all of it in order, a window of it, or a few fixed tensors."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.model.memory import Held, KeysValues, Memory, Past, Sliding
from regard.model.memory.branches import Branches
from regard.model.memory.entry import columns
from regard.model.positions import Where

many = settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))
CUTS = st.lists(st.integers(1, 7), min_size=1, max_size=9)


def numbered(start: int, stop: int, rows: int = 2) -> tuple[Tensor, Tensor]:
    """Keys and values that say where they stood and in which row."""
    at = torch.arange(start, stop).float().view(1, 1, -1, 1) + 1000 * torch.arange(rows).view(-1, 1, 1, 1)
    return at.expand(-1, 3, -1, 5).clone(), -at.expand(-1, 3, -1, 2).clone()


def put(memory: Past, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Keys and values of rows that began together."""
    return memory.append(keys, values, Where(memory.length, memory.length + keys.shape[2]))


def told(memory: Past, cuts: list[int]) -> list[tuple[int, Tensor, Tensor, Tensor]]:
    """What is given back after every cut, with the position before it; good until the next."""
    given, start = [], 0
    for size in cuts:
        given.append((start, *(kept.clone() for kept in put(memory, *numbered(start, start + size)))))
        start += size
    return given


@many
@given(CUTS)
def test_keys_and_values_come_back_whole_and_in_order(cuts: list[int]) -> None:
    memory = KeysValues()
    *_, (_, keys, values, at) = told(memory, cuts)
    total = sum(cuts)
    wanted_keys, wanted_values = numbered(0, total)
    assert torch.equal(keys, wanted_keys)
    assert torch.equal(values, wanted_values)
    assert at.tolist() == list(range(total))
    assert memory.length == total
    assert memory.nbytes == 4 * 2 * 3 * total * (5 + 2)


@many
@given(CUTS, st.integers(1, 6), st.integers(0, 5))
def test_a_window_keeps_what_may_still_be_seen(cuts: list[int], width: int, first: int) -> None:
    memory = Sliding(width, first)
    for (start, keys, values, at), size in zip(told(memory, cuts), cuts, strict=True):
        stood = at.tolist()
        assert stood == sorted(set(stood))
        assert torch.equal(keys[0, 0, :, 0], at.float())
        assert torch.equal(values[1, 2, :, 1], -(at.float() + 1000))
        assert stood[-size:] == list(range(start, start + size))  # the queries are the last of them
        needed = {j for i in range(start, start + size) for j in range(i + 1) if i - j < width or j < first}
        assert needed <= set(stood)
        assert size > 1 or set(stood) == needed  # one step needs no mask
    assert memory.length == sum(cuts)


@many
@given(CUTS, st.integers(1, 6), st.integers(0, 5))
def test_a_window_never_grows(cuts: list[int], width: int, first: int) -> None:
    memory = Sliding(width, first)
    told(memory, [*cuts, 5])
    size = memory.nbytes
    put(memory, *numbered(memory.length, memory.length + 30))
    assert memory.nbytes == size == 4 * 2 * 3 * (width + min(first, memory.length)) * (5 + 2)


@many
@given(CUTS, st.sampled_from([KeysValues, lambda: Sliding(3, 0), lambda: Sliding(2, 4)]), st.data())
def test_rows_change_places(cuts: list[int], make: type[KeysValues], data: st.DataObject) -> None:
    rows = torch.tensor(data.draw(st.lists(st.integers(0, 1), min_size=1, max_size=4)))
    memory, unmoved = make(), make()
    told(memory, cuts)
    told(unmoved, cuts)
    memory.reorder(rows)
    new = numbered(sum(cuts), sum(cuts) + 2)
    keys, values, at = put(memory, new[0][rows], new[1][rows])
    wanted_keys, wanted_values, wanted_at = put(unmoved, *new)
    assert torch.equal(keys, wanted_keys[rows])
    assert torch.equal(values, wanted_values[rows])
    assert torch.equal(at, wanted_at)


def test_what_is_moved_no_longer_shares_anything() -> None:
    """Two beams from one row must not write over each other."""
    memory = KeysValues()
    put(memory, *numbered(0, 4))
    memory.reorder(torch.tensor([0, 0]))
    keys, values = numbered(4, 5)
    given, _, _ = put(memory, keys, values)
    assert given[0, 0, -1, 0] == 4
    assert given[1, 0, -1, 0] == 1004
    assert torch.equal(given[0, :, :4], given[1, :, :4])


def test_held_tensors_are_replaced_and_counted() -> None:
    held = Held(torch.zeros(2, 3))
    held.replace(torch.ones(2, 3))
    assert held.nbytes == 24
    held.reorder(torch.tensor([1, 1, 0]))
    assert held.held[0].shape == (3, 3)


def test_a_memory_is_all_its_entries() -> None:
    lengths = torch.tensor([4, 2])
    memory = Memory(2, [KeysValues(), KeysValues()], source_lengths=lengths)
    for entry in memory.layers:
        assert isinstance(entry, KeysValues)
        put(entry, *numbered(0, 3))
    memory.advance(3)
    assert memory.length == 3
    assert memory.nbytes == sum(entry.nbytes for entry in memory) + lengths.nbytes == 2 * 504 + lengths.nbytes
    memory.reorder(torch.tensor([1]))
    assert memory.source_mask().key_lengths.tolist() == [2]
    assert Memory(1).length == 0
    assert Memory(1).source_mask().key_lengths is None


@pytest.mark.parametrize("steps", [1, 10])
def test_buffers_grow_by_doubling_so_most_steps_copy_nothing(steps: int) -> None:
    memory = KeysValues()
    put(memory, *numbered(0, 64))
    put(memory, *numbered(64, 65))
    before = memory.tensors()[0].data_ptr()
    for step in range(65, 65 + steps):
        put(memory, *numbered(step, step + 1))
    assert memory.tensors()[0].data_ptr() == before


def test_a_wide_window_costs_no_more_than_what_is_in_it() -> None:
    """And is right at whatever width it has grown to."""
    wide, all_kept = Sliding(100_000, 2), KeysValues()
    steps = torch.randn(1, 2, 300, 4, generator=torch.Generator().manual_seed(0)).split([1, 1, 5, 100, 1, 192], 2)
    at = 0
    for step in steps:
        where = Where(at, at + step.shape[2])
        at += step.shape[2]
        found, wanted = (memory.append(step, 2 * step, where) for memory in (wide, all_kept))
        for one, other in zip(found, wanted, strict=True):
            assert torch.equal(one, other)
    assert wide.nbytes < 5 * 300 * 2 * 2 * 4 * 4


def test_what_was_only_pretended_is_not_met_again() -> None:
    """`regard describe` runs a model on tensors without numbers; what is kept for all steps must not be one of them."""
    with FakeTensorMode():
        assert columns(0, 5000, torch.device("cpu")).shape == (5000,)
    assert columns(3, 5000, torch.device("cpu")).tolist() == list(range(3, 5000))
    with FakeTensorMode():
        assert columns(0, 7, torch.device("cpu")).shape == (7,)


def test_branches_know_where_columns_stand_after_fewer_steps_than_they_made_room_for() -> None:
    """Three steps ahead of two hypotheses, of which one was taken, and one after it."""
    branches = Branches([*numbered(0, 4)], share=2)
    assert branches.ahead(Where(4, 7)) is not None
    branches.taken(torch.ones(2, 1, 2, 6, dtype=torch.bool), less=2)
    keys, _, at = branches.append(*numbered(5, 6, rows=4), Where(5, 6))
    assert at.tolist() == [0, 1, 2, 3, 4, 4, 5, 5]
    assert keys.shape[2] == branches.visible.shape[3] == len(at)
