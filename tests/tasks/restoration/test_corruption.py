"""How images are spoilt: as the formulas say, each by itself, and always alike where nothing is learnt."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.tasks.restoration.corruption import Corruption, FewerPixels, Noise, Squares, drawn_for

KINDS = [Noise(strength=0.2, varies=0.5), Squares(count=3), FewerPixels(factor=3)]


def chance(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def pixels(rows: int = 5, channels: int = 3, shape: tuple[int, int] = (12, 10)) -> torch.Tensor:
    return torch.rand(rows, channels, *shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_each_image_is_spoilt_by_itself_and_stays_between_black_and_white(kind: Corruption) -> None:
    clean = pixels()
    drawn = kind.draw(5, 3, (12, 10), chance())
    made = kind.corrupt(clean, drawn)
    assert made.shape == clean.shape
    assert 0 <= made.min() < made.max() <= 1
    assert (made != clean).flatten(1).any(1).all()
    for row in range(5):
        alone = kind.corrupt(clean[row : row + 1], {name: each[row : row + 1] for name, each in drawn.items()})
        assert_close(alone, made[row : row + 1], rtol=0, atol=0)
    assert torch.equal(clean, pixels())  # nothing is changed in place


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_held_out_images_are_spoilt_alike_in_any_company(kind: Corruption) -> None:
    together, alone = drawn_for(kind, [4, 7], 3, (12, 10)), drawn_for(kind, [7], 3, (12, 10))
    for name, each in together.items():
        assert len(each) == 2
        assert torch.equal(each[1:], alone[name])
        assert not torch.equal(each[:1], alone[name])
    assert drawn_for(kind, [], 3, (12, 10)) == {}


def test_noise_has_the_strength_that_was_asked_for() -> None:
    grey = torch.full((4, 1, 100, 100), 0.5)
    kind = Noise(strength=0.1)
    made = kind.corrupt(grey, kind.draw(4, 1, (100, 100), chance()))
    assert_close((made - grey).std((1, 2, 3)), torch.full((4,), 0.1), rtol=0.05, atol=0)
    assert (made - grey).mean().abs() < 0.002
    red, green, _ = kind.draw(1, 3, (100, 100), chance())["noise"][0]
    assert (red * green).mean().abs() < 0.001  # every colour has its own


def test_noise_that_varies_spares_each_image_another_share_of_it() -> None:
    grey, kind = torch.full((50, 1, 40, 40), 0.5), Noise(strength=0.1, varies=0.8)
    spread = (kind.corrupt(grey, kind.draw(50, 1, (40, 40), chance())) - grey).std((1, 2, 3))
    assert spread.max() < 0.105
    assert spread.min() < 0.04
    assert spread.min() > 0.018


def test_squares_are_grey_and_square_in_any_shape() -> None:
    clean, kind = torch.zeros(30, 2, 20, 40), Squares(count=1, side=0.5)
    made = kind.corrupt(clean, kind.draw(30, 2, (20, 40), chance()))
    assert set(made.unique().tolist()) == {0.0, 0.5}
    tall, wide = (made[:, 0] > 0).any(2).sum(1), (made[:, 0] > 0).any(1).sum(1)
    assert tall.max() == wide.max() == 10
    assert torch.equal(made[:, 0], made[:, 1])


def test_fewer_pixels_keep_what_is_even_and_lose_what_is_finer() -> None:
    kind = FewerPixels(factor=2)
    even = torch.full((1, 1, 7, 9), 0.3)
    assert_close(kind.corrupt(even, {}), even)
    stripes = torch.tensor([0.0, 1.0]).repeat(8).expand(1, 1, 16, 16)
    assert_close(kind.corrupt(stripes, {}), torch.full((1, 1, 16, 16), 0.5))
    assert FewerPixels(factor=64).corrupt(pixels(1, 1, (1, 3)), {}).shape == (1, 1, 1, 3)


@pytest.mark.parametrize(
    ("kind", "more"), [(Squares, {"count": 65}), (Squares, {"side": 1.1}), (FewerPixels, {"factor": 65})]
)
def test_what_cannot_be_is_refused(kind: type, more: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(more))}: "):
        kind(**more)
