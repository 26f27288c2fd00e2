"""The menu as its readers see it: plain texts of every slot, choice and option, with no class behind them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from regard.recipe.menu import Menu
from regard.recipe.options import Option, options
from regard.recipe.prose import described


@dataclass(frozen=True)
class KindCard:
    """One choice: what it is in a sentence, `more` about it, its options, and who `added` it if not Regard."""

    kind: str
    about: str
    more: str
    options: list[Option]
    added: str = ""


@dataclass(frozen=True)
class SlotCard:
    """One slot: what it is for, what is taken if nothing is said, and its choices."""

    name: str
    about: str
    default: str
    kinds: list[KindCard]


@dataclass(frozen=True)
class Cards:
    """The whole menu. `other_names` are keys of recipes that choose from slots of other names: data from pairs, or, for
    another task, from texts."""

    slots: list[SlotCard]
    other_names: dict[str, list[str]]

    def table(self) -> dict[str, Any]:
        """Plain tables, as JSON has them."""
        return asdict(self)

    @classmethod
    def of(cls, menu: Menu) -> "Cards":
        """What a menu says of itself."""
        slots = [
            SlotCard(slot.name, slot.about, slot.default, [
                KindCard(kind, *described(part.entry), options(menu, part), slot.added.get(kind, ""))
                for kind, part in menu.parts[slot.name].items()
            ])
            for slot in menu
        ]  # fmt: skip
        names: dict[str, list[str]] = {}
        for option in (option for slot in slots for kind in slot.kinds for option in kind.options):
            if option.slot and option.name not in menu.slots and option.slot not in names.setdefault(option.name, []):
                names[option.name].append(option.slot)
        return cls(slots, names)

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> "Cards":
        """From what `table` gave."""
        return cls([_slot(slot) for slot in table["slots"]], dict(table["other_names"]))


def _slot(table: Mapping[str, Any]) -> SlotCard:
    return SlotCard(table["name"], table["about"], table["default"], [
        KindCard(**(kind | {"options": [Option(**option) for option in kind["options"]]})) for kind in table["kinds"]
    ])  # fmt: skip
