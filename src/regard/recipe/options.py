"""What a reader is told of every option: what it wants, what it is by default, and a sentence."""

from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Interval, Le, Lt
from pydantic.fields import FieldInfo

from regard.recipe.menu import Menu
from regard.recipe.part import FILE, Part

MUST = "must be said"
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


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
    return Option(name, _wants(field.annotation, field.metadata), default, sentence(menu, part, name))


def _said(default: Any) -> str:
    """A default as a recipe would say it."""
    if isinstance(default, dict):
        return str(default["kind"])
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return '""' if default == "" else str(default)


def _wants(hint: Any, about: list[Any]) -> str:
    """A type in words: `a whole number ≥ 1`, `one of auto, float32`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _wants(inner[0], [*inner[1:], *about])
    if origin is Literal:
        return f"one of {', '.join(str(choice) for choice in inner)}"
    if origin in (Union, UnionType):
        return " or ".join(_wants(each, []) for each in inner)
    if origin is list:
        return f"a list, each {_wants(inner[0], [])}"
    if FILE in about:
        return "a file"
    bounds = [bound for each in about for bound in _bounds(each)]
    return " ".join([WORDS.get(hint, str(hint)), *([" and ".join(bounds)] if bounds else [])])


def _bounds(about: Any) -> list[str]:
    """`≥ 1` of what pydantic notes about a type, or nothing."""
    if isinstance(about, FieldInfo | Interval):
        return [
            bound for each in (about.metadata if isinstance(about, FieldInfo) else about) for bound in _bounds(each)
        ]
    match about:
        case Ge(bound):
            return [f"≥ {bound}"]
        case Gt(bound):
            return [f"> {bound}"]
        case Le(bound):
            return [f"≤ {bound}"]
        case Lt(bound):
            return [f"< {bound}"]
    return []
