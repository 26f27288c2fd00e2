"""Images of any size, colour or grey, in pieces or at once: always what the model makes of the whole."""

from math import prod

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from regard.errors import NoNumbersError
from regard.model.assembly import ImageRestorer
from regard.tasks.restoration import Restored, Restorer
from regard.tasks.restoration import restorer as module
from regard.tasks.restoration.corruption import Noise
from regard.tasks.restoration.facts import Facts
from regard.tasks.restoration.tiles import tiles


def picture(*shape: int, seed: int = 1) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def restorer(channels: int = 3, scales: int = 3, blocks: int = 1, skips: str = "concatenate") -> Restorer:
    """Drawn weights, with norms that have seen something."""
    torch.manual_seed(1)
    model = ImageRestorer(channels=channels, size=8, width=3, scales=scales, blocks=blocks, skips=skips)  # type: ignore[arg-type]
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean = 0.1 * torch.randn_like(part.running_mean)
            part.running_var = 0.5 + torch.rand_like(part.running_var)
    facts = Facts((8, 8), channels, "crop", (0.4,) * channels, (0.3,) * channels)
    return Restorer(model.eval(), facts, Noise())


@pytest.mark.parametrize(
    ("scales", "blocks", "skips"), [(1, 1, "none"), (3, 1, "concatenate"), (2, 2, "none"), (4, 2, "concatenate")]
)
@pytest.mark.parametrize("shape", [(67, 90), (33, 128)])
def test_a_large_image_in_pieces_is_the_whole(
    scales: int, blocks: int, skips: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, image = restorer(1, scales, blocks, skips), picture(*shape, 1)
    pixels = torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255
    whole = made.facts.unscaled(made.outputs(pixels))
    monkeypatch.setattr(module, "SIDE", 20)
    pieces = made._pieces(torch.from_numpy(image).permute(2, 0, 1)[None])
    torch.testing.assert_close(pieces, whole, rtol=1e-4, atol=1e-5)
    narrow = Restorer(made.model, made.facts, made.corruption)
    monkeypatch.setattr(made.model.body, "reach", 0)
    assert scales == 1 or (narrow._pieces(torch.from_numpy(image).permute(2, 0, 1)[None]) - whole).abs().max() > 1e-3


@pytest.mark.parametrize("length", [1, 7, 8, 20, 41])
def test_tiles_make_up_the_whole_once_and_begin_on_the_grid(length: int) -> None:
    found = list(tiles(length, 10, 5, 4))
    assert [place for tile in found for place in range(length)[tile.kept]] == list(range(length))
    for tile in found:
        assert tile.read.start % 4 == 0
        assert list(range(length)[tile.read])[tile.part] == list(range(length)[tile.kept])
        assert tile.read.stop - tile.kept.stop == min(8, length - tile.kept.stop)


def test_images_keep_their_size_and_their_colours() -> None:
    colour, grey = restorer(3), restorer(1)
    for made in (colour, grey):
        for shape in ((9, 14, 3), (9, 14, 1), (1, 1, 3), (2, 3, 1)):
            image = picture(*shape)
            found = made.restore(image)
            assert found.shape == shape
            assert found.dtype == np.uint8
            assert prod(shape) < 9 or not np.array_equal(found, image)
    image = picture(9, 14, 3)
    each = [grey.restore(image[:, :, [place]]) for place in range(3)]
    assert np.array_equal(grey.restore(image), np.concatenate(each, 2))
    small, least = picture(2, 3, 1), grey.model.least
    whole = np.pad(small, ((0, least - 2), (0, least - 3), (0, 0)), "edge")  # of too few pixels the last are repeated
    assert np.array_equal(grey.restore(small), grey.restore(whole)[:2, :3])
    tinted = colour.restore(np.repeat(image[:, :, :1], 3, 2))
    assert np.abs(colour.restore(image[:, :, :1])[:, :, 0] - tinted.mean(2)).max() <= 1.5


@pytest.mark.parametrize("channels", [1, 3])
def test_a_model_that_gives_back_what_it_gets_changes_no_image(channels: int) -> None:
    made = restorer(channels)
    made.model.forward = lambda pixels: pixels  # type: ignore[method-assign]
    for shape in ((9, 14, 3), (9, 14, 1), (2, 3, 1)):
        assert np.array_equal(made.restore(picture(*shape)), picture(*shape))


def test_a_trial_is_spoilt_by_its_number_and_measured() -> None:
    made, image = restorer(3), picture(20, 30, 3)
    spoilt = made.corrupted(image, 5)
    assert np.array_equal(spoilt, made.corrupted(image, 5))
    assert not np.array_equal(spoilt, made.corrupted(image, 6))
    found = Restored("a", spoilt, made.restore(spoilt), image)
    error = ((spoilt.astype(float) - image) / 255) ** 2
    assert found.psnr["before"] == pytest.approx(-10 * np.log10(error.mean()), abs=1e-3)
    assert Restored("a", spoilt, spoilt).psnr == {}


def test_what_are_no_numbers_is_refused() -> None:
    made = restorer(1)
    nn.init.constant_(made.model.head.bias, float("nan"))
    with pytest.raises(NoNumbersError, match="no numbers any more"):
        made.restore(picture(8, 8, 1))
