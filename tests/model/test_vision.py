"""Image bodies."""

import pytest

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
