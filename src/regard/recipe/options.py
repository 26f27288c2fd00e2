"""What a reader is told of every option: what it wants, what it is by default, and a sentence."""

from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from regard.recipe.menu import Menu
from regard.recipe.part import Part
from regard.recipe.words import wants

MUST = "must be said"


@dataclass(frozen=True)
class Option:
    """One option of an entry as its reader sees it; `slot` names the slot it chooses from, if it does."""

    name: str
    wants: str
    default: str
    about: str
    slot: str = ""


def options(menu: Menu, part: type[Part[Any]]) -> list[Option]:
    """Every option of an entry, in the order of its signature."""
    return [_option(menu, part, name, field) for name, field in part.model_fields.items() if name != "kind"]


def sentence(menu: Menu, part: type[Part[Any]], name: str) -> str:
    """What its signature says of an option; a slot that says nothing of its own is told by what the slot is for."""
    said = part.model_fields[name].description or ""
    if said or name not in part.slots:
        return said
    return capital(menu.slots[menu.slot_of(part.slots[name])].about)


def capital(text: str) -> str:
    """A few words as a sentence."""
    return text if text.endswith(".") else f"{text[:1].upper()}{text[1:]}."


def _option(menu: Menu, part: type[Part[Any]], name: str, field: FieldInfo) -> Option:
    default = MUST if field.is_required() else _said(field.default)
    if name in part.slots:
        slot = menu.slot_of(part.slots[name])
        return Option(name, f"a choice of {slot}", default, sentence(menu, part, name), slot)
    return Option(name, wants(field), default, sentence(menu, part, name))


def _said(default: Any) -> str:
    """A default as a recipe would say it."""
    if isinstance(default, dict):
        return str(default["kind"])
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return '""' if default == "" else str(default)
