"""Whether a class can stand on the menu: what is wrong with it is said where it is added, not when it is used."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, ClassVar, get_origin

from pydantic import ConfigDict, ValidationError, create_model

from regard.errors import RecipeError
from regard.recipe.part import Part, part_of
from regard.recipe.slot import Slot

NAME = re.compile(r"[a-z][a-z0-9_]*")


def check_entry(slot: Slot, kind: str, entry: type, named: Mapping[type, str]) -> None:
    """Refuse what is no part for a slot; `named` are the slots by their abstract classes."""
    said = f"{slot.name} {kind!r}"
    if not isinstance(kind, str) or not NAME.fullmatch(kind):
        raise RecipeError(f"{said}: wanted a name of small letters, digits and _, such as 'cosine'")
    if not isinstance(entry, type):
        raise RecipeError(f"{said}: wanted a class, given {repr(entry).splitlines()[0]}")
    if not issubclass(entry, slot.abstract):
        where = f"{slot.abstract.__module__}.{slot.abstract.__qualname__}"
        raise RecipeError(f"{said}: {entry.__name__} is no {slot.abstract.__name__}; make it a subclass of {where}")
    missing = sorted([*getattr(entry, "__abstractmethods__", ()), *_unsaid(slot.abstract, entry)])
    if missing:
        raise RecipeError(f"{said}: {entry.__name__} does not say {', '.join(missing)}, as {_name(slot)} must")
    if not (vars(entry).get("__doc__") or "").strip():
        raise RecipeError(f"{said}: {entry.__name__} has no docstring; its first line is what the menu says of it")
    _check_name(slot, kind, entry)
    _check_constructor(slot, said, entry, named)


def _unsaid(abstract: type, entry: type) -> list[str]:
    """What the abstract class declares for all and leaves to each: a task's `metrics`."""
    declared = {name: hint for kind in abstract.__mro__ for name, hint in vars(kind).get("__annotations__", {}).items()}
    there = {name for kind in entry.__mro__ for name in vars(kind)}
    return [name for name, hint in declared.items() if get_origin(hint) is ClassVar and name not in there]


def _check_name(slot: Slot, kind: str, entry: type) -> None:
    before = slot.entries.get(kind)
    if before is None:
        return
    if kind not in slot.added:
        raise RecipeError(f"{slot.name} {kind!r}: comes with Regard; choose another name")
    if (before.__module__, before.__qualname__) != (entry.__module__, entry.__qualname__):
        raise RecipeError(f"{slot.name} {kind!r}: was added by {slot.added[kind]}; choose another name, or remove it")


def _check_constructor(slot: Slot, said: str, entry: type, named: Mapping[type, str]) -> None:
    parameters = inspect.signature(entry).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            raise RecipeError(f"{said}: {entry.__name__} takes {parameter}; name every option, each after a *")
    _check_wiring(slot, said, entry, [each for each in parameters if each.kind is not each.KEYWORD_ONLY])
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and each.annotation is each.empty:
            raise RecipeError(f"{said}: {each.name} has no type; annotate it, such as `{each.name}: Count = 1`")
        if each.name == "kind":
            raise RecipeError(f"{said}: an option cannot be called kind; that is the name of the choice itself")
    try:
        made = part_of(slot.abstract, slot.name, entry)
    except Exception as error:  # a name that is not there, a type that pydantic cannot check: many ways to say so
        raise RecipeError(f"{said}: the options of {entry.__name__} cannot be read: {_first_line(error)}") from error
    for name, abstract in made.slots.items():
        if abstract not in named:
            raise RecipeError(f"{said}: {name} is a Part[{abstract.__name__}], and no slot of the menu is for those")
    _check_defaults(said, made)


def _check_wiring(slot: Slot, said: str, entry: type, wiring: list[inspect.Parameter]) -> None:
    """What a parent hands over is the same for all entries; anything else must be keyword-only."""
    model = next((one for kind, one in slot.entries.items() if kind not in slot.added), None)
    if model is None:
        return
    usual = [each for each in inspect.signature(model).parameters.values() if each.kind is not each.KEYWORD_ONLY]
    needed = sum(each.default is each.empty for each in wiring)
    if not needed <= len(usual) <= len(wiring):
        names = ", ".join(each.name for each in usual)
        wanted = f"__init__(self, {names}, *, …)" if names else "__init__(self, *, …)"
        raise RecipeError(
            f"{said}: {entry.__name__} takes {', '.join(each.name for each in wiring) or 'nothing'} by position, "
            f"wanted {wanted}; what a recipe may say stands after the *"
        )


def _check_defaults(said: str, made: type[Part[Any]]) -> None:
    """A default must be what a recipe might say: nobody else checks it."""
    flat = {name: field for name, field in made.model_fields.items() if name not in made.slots}
    fields: dict[str, Any] = {n: (field.annotation, field) for n, field in flat.items() if not field.is_required()}
    try:
        create_model("Defaults", __config__=ConfigDict(validate_default=True, arbitrary_types_allowed=True), **fields)()
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        wanted = fault["msg"].replace("Input should be ", "").replace("Value error, ", "")
        place = ".".join(map(str, fault["loc"]))
        raise RecipeError(f"{said}: {place}: wanted {wanted}, and its default is {fault['input']!r}") from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _name(slot: Slot) -> str:
    return f"every {slot.abstract.__name__}"
