"""Types in words: what an option wants, as its reader would say it."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Interval, Le, Lt, MaxLen
from pydantic.fields import FieldInfo

from regard.recipe.part import FILE

WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
MANY = {int: "whole numbers", float: "numbers", str: "texts"}


def wants(field: FieldInfo) -> str:
    """`a whole number ≥ 1`, `one of auto, float32, bfloat16`."""
    return _wants(field.annotation, field.metadata)


def _wants(hint: Any, about: list[Any]) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _wants(inner[0], [*inner[1:], *about])
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}" if len(inner) > 1 else str(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(_wants(each, []) for each in inner)
    if origin is list:
        return f"a list of {_many(inner[0], about)}"
    if FILE in about:
        return "a file"
    bounds = [bound for each in about for bound in _bounds(each)]
    return " ".join([WORDS.get(hint, str(hint)), *([" and ".join(bounds)] if bounds else [])])


def _many(hint: Any, about: list[Any]) -> str:
    """`texts`, `2 whole numbers ≥ 1`."""
    one, said = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    counts = [str(each.max_length) for each in _noted(about) if isinstance(each, MaxLen)]
    bounds = [bound for each in said for bound in _bounds(each)]
    return " ".join([*counts, MANY.get(one, str(one)), *([" and ".join(bounds)] if bounds else [])])


def _noted(about: list[Any]) -> list[Any]:
    return [note for each in about for note in (each.metadata if isinstance(each, FieldInfo) else [each])]


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
