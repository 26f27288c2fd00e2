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
