"""Image bodies."""

import pytest
import torch

from regard.errors import InputError
from regard.model.build import build
from regard.recipe import RecipeError


@pytest.mark.parametrize(
    "encoder", [{"kind": "transformer", "pattern": "causal"}, {"kind": "recurrent", "direction": "forward"}]
)
def test_a_first_token_that_sees_nothing_is_refused(encoder: dict[str, str]) -> None:
    body = {"kind": "patches", "width": 16, "patch": 4, "encoder": encoder}
    with pytest.raises(RecipeError, match=r"model\.body: pooling: \[CLS\] stands first"):
        build({"model": {"kind": "image_classifier", "size": 8, "body": body}})
    build({"model": {"kind": "image_classifier", "size": 8, "body": body | {"pooling": "mean"}}})


def test_patches_must_divide_the_image() -> None:
    with pytest.raises(RecipeError, match="patches of 5 do not divide images of 8"):
        build({"model": {"kind": "image_classifier", "size": 8, "body": {"kind": "patches", "patch": 5}}})


@pytest.mark.parametrize("body", ["patches", "resnet"])
@pytest.mark.parametrize("shape", [(3, 8, 16), (3, 16, 16), (1, 8, 8)])
def test_images_of_another_shape_are_refused(body: str, shape: tuple[int, int, int]) -> None:
    """A row of patches too many would be read as if they stood elsewhere."""
    sizes = {"patch": 4, "width": 16} if body == "patches" else {"width": 4, "blocks": 1}
    model = build({"model": {"kind": "image_classifier", "size": 8, "body": {"kind": body, **sizes}}}).eval()
    assert model(torch.zeros(1, 3, 8, 8)).shape == (1, 10)
    with pytest.raises(InputError, match="^wanted images of 3×8×8 numbers, given " + "×".join(map(str, shape)) + "$"):
        model(torch.zeros(1, *shape))


@pytest.mark.parametrize("encoder", [{"kind": "recurrent", "cell": "lstm"}, {"kind": "convolution"}])
def test_rows_of_pixels_are_a_sequence(encoder: dict[str, str]) -> None:
    """Patches as wide as the image: each row is a token for a recurrent or a convolutional stack."""
    body = {"kind": "patches", "width": 16, "patch": [1, 12], "pooling": "mean", "encoder": encoder}
    model = build({"model": {"kind": "image_classifier", "channels": 1, "size": [7, 12], "body": body}}).eval()
    heard = []
    model.body.encoder.register_forward_hook(lambda _, given, out: heard.append((given[0], out.states)))
    pixels = torch.randn(2, 1, 7, 12)
    assert model(pixels).shape == (2, 10)
    tokens, states = heard[0]
    assert tokens.shape == states.shape == (2, 7, 16)
    torch.testing.assert_close(tokens[:, 3], model.body.embed.project(pixels[:, 0, 3]))


@pytest.mark.parametrize("size", [[8, 12], [12, 8]])
def test_images_need_not_be_squares(size: list[int]) -> None:
    model = build({"model": {"kind": "image_classifier", "size": size, "body": {"kind": "patches", "patch": [4, 2]}}})
    assert model.image_shape == tuple(size)
    assert (model.body.grid.rows, model.body.grid.columns) == (size[0] // 4, size[1] // 2)
    with pytest.raises(
        InputError, match=f"^wanted images of 3×{size[0]}×{size[1]} numbers, given 3×{size[1]}×{size[0]}$"
    ):
        model(torch.zeros(1, 3, *size[::-1]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"size": [8, 8, 8]},
            r"model\.size: wanted a whole number ≥ 1 or a list of 2 whole numbers ≥ 1, given \[8, 8, 8\]",
        ),
        ({"size": 0}, r"model\.size: wanted a whole number ≥ 1 or a list of 2 whole numbers ≥ 1, given 0"),
        ({"size": [10**9, 8]}, r"model\.size: given 1,000,000,000, and 16,777,216 is the most"),
        ({"size": [8, 9]}, r"model\.body: patch: patches of 4 do not divide images of 8×9"),
    ],
)
def test_shapes_that_cannot_be_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError, match=f"^{said}"):
        build({"model": {"kind": "image_classifier", "body": {"kind": "patches", "patch": 4}} | given})


@pytest.mark.parametrize("patch", [2, 4, 8])
def test_convolutions_make_as_many_patches(patch: int) -> None:
    body = {"kind": "patches", "width": 16, "patch": patch, "stem": "convolution"}
    model = build({"model": {"kind": "image_classifier", "size": [16, 8], "body": body}}).eval()
    pixels = torch.randn(2, 3, 16, 8)
    vectors = model.body.embed(pixels)
    assert vectors.shape == (2, 16 * 8 // patch**2, 16)
    other = pixels.clone()
    other[..., -1, -1] += 1  # the last pixel is seen by the last patch, and not by the first
    changed = (model.body.embed(other) != vectors).any(-1)
    assert changed[:, -1].all()
    assert not changed[:, 0].any()


@pytest.mark.parametrize("patch", [1, 6, [4, 2]])
def test_convolutions_halve_and_nothing_else(patch: object) -> None:
    body = {"kind": "patches", "width": 12, "patch": patch, "stem": "convolution"}
    with pytest.raises(RecipeError, match=r"model\.body: stem: convolutions halve both sides again and again"):
        build({"model": {"kind": "image_classifier", "size": 24, "body": body}})


def test_tokens_that_nobody_reads_change_what_others_find() -> None:
    body = {"kind": "patches", "width": 16, "patch": 4, "registers": 2, "pooling": "mean"}
    model = build({"model": {"kind": "image_classifier", "size": 8, "body": body}}).eval()
    pixels = torch.ones(1, 3, 8, 8)
    before = model(pixels)
    torch.nn.init.normal_(model.body.registers)
    assert not torch.allclose(model(pixels), before)
