"""Watching: weights on demand, none formed unasked, and nobody left watching afterwards."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.model.attention import Multihead, Site
from regard.model.build import build
from regard.model.mask import Mask
from regard.model.menu import MENU
from regard.model.watch import Sight, Tap, watch

RECIPE: dict[str, Any] = {
    "kind": "language_model",
    "vocab_size": 11,
    "width": 12,
    "decoder": {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 3}},
}


def model(**options: Any) -> nn.Module:
    torch.manual_seed(0)
    table = RECIPE | {"decoder": RECIPE["decoder"] | options}
    return build({"model": table}).eval()


def tokens(length: int) -> Tensor:
    return torch.randint(11, (2, length), generator=torch.Generator().manual_seed(0))


def test_every_attention_is_seen_by_its_name() -> None:
    watched = model()
    with watch(watched) as seen:
        watched(tokens(7))
    assert list(seen) == ["decoder.layers.0.attention", "decoder.layers.1.attention"]
    assert seen["decoder.layers.1.attention"].weights.shape == (2, 3, 7, 7)


def test_nothing_is_weighed_until_someone_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, weighed = model(), []
    weigh = Multihead.weigh
    monkeypatch.setattr(
        Multihead,
        "weigh",
        lambda self, asked, keys, view, rows: weighed.append(rows) or weigh(self, asked, keys, view, rows),
    )
    watched(tokens(7))
    with watch(watched) as seen:
        watched(tokens(7))
    assert weighed == []
    seen["decoder.layers.0.attention"].rows(2, 4)
    assert weighed == [slice(2, 4)]


def test_only_the_rows_asked_for_are_formed() -> None:
    """10,000 positions, of which three are looked at."""
    attention = Multihead(Site(4), heads=1)
    with watch(attention) as seen, torch.no_grad():
        attention(torch.randn(1, 10_000, 4), None, Mask(causal=True))
    (sight,) = seen.values()
    assert sight.rows(9_997, 10_000).shape == (1, 1, 3, 10_000)


def test_weights_carry_no_gradient() -> None:
    watched = model()
    with watch(watched) as seen:
        watched(tokens(5)).sum().backward()
    assert not seen["decoder.layers.0.attention"].weights.requires_grad


@pytest.mark.parametrize("pattern", MENU.parts["pattern"])
@pytest.mark.parametrize("sizes", [(4, 1, 1, 3, 6), (1,) * 15])
def test_steps_add_up_to_the_whole(pattern: str, sizes: tuple[int, ...]) -> None:
    """Columns are positions, also when the memory has forgotten most of them and used their room again."""
    narrow = {"width": 3, "first": 2}
    options = {name: size for name, size in narrow.items() if name in MENU.parts["pattern"][pattern].model_fields}
    watched, target = model(pattern={"kind": pattern} | options), tokens(15)
    with watch(watched) as at_once, torch.no_grad():
        watched(target)
    with watch(watched) as by_step, torch.no_grad():
        memory = watched.start(rows=2)
        for part in target.split(list(sizes), 1):
            watched.step(part, memory)
    for name, sight in at_once.items():
        torch.testing.assert_close(by_step[name].weights, sight.weights, rtol=1e-4, atol=1e-6)
        last = by_step[name].rows(13, 15, head=1)
        torch.testing.assert_close(last, sight.rows(13, 15, head=1), rtol=1e-4, atol=1e-6)


def test_two_who_watch_one_after_another_see_their_own() -> None:
    watched = model()
    with watch(watched) as first:
        watched(tokens(3))
    with watch(watched) as second:
        watched(tokens(5))
    name = "decoder.layers.0.attention"
    assert (first[name].weights.shape[2], second[name].weights.shape[2]) == (3, 5)


def test_who_watches_within_blinds_nobody() -> None:
    watched, name = model(), "decoder.layers.0.attention"
    with watch(watched) as outer:
        watched(tokens(3))
        with watch(watched) as inner:
            watched(tokens(5))
        watched(tokens(2))
    assert [glance.rows for glance in outer[name].glances] == [3, 5, 2]
    assert [glance.rows for glance in inner[name].glances] == [5]


def test_two_who_watch_may_leave_in_any_order() -> None:
    watched, name = model(), "decoder.layers.0.attention"
    first, second = watch(watched), watch(watched)
    one, other = first.__enter__(), second.__enter__()
    watched(tokens(3))
    first.__exit__(None, None, None)
    watched(tokens(5))
    second.__exit__(None, None, None)
    watched(tokens(2))
    assert [glance.rows for glance in one[name].glances] == [3]
    assert [glance.rows for glance in other[name].glances] == [3, 5]
    assert not any(tap.watched for tap in watched.modules() if isinstance(tap, Tap))


LINEAR = {"attention": {"kind": "linear", "heads": 3}}


@pytest.mark.parametrize("sizes", [(4, 1, 1, 3, 6), (1,) * 15])
def test_linear_attention_shows_its_effective_weights_step_by_step(sizes: tuple[int, ...]) -> None:
    watched, target = model(**LINEAR), tokens(15)
    with watch(watched) as at_once, torch.no_grad():
        watched(target)
    with watch(watched) as by_step, torch.no_grad():
        memory = watched.start(rows=2)
        for part in target.split(list(sizes), 1):
            watched.step(part, memory)
    for name, sight in at_once.items():
        torch.testing.assert_close(by_step[name].weights, sight.weights, rtol=1e-4, atol=1e-6)


def test_linear_attention_keeps_keys_only_while_watched() -> None:
    watched, name = model(**LINEAR), "decoder.layers.0.attention"
    with torch.no_grad():
        plain, memory = watched.start(rows=2), watched.start(rows=2)
        with watch(watched) as seen:
            watched.step(tokens(4), memory)
        watched.step(tokens(4), plain)
        assert memory.nbytes > plain.nbytes
        out, wanted = watched.step(tokens(1), memory), watched.step(tokens(1), plain)
        assert torch.equal(out, wanted)
        assert memory.nbytes == plain.nbytes
        with watch(watched) as late:  # what came before is a sum by now: no weights can be told
            watched.step(tokens(1), memory)
    assert seen[name].weights.shape == (2, 3, 4, 4)
    assert not late[name].seen


def test_nobody_is_left_watching_after_a_failure() -> None:
    watched = model()
    with pytest.raises(IndexError), watch(watched):
        raise IndexError
    assert not any(tap.watched for tap in watched.modules() if isinstance(tap, Tap))


def test_what_was_not_seen_is_said() -> None:
    with pytest.raises(ValueError, match="no weights were seen"):
        _ = Sight().weights


def test_a_tap_adds_nothing_to_a_saved_model() -> None:
    assert not any("tap" in name for name in model().state_dict())
