"""Every variation of an image: what it does, to whom, and that chance is drawn for all rows at once."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.tasks.images.augmentation import Draws, Random
from regard.tasks.images.augmentation import colours as C
from regard.tasks.images.augmentation.boxes import boxes, coverings, inside
from regard.tasks.images.augmentation.geometry import move, shear, shifted, turn, warped
from regard.tasks.images.augmentation.policy import OPERATIONS, operated

ALL: dict[str, Any] = {
    "crop_padding": 2,
    "flip": 0.5,
    "colour": 0.3,
    "operations": 3,
    "magnitude": 0.9,
    "mixup": 0.4,
    "cutmix": 1.0,
    "erase": 0.5,
}


def images(rows: int = 5, channels: int = 3, height: int = 7, width: int = 11, seed: int = 0) -> Tensor:
    return torch.rand(rows, channels, height, width, generator=torch.Generator().manual_seed(seed))


def chance(*numbers: int) -> np.random.Generator:
    return np.random.default_rng(numbers)


def test_a_shift_is_a_crop_of_an_image_whose_edges_are_repeated() -> None:
    pixels = images(rows=3)
    by = torch.tensor([[0, 0], [2, -1], [-3, 2]])
    found = shifted(pixels, by, torch.tensor([False, False, True]))
    padded = torch.nn.functional.pad(pixels, (3, 3, 3, 3), "replicate")
    assert torch.equal(found[0], pixels[0])
    assert torch.equal(found[1], padded[1, :, 1:8, 4:15])
    assert torch.equal(found[2].flip(2), padded[2, :, 6:13, 5:16][:, :, :])


def test_mirrored_twice_is_the_image_itself() -> None:
    pixels, still, all_ = images(), torch.zeros(5, 2, dtype=torch.long), torch.ones(5, dtype=torch.bool)
    assert torch.equal(shifted(pixels, still, all_), pixels.flip(3))


@pytest.mark.parametrize("shape", [(8, 8), (6, 12)])
def test_a_turn_by_half_a_circle_is_both_mirrors_and_nothing_is_nothing(shape: tuple[int, int]) -> None:
    pixels = images(2, 1, *shape)
    still, half = torch.tensor([0.0, 0.0]), torch.tensor([torch.pi, torch.pi])
    torch.testing.assert_close(warped(pixels, turn(still)), pixels)
    torch.testing.assert_close(warped(pixels, shear(still, still)), pixels)
    torch.testing.assert_close(warped(pixels, turn(half)), pixels.flip(2, 3))


def test_a_turn_keeps_its_angle_in_a_rectangle() -> None:
    """A quarter of a turn puts a square of the middle where it belongs, whatever the sides."""
    pixels = images(1, 1, 6, 12)
    found = warped(pixels, turn(torch.tensor([torch.pi / 2])))
    middle = pixels[0, 0, :, 3:9]
    assert any(torch.allclose(found[0, 0, :, 3:9], torch.rot90(middle, k), atol=1e-5) for k in (1, 3))


def test_a_move_goes_by_halves_of_the_smaller_side() -> None:
    pixels = images(1, 1, 6, 12)
    found = warped(pixels, move(torch.tensor([2 / 3]), torch.tensor([0.0])))  # two pixels of half of six
    torch.testing.assert_close(found[..., :-2], pixels[..., 2:])


def test_colours_at_their_neutral_point_change_nothing_and_stay_within_bounds() -> None:
    pixels, one, many = images(), torch.ones(5), torch.linspace(0, 3, 5)
    for change in (C.brightness, C.contrast, C.saturation, C.sharpness):
        torch.testing.assert_close(change(pixels, one), pixels)
        found = change(pixels, many)
        assert found.min() >= 0
        assert found.max() <= 1
        assert not torch.equal(found, pixels)


def test_colours_do_what_they_say() -> None:
    pixels, none = images(), torch.zeros(5)
    assert not C.brightness(pixels, none).any()
    assert C.contrast(pixels, none).flatten(1).std(1).max() < 1e-6
    grey = C.saturation(pixels, none)
    torch.testing.assert_close(grey[:, 0], grey[:, 2])
    torch.testing.assert_close(grey[:, :1], (pixels * torch.tensor(C.WEIGHTS)[:, None, None]).sum(1, keepdim=True))
    assert C.posterize(pixels, torch.full((5,), 3.0)).unique().tolist() == [0.0, 0.5, 1.0]
    torch.testing.assert_close(C.solarize(pixels, none), 1 - pixels)
    torch.testing.assert_close(C.solarize(pixels, torch.ones(5)), pixels)
    wide = C.autocontrast(pixels * 0.3 + 0.2)
    torch.testing.assert_close(wide.amax((2, 3)), torch.ones(5, 3))
    torch.testing.assert_close(wide.amin((2, 3)), torch.zeros(5, 3))


def test_equalized_shades_are_about_as_frequent_and_a_plain_image_stays() -> None:
    dark = images(2, 1, 32, 32) ** 2 * 0.5
    found = C.equalize(dark)
    parts = torch.histc(found[0], 4, 0, 1) / found[0].numel()
    assert parts.sub(0.25).abs().max() < 0.08
    assert torch.histc(dark[0], 4, 0, 1)[0] / dark[0].numel() > 0.6
    plain = torch.full((2, 3, 4, 4), 0.4)
    assert torch.equal(C.equalize(plain), plain)
    assert torch.equal(C.autocontrast(plain), plain)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_operation_changes_the_images_it_is_chosen_for_alone(name: str, channels: int) -> None:
    pixels = images(4, channels, 8, 8) * 0.7 + 0.1
    number = list(OPERATIONS).index(name)
    chosen = torch.tensor([[0], [number], [0], [number]])
    found = operated(pixels, chosen, torch.tensor([[0.9], [0.9], [-0.9], [-0.9]]))
    assert torch.equal(found[0::2], pixels[0::2])
    assert found.min() >= 0
    assert found.max() <= 1
    same = torch.allclose(found[1::2], pixels[1::2], atol=1e-5)
    assert same == (name == "leave" or (name == "saturation" and channels == 1))
    once = operated(pixels[1:2], chosen[1:2], torch.tensor([[0.9]]))
    torch.testing.assert_close(found[1:2], once)  # alone as among others


def test_an_operation_without_strength_changes_nothing() -> None:
    pixels, none = images(2), torch.zeros(2)
    for name, operation in OPERATIONS.items():
        if name not in ("autocontrast", "equalize"):  # which have no strength
            torch.testing.assert_close(operation(pixels, none), pixels, rtol=0, atol=1 / 255)


def test_operations_across_leave_rows_as_they_are_and_those_down_columns() -> None:
    rows, full = images(1, 1, 8, 1).expand(1, 1, 8, 8), torch.ones(1)
    for name in ("shear", "move"):
        across, down = OPERATIONS[f"{name} across"], OPERATIONS[f"{name} down"]
        torch.testing.assert_close(across(rows, full), rows)
        torch.testing.assert_close(down(rows.mT, full), rows.mT)
        assert (across(rows.mT, full) - rows.mT).abs().max() > 0.1
        assert (down(rows, full) - rows).abs().max() > 0.1


def test_a_turn_at_full_strength_is_thirty_degrees() -> None:
    pixels = images(1, 1, 8, 8)
    expected = warped(pixels, turn(torch.tensor([torch.pi / 6])))
    torch.testing.assert_close(OPERATIONS["turn"](pixels, torch.ones(1)), expected, rtol=0, atol=0.02)


def test_operations_follow_one_another() -> None:
    pixels = images(1, 3, 8, 8)
    bright, solar = (list(OPERATIONS).index(name) for name in ("brightness", "solarize"))
    two = operated(pixels, torch.tensor([[bright, solar]]), torch.tensor([[0.5, 0.5]]))
    first = operated(pixels, torch.tensor([[bright]]), torch.tensor([[0.5]]))
    torch.testing.assert_close(two, operated(first, torch.tensor([[solar]]), torch.tensor([[0.5]])))


def test_boxes_cover_their_share_and_stay_inside() -> None:
    share = np.full(2000, 0.25)
    found = boxes(share, (20, 30), chance(1))
    inner = inside(found, (20, 30)).float().mean((1, 2, 3))
    assert inner.max() == pytest.approx(0.25, abs=0.02)
    assert 0.1 < inner.mean() < 0.25  # some are cut off at the edge
    assert found.min() >= 0
    assert found[:, 1].max() <= 20
    assert found[:, 3].max() <= 30
    assert not inside(boxes(np.zeros(5), (4, 4), chance(2)), (4, 4)).any()


def test_as_many_are_covered_as_are_to_be() -> None:
    covered = inside(coverings(1000, 0.3, (16, 16), chance(1)), (16, 16)).flatten(1).any(1).float().mean()
    assert covered == pytest.approx(0.3, abs=0.05)


def test_coverings_have_the_sizes_and_shapes_of_random_erasing() -> None:
    top, bottom, left, right = coverings(1000, 1.0, (128, 128), chance(1)).unbind(1)
    whole = (top > 0) & (bottom < 128) & (left > 0) & (right < 128)  # not cut off at the edge
    height, width = (bottom - top)[whole], (right - left)[whole]
    share, form = height * width / 128**2, width / height
    assert 0.015 < share.min() < 0.03
    assert 0.28 < share.max() < 0.345
    assert 0.28 < form.min() < 0.4
    assert 2.5 < form.max() < 3.6


def test_what_is_covered_has_the_mean_colour_of_its_own_image() -> None:
    augmentation, pixels = Random(erase=1.0), images(6, 3, 16, 16)
    drawn = augmentation.draw(6, (16, 16), chance(1)).each
    covered = inside(drawn["covered"], (16, 16))
    expected = torch.where(covered, pixels.mean((2, 3), keepdim=True), pixels)
    torch.testing.assert_close(augmentation.vary(pixels, drawn), expected)


def test_chance_goes_as_far_as_each_number_says() -> None:
    drawn = Random(crop_padding=2, flip=0.2, colour=0.3, operations=2, magnitude=0.4).draw(1000, (8, 8), chance(1)).each
    assert drawn["shift"].unique().tolist() == [-2, -1, 0, 1, 2]
    assert drawn["mirrored"].float().mean() == pytest.approx(0.2, abs=0.05)
    assert (drawn["colour"].amin(0) - 0.7).abs().max() < 0.01
    assert (drawn["colour"].amax(0) - 1.3).abs().max() < 0.01
    assert drawn["strengths"].min() == pytest.approx(-0.4, abs=0.01)
    assert drawn["strengths"].max() == pytest.approx(0.4, abs=0.01)
    assert drawn["operations"].unique().tolist() == list(range(len(OPERATIONS)))


def test_colours_change_in_light_contrast_and_saturation() -> None:
    augmentation, pixels = Random(colour=0.3), images()
    drawn = augmentation.draw(5, (7, 11), chance(1)).each
    light, apart, vivid = drawn["colour"].unbind(1)
    expected = C.saturation(C.contrast(C.brightness(pixels, light), apart), vivid)
    torch.testing.assert_close(augmentation.vary(pixels, drawn), expected)


def test_nothing_is_done_unless_it_is_asked_for() -> None:
    plain = Random()
    drawn = plain.draw(5, (7, 11), chance(1))
    assert drawn.each == {}
    assert drawn.partner is None
    assert torch.equal(plain.vary(images(), drawn.each), images())


def test_chance_is_a_function_of_what_it_is_seeded_with() -> None:
    one, same, other = (Random(**ALL).draw(6, (8, 8), chance(*seeds)) for seeds in ((1, 2), (1, 2), (1, 3)))
    assert one.each.keys() == same.each.keys()
    assert all(torch.equal(drawn, same.each[name]) for name, drawn in one.each.items())
    assert any(not torch.equal(drawn, other.each[name]) for name, drawn in one.each.items())


@pytest.mark.parametrize("option", [{key: value} for key, value in ALL.items() if key not in ("magnitude",)], ids=str)
def test_a_row_is_varied_alike_alone_and_among_others(option: dict[str, Any]) -> None:
    augmentation, pixels = Random(**option), images(6, 3, 8, 8)
    drawn = augmentation.draw(6, (8, 8), chance(7))
    whole = augmentation.vary(pixels, drawn.each)
    chosen = torch.tensor([4, 1])
    torch.testing.assert_close(augmentation.vary(pixels[chosen], drawn.rows(chosen)), whole[chosen])
    assert whole.min() >= 0
    assert whole.max() <= 1
    mixes = {"mixup", "cutmix"} & option.keys()
    assert torch.equal(whole, pixels) == bool(mixes)
    assert (drawn.partner is not None) == bool(mixes)


def test_mixup_lays_two_over_each_other() -> None:
    augmentation, pixels, others = Random(mixup=1.0), images(50, 1, 4, 4), images(50, 1, 4, 4, seed=1)
    drawn = augmentation.draw(50, (4, 4), chance(1))
    found, share = augmentation.mix(pixels, others, drawn.each)
    expected = share[:, None, None, None] * pixels + (1 - share[:, None, None, None]) * others
    torch.testing.assert_close(found, expected)
    assert share.min() < 0.2
    assert share.max() > 0.8


def test_cutmix_takes_a_rectangle_and_knows_its_size() -> None:
    augmentation, pixels, others = Random(cutmix=1.0), torch.zeros(50, 1, 16, 16), torch.ones(50, 1, 16, 16)
    drawn = augmentation.draw(50, (16, 16), chance(1))
    found, share = augmentation.mix(pixels, others, drawn.each)
    assert set(found.unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(share, 1 - found.mean((1, 2, 3)))
    assert share.std() > 0.1


def test_shares_are_drawn_with_the_alpha_that_is_said() -> None:
    """Beta(α, α) has a variance of 1 / (4 (2α + 1)): a small α mixes little, a large one halves."""
    for alpha in (0.2, 5.0):
        share = Random(mixup=alpha).draw(4000, (4, 4), chance(1)).each["share"]
        assert share.var() == pytest.approx(1 / (8 * alpha + 4), rel=0.1)
        assert share.mean() == pytest.approx(0.5, abs=0.03)
    cut = inside(Random(cutmix=100.0).draw(500, (32, 32), chance(1)).each["cut"], (32, 32)).float().mean((1, 2, 3))
    assert cut.max() == pytest.approx(0.5, abs=0.1)


def test_with_both_half_of_the_images_are_cut_and_half_laid_over() -> None:
    augmentation = Random(mixup=1.0, cutmix=1.0)
    drawn = augmentation.draw(1000, (16, 16), chance(1))
    found, _ = augmentation.mix(torch.zeros(1000, 1, 16, 16), torch.ones(1000, 1, 16, 16), drawn.each)
    over = (found.flatten(1).std(1) == 0) & (found.flatten(1).mean(1) > 0)
    assert over.float().mean() == pytest.approx(0.5, abs=0.06)
    assert drawn.partner is not None
    assert torch.equal(drawn.partner, (torch.arange(1000) + 1) % 1000)


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_a_share_that_chance_cannot_draw_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: 0.001 is as good as none"):
        Random(**{name: 0.001})  # type: ignore[arg-type]


def test_draws_of_some_rows_are_those_rows() -> None:
    drawn = Draws({"a": torch.arange(5)})
    assert drawn.rows(torch.tensor([3, 0]))["a"].tolist() == [3, 0]
