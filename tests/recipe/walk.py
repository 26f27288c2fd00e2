"""A walk through a menu: which keys a recipe may say."""

from collections.abc import Iterator, Mapping
from typing import Any

from regard.recipe import Menu, Part, RecipeError
from regard.recipe.renamed import KEYS


def parts(menu: Menu, place: str, sections: Mapping[str, str]) -> list[type[Part[Any]]]:
    """All entries that may stand at a place such as `model.decoder`."""
    first, *steps = place.split(".")
    found = list(menu.parts[sections[first]].values())
    for step in steps:
        inner = {part.slots[step] for part in found if step in part.slots}
        found = [part for slot in menu if slot.abstract in inner for part in menu.parts[slot.name].values()]
    return found


def exists(menu: Menu, key: str, sections: Mapping[str, str]) -> bool:
    """Whether any recipe may say this key."""
    place, _, name = key.rpartition(".")
    if not place:
        return name in sections
    return any(name in part.model_fields for part in parts(menu, place, sections))


def answers(menu: Menu, key: str, sections: Mapping[str, str]) -> Iterator[str]:
    """What is said to a recipe with an old key, for every kind that could have had it."""
    place, _, name = key.rpartition(".")
    for part in parts(menu, place, sections):
        slot = next(each for each in menu if part in menu.parts[each.name].values())
        table = {"kind": part.model_fields["kind"].default, name: 1}
        for inner, abstract in part.slots.items():  # what must be said so that the old key is reached
            if part.model_fields[inner].is_required():
                table[inner] = next(iter(next(each for each in menu if each.abstract is abstract).entries))
        try:
            menu.order(slot.name, table, place)
        except RecipeError as error:
            yield str(error)


def check(menu: Menu, key: str, sections: Mapping[str, str]) -> None:
    """An old key is unknown now, answered with its new name, and that one is there."""
    assert exists(menu, KEYS[key], sections), KEYS[key]
    assert not exists(menu, key, sections), key
    if "." in key:
        said = list(answers(menu, key, sections))
        assert said
        for answer in said:
            assert f"{key}: unknown; it is called {KEYS[key]} now" in answer.splitlines()
