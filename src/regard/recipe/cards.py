"""The menu as its readers see it: plain texts of every slot, choice and option, with no class behind them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from regard.recipe.menu import Menu
from regard.recipe.options import Option, options
from regard.recipe.prose import described


@dataclass(frozen=True)
class KindCard:
    """One choice: what it is in a sentence, `more` about it, and its options."""

    kind: str
    about: str
    more: str
    options: list[Option]


@dataclass(frozen=True)
class SlotCard:
    """One slot: what it is for, what is taken if nothing is said, and its choices."""

    name: str
    about: str
    default: str
    kinds: list[KindCard]


@dataclass(frozen=True)
class Cards:
    """The whole menu. `other_names` are keys of recipes that choose from a slot of another name: data from pairs."""

    slots: list[SlotCard]
    other_names: dict[str, str]

    def table(self) -> dict[str, Any]:
        """Plain tables, as JSON has them."""
        return asdict(self)

    @classmethod
    def of(cls, menu: Menu) -> "Cards":
        """What a menu says of itself."""
        slots = [
            SlotCard(slot.name, slot.about, slot.default, [
                KindCard(kind, *described(part.entry), options(menu, part))
                for kind, part in menu.parts[slot.name].items()
            ])
            for slot in menu
        ]  # fmt: skip
        chosen = [option for slot in slots for kind in slot.kinds for option in kind.options if option.slot]
        return cls(slots, {option.name: option.slot for option in chosen if option.name not in menu.slots})

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> "Cards":
        """From what `table` gave."""
        return cls([_slot(slot) for slot in table["slots"]], dict(table["other_names"]))


def _slot(table: Mapping[str, Any]) -> SlotCard:
    return SlotCard(table["name"], table["about"], table["default"], [
        KindCard(kind["kind"], kind["about"], kind["more"], [Option(**option) for option in kind["options"]])
        for kind in table["kinds"]
    ])  # fmt: skip
