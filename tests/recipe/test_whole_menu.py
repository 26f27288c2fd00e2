"""The whole menu: every old name is answered, every shelf recipe is a fixed point, every default can be said."""

from typing import Any

import pytest
from walk import check

from regard.recipe import Part, Recipe, RecipeError, recipes
from regard.recipe.read import read
from regard.recipe.renamed import KEYS, KINDS
from regard.training.menu import MENU

# The sections of a recipe and their slots: the task's own from its signature. Keys had other names for translation.
SECTIONS = {"task": "task", "model": "model", "training": "training"} | {
    name: next(slot.name for slot in MENU if slot.abstract is abstract)
    for part in reversed(MENU.parts["task"].values())
    for name, abstract in part.slots.items()
}


@pytest.mark.parametrize("key", KEYS)
def test_every_old_key_is_answered_with_a_new_one_that_is_there(key: str) -> None:
    check(MENU, key, SECTIONS)


@pytest.mark.parametrize(("slot", "old"), KINDS)
def test_every_old_kind_is_answered_with_a_new_one_that_is_there(slot: str, old: str) -> None:
    new = KINDS[slot, old]
    assert new in MENU.slots[slot].entries
    assert old not in MENU.slots[slot].entries
    with pytest.raises(RecipeError, match=rf"^x\.kind: no {slot} is called '{old}'; it is called '{new}' now$"):
        MENU.order(slot, old, "x")


def shelf(name: str) -> Recipe:
    """A recipe of the shelf, told what to learn from where it leaves that to its user."""
    said = read(name)
    if "task" not in said or "data" in said:
        return Recipe.resolve(name, MENU)
    sides = ["data.source=de", "data.target=en"] if said["task"]["kind"] == "translation" else []
    return Recipe.resolve(name, MENU, ["data.train=train", *sides])


@pytest.mark.parametrize("name", sorted(recipes()))
def test_every_shelf_recipe_is_a_fixed_point(name: str) -> None:
    recipe = shelf(name)
    again = Recipe.check(recipe.table(), MENU)
    assert again == recipe
    assert again.table() == recipe.table()


def complete(part: type[Part[Any]]) -> dict[str, Any]:
    """The table of an entry with what it must be told."""
    table: dict[str, Any] = {"kind": part.model_fields["kind"].default}
    for name, field in part.model_fields.items():
        if field.is_required() and name in part.slots:
            inner = next(slot for slot in MENU if slot.abstract is part.slots[name])
            table[name] = complete(next(iter(MENU.parts[inner.name].values())))
        elif field.is_required():
            table[name] = "name"
    return table


@pytest.mark.parametrize(("slot", "kind"), [(slot.name, kind) for slot in MENU for kind in slot.entries])
def test_every_entry_is_a_fixed_point(slot: str, kind: str) -> None:
    made = MENU.order(slot, complete(MENU.parts[slot][kind]), slot)
    assert MENU.order(slot, made.table(), slot).table() == made.table()
