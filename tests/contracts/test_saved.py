"""Saved and opened is the same: a written recipe holds everything but the weights."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

from regard.model.build import build
from regard.model.menu import MENU
from regard.recipe import Part, Recipe

from .pairs import PAIRS
from .small import Case, answerers, bodies, decoders, encoders, every, models, unchecked
from .trained import batch


def complete(part: Part[Any], table: dict[str, Any]) -> None:
    """Every option of every part is written out."""
    assert set(table) == set(type(part).model_fields)
    for name in type(part).slots:
        complete(getattr(part, name), table[name])


def reopened(case: Case, folder: Path) -> tuple[Recipe, Recipe]:
    """A recipe as it was checked, and as it is read from the file it was written to."""
    recipe = Recipe.check({"name": "it", "about": "a test", "model": case.table}, MENU)
    (folder / "it.toml").write_text(tomli_w.dumps(recipe.table()))
    return recipe, Recipe.resolve(str(folder / "it.toml"), MENU)


@every([*models(), *bodies(), *encoders(), *decoders(), *answerers()])
def test_a_model_made_from_the_written_recipe_gives_the_same(case: Case, tmp_path: Path) -> None:
    recipe, again = reopened(case, tmp_path)
    assert again.table() == recipe.table()
    complete(recipe.model, tomllib.loads((tmp_path / "it.toml").read_text())["model"])
    model = case.build()
    with unchecked(), torch.no_grad():
        opened = build(again).eval()
        inputs, _ = batch(model)
        before = opened(*inputs)
        opened.load_state_dict(model.state_dict())
        assert torch.equal(opened(*inputs), model(*inputs))
        assert not torch.equal(before, model(*inputs))


@pytest.mark.parametrize("case", [pair for pair in PAIRS if pair.refusal() is None], ids=str)
def test_the_recipe_of_every_pair_survives_writing(case: Case, tmp_path: Path) -> None:
    recipe, again = reopened(case, tmp_path)
    written = (tmp_path / "it.toml").read_text()
    complete(again.model, tomllib.loads(written)["model"])
    assert again.table() == recipe.table()
    assert tomli_w.dumps(again.table()) == written
