"""PSNR and structural similarity, held against plain loops over their formulas."""

import numpy as np
import pytest
import torch

from regard.tasks.restoration.likeness import psnr, ssim


def pictures(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    chance = torch.Generator().manual_seed(1)
    clean = torch.rand(shape, generator=chance)
    return (clean + 0.2 * torch.randn(shape, generator=chance)).clamp(0, 1), clean


def test_psnr_is_the_error_in_decibels() -> None:
    clean = torch.full((2, 3, 4, 5), 0.5)
    off = clean + torch.tensor([0.1, 0.01])[:, None, None, None]
    torch.testing.assert_close(psnr(off, clean), torch.tensor([20.0, 40.0]), rtol=1e-4, atol=0)
    assert psnr(clean, clean).tolist() == [100, 100]


@pytest.mark.parametrize("shape", [(1, 2, 13, 15), (2, 1, 11, 11), (1, 1, 3, 20), (1, 3, 1, 1)])
def test_structural_similarity_is_the_formula_of_every_window(shape: tuple[int, ...]) -> None:
    images, clean = (each.double() for each in pictures(*shape))
    found = ssim(images, clean)
    for row in range(shape[0]):
        each = [_slow(images[row, c].numpy(), clean[row, c].numpy()) for c in range(shape[1])]
        assert float(found[row]) == pytest.approx(np.mean(each), abs=1e-9)


def _slow(one: np.ndarray, other: np.ndarray) -> float:
    """Wang et al. 2004, one window after the other; smaller ones where the image is smaller."""
    tall, wide = (2 * ((min(11, side) - 1) // 2) + 1 for side in one.shape)
    down, along = (np.exp(-((np.arange(n) - n // 2) ** 2) / (2 * 1.5**2)) for n in (tall, wide))
    weights = np.outer(down / down.sum(), along / along.sum())
    found = []
    for y in range(one.shape[0] - tall + 1):
        for x in range(one.shape[1] - wide + 1):
            a, b = one[y : y + tall, x : x + wide], other[y : y + tall, x : x + wide]
            mean, mean2 = (weights * a).sum(), (weights * b).sum()
            spread, spread2 = (weights * (a - mean) ** 2).sum(), (weights * (b - mean2) ** 2).sum()
            both = (weights * (a - mean) * (b - mean2)).sum()
            upper = (2 * mean * mean2 + 0.01**2) * (2 * both + 0.03**2)
            found.append(upper / ((mean**2 + mean2**2 + 0.01**2) * (spread + spread2 + 0.03**2)))
    return float(np.mean(found))


def test_the_same_image_is_wholly_like_itself_and_its_negative_is_not() -> None:
    _, clean = pictures(2, 1, 16, 16)
    torch.testing.assert_close(ssim(clean, clean), torch.ones(2))
    assert (ssim(1 - clean, clean) < 0).all()
