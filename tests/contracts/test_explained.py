"""Every option of every entry is explained by a sentence, and says what it wants in words."""

import re
from typing import Annotated, Any, Literal

import pytest
from annotated_doc import Doc

from regard.recipe import Count, Menu, Part, Slot, choose
from regard.recipe.options import Option, options
from regard.training.menu import MENU

ALL = [(slot.name, kind) for slot in MENU for kind in slot.entries]
RANGE = r"( [≥><] [\d.]+( and [<≤] [\d.]+)?)?"
PLAIN = re.compile(
    rf"a (whole )?number{RANGE}( or a list of (\d )?(whole )?numbers{RANGE})?|a list of (\d )?(whole )?numbers{RANGE}"
    r"|a text|a file|true or false|one of \w+(, \w+)+"
    r"|a choice of \w+|(a text or )?a list of texts|a text or a whole number|true or false or inputs"
    r"|auto or a whole number ≥ 1"
)


def faults(option: Option) -> list[str]:
    said = option.about
    found = [
        (15 <= len(said) <= 160, "is not 15 to 160 characters long"),
        (said[:1].isupper() and said.endswith("."), "is no sentence"),
        (said.strip(".").lower() != option.name.replace("_", " "), "says the name again"),
        (not re.search(r"\[\w*\d", said), "points to a place"),
        (PLAIN.fullmatch(option.wants) is not None, f"wants {option.wants!r}, which is not in words"),
    ]
    return [f"{option.name}: {said!r} {fault}" for right, fault in found if not right]


@pytest.mark.parametrize(("slot", "kind"), ALL)
def test_every_option_has_a_sentence(slot: str, kind: str) -> None:
    assert [fault for option in options(MENU, MENU.parts[slot][kind]) for fault in faults(option)] == []


def test_all_are_walked_and_slips_are_found() -> None:
    assert sum(len(options(MENU, MENU.parts[slot][kind])) for slot, kind in ALL) > 200

    class Wheel:
        """Turns."""

    class Round(Wheel):
        def __init__(self, *, spokes: Count = 3, rim: Annotated[Any, Doc("Rim.")] = 1, hub: Count = 2) -> None: ...

    class Cart:
        def __init__(
            self,
            *,
            wheel: Part[Wheel] = choose("round"),
            spare: Annotated[Part[Wheel], Doc("A wheel that is only carried along.")] = choose("round"),
            load: Annotated[Annotated[Count, Doc("In general.")], Doc("Weight in kilograms.")] = 9,
            horse: Annotated[Literal["none", "one"], Doc("Who draws it.")] = "none",
        ) -> None: ...

    menu = Menu(
        Slot("wheel", Wheel, "what the cart runs on", {"round": Round}), Slot("cart", Cart, "goes", {"plain": Cart})
    )
    assert [len(faults(each)) for each in options(menu, menu.parts["wheel"]["round"])] == [2, 3, 2]
    assert options(menu, menu.parts["cart"]["plain"]) == [
        Option("wheel", "a choice of wheel", "round", "What the cart runs on.", "wheel"),
        Option("spare", "a choice of wheel", "round", "A wheel that is only carried along.", "wheel"),
        Option("load", "a whole number ≥ 1", "9", "Weight in kilograms."),
        Option("horse", "one of none, one", "none", "Who draws it."),
    ]
