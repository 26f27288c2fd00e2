"""regard.menu and regard.recipes: what can be chosen, and what can be made at once."""

from typing import Any, overload

from regard.commands.menu_search import search
from regard.commands.recipes import recipe_facts, time_of
from regard.errors import InputError, RecipeError
from regard.figures import count, text_table
from regard.markup import table
from regard.recipe import Menu, Slot
from regard.recipe.cards import Cards
from regard.training.menu import MENU

HEADS = ("recipe", "task", " parameters", "training here", "about")


class RecipeList(dict[str, str]):
    """The recipes that come with Regard: what each is about, by its name; printed, a table with sizes and times."""

    def __init__(self, facts: dict[str, dict[str, Any]]) -> None:
        super().__init__({name: str(one["about"]) for name, one in facts.items()})
        self.facts = facts
        """All that is known of each: its task, its parameters, the seconds that its training takes here."""

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (name, str(one.get("task") or ""), count(one.get("parameters") or 0), time_of(one), str(one["about"]))
            for name, one in self.facts.items()
        ]

    def __str__(self) -> str:
        return text_table(HEADS[:-1], [row[:-1] for row in self._rows()])

    def _repr_html_(self) -> str:
        return table(HEADS, self._rows())


def recipes() -> RecipeList:
    """The recipes that come with Regard: how large each is, and about how long it trains on this machine.

    `regard.recipes()["gpt-char"]` says what one is about, `regard.recipes().facts["gpt-char"]` its figures.
    """
    return RecipeList(recipe_facts())


@overload
def menu() -> Menu: ...


@overload
def menu(slot: str) -> Slot: ...


def menu(slot: str = "") -> Menu | Slot:
    """The whole menu, every slot with its choices; or one slot: `regard.menu("attention")`.

    `regard.menu().add(…)` puts a part of your own on it.
    """
    if not isinstance(slot, str):
        raise InputError(f"slot: wanted the name of a slot, given {type(slot).__name__}")
    if slot and slot not in MENU.slots and (hits := search(Cards.of(MENU), slot)):
        name, key = hits[0].name, "".join(hits[0].set[:1])
        raise RecipeError(f"{slot}: no slot; it is {name}: {key}; see regard.menu({name.split()[0]!r})")
    return MENU[slot] if slot else MENU
