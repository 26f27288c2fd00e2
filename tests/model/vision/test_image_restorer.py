"""The U-Net: an image of the same size comes out, and skips carry what the smallest picture cannot."""

from typing import Any

import pytest
import torch
from torch import nn

from regard.errors import InputError
from regard.model.build import build
from regard.recipe import RecipeError


def restorer(**options: Any) -> nn.Module:
    torch.manual_seed(0)
    return build({"model": {"kind": "image_restorer", "channels": 2, "size": 8, "width": 4} | options}).eval()


@pytest.mark.parametrize("skips", ["concatenate", "none"])
@pytest.mark.parametrize("shape", [(8, 8), (9, 13), (4, 31), (5, 4)])
def test_any_size_comes_out_as_it_went_in(shape: tuple[int, int], skips: str) -> None:
    pixels = torch.randn(3, 2, *shape)
    assert restorer(skips=skips, blocks=2)(pixels).shape == pixels.shape


@pytest.mark.parametrize("skips", ["concatenate", "none"])
def test_only_skips_get_past_the_smallest_picture(skips: str) -> None:
    model, (one, other) = restorer(skips=skips), torch.randn(2, 1, 2, 8, 8)
    assert not torch.allclose(model(one), model(other))
    model.body.down[-1].register_forward_hook(lambda _, __, out: torch.ones_like(out))
    assert torch.allclose(model(one), model(other)) == (skips == "none")


def test_one_scale_is_a_plain_network_without_skips() -> None:
    model = restorer(scales=1)
    assert len(model.body.up) == 0
    assert model(torch.randn(1, 2, 1, 1)).shape == (1, 2, 1, 1)


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(RecipeError, match="scales: images of 8 cannot be halved 4 times"):
        restorer(scales=5)
    for shape in ((3, 8, 8), (2, 3, 8)):
        given = "×".join(map(str, shape))
        with pytest.raises(
            InputError, match=f"^wanted images of 2 numbers a pixel, 4 pixels or more a side, given {given}$"
        ):
            restorer()(torch.zeros(1, *shape))


def test_noise_is_taken_away_better_with_skips() -> None:
    """Sixty steps on random dots: where they are does not fit into the smallest picture."""
    left = {}
    for skips in ("concatenate", "none"):
        model, chance = restorer(skips=skips, channels=1, width=8, scales=3).train(), torch.Generator().manual_seed(1)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        for _ in range(60):
            clean = (torch.rand(16, 1, 8, 8, generator=chance) > 0.7).float()
            noisy = clean + 0.3 * torch.randn(clean.shape, generator=chance)
            loss = (model(noisy) - clean).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        left[skips] = float(loss.detach())
    assert left["concatenate"] < 0.07 < 2 * left["concatenate"] < left["none"]
