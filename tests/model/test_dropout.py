"""Dropout: the share it should drop, the mean it should keep, and nothing that ties one number to another."""

import pytest
import torch

from regard.model.dropout import dropped


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.5, 0.9])
def test_the_share_is_dropped_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(1)
    found = dropped(torch.ones(1000, 1000), share, True)
    spread = (share * (1 - share)) ** 0.5 / 1000
    assert float((found == 0).float().mean()) == pytest.approx(share, abs=4 * spread)
    assert found[found != 0].unique().tolist() == pytest.approx([1 / (1 - share)], rel=1e-3)
    assert float(found.mean()) == pytest.approx(1.0, abs=4 * spread / (1 - share))


def test_numbers_of_one_draw_are_dropped_independently() -> None:
    torch.manual_seed(2)
    kept = (dropped(torch.ones(400_000), 0.5, True) != 0).float().view(-1, 8)
    assert (torch.corrcoef(kept.T) - torch.eye(8)).abs().max() < 0.02
    assert len({tuple(row) for row in kept[:5000, :4].int().tolist()}) == 16


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 7), (0, 4), (2, 3, 5)])
def test_shapes_and_gradients(shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    x = torch.full(shape, 2.0, dtype=torch.float64, requires_grad=True)
    found = dropped(x, 0.25, True)
    assert found.shape == x.shape
    assert found.dtype == x.dtype
    found.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad * 2, found.detach())


def test_nothing_happens_without_training_or_share() -> None:
    x = torch.randn(4, 4)
    assert dropped(x, 0.5, False) is x
    assert dropped(x, 0.0, True) is x
    assert torch.equal(dropped(x, 1.0, True), torch.zeros(4, 4))


def test_a_seed_repeats_it() -> None:
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(dropped(torch.ones(1000), 0.5, True))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_a_layout_that_is_not_contiguous_is_kept_in_order() -> None:
    x = torch.arange(1.0, 13.0).view(3, 4).T
    torch.manual_seed(4)
    found = dropped(x, 0.5, True)
    kept = found != 0
    assert torch.equal(found[kept], 2 * x[kept])
