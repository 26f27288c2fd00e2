"""The menu: a written list of classes per slot, and the options each of them takes.

A constructor's positional parameters are wiring from its parent; its keyword-only parameters
are what a recipe may say. A pydantic model made from that signature checks what it does say.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, create_model

from regard.errors import InputError, RecipeError
from regard.recipe.errors import explain, nearest

T = TypeVar("T")

Count = Annotated[int, Field(ge=1)]
Number = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]


class Part(BaseModel, Generic[T]):
    """One choice from a menu with all its options, ready to be built as often as needed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)
    entry: ClassVar[type]
    slots: ClassVar[dict[str, type]]
    kind: str
    _place: str = PrivateAttr("")

    def __class_getitem__(cls, typevar_values: Any) -> Any:
        """A part of anything is any part: pydantic would make `Part[Any]` one more class of its own."""
        return cls if typevar_values is Any else super().__class_getitem__(typevar_values)

    def build(self, *wiring: Any) -> T:
        """Call the constructor: wiring from the parent, options from the recipe."""
        options = {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}
        try:
            return cast(T, self.entry(*wiring, **options))
        except (RecipeError, InputError):
            raise
        except ValueError as error:
            raise RecipeError(f"{self._place}: {error}") from error

    def table(self) -> dict[str, Any]:
        """Plain nested tables, every default written out."""
        pairs = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value.table() if isinstance(value, Part) else value for name, value in pairs}


def choose(kind: str, **options: Any) -> Any:
    """The default of a slot in a constructor's signature."""
    return {"kind": kind, **options}


@dataclass(frozen=True)
class Slot:
    """One axis: an abstract class and the final classes that may stand in its place."""

    name: str
    abstract: type
    about: str
    entries: Mapping[str, type]
    default: str = ""


class Menu:
    """All slots. Built once from the written list in `regard.model.menu`."""

    def __init__(self, *slots: Slot) -> None:
        self.slots = {slot.name: slot for slot in slots}
        self._named = {slot.abstract: slot.name for slot in slots}

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots.values())

    @cached_property
    def parts(self) -> dict[str, dict[str, type[Part[Any]]]]:
        """The pydantic model of every entry, by slot and kind."""
        return {
            slot.name: {kind: _model(slot.abstract, kind, entry) for kind, entry in slot.entries.items()}
            for slot in self
        }

    def order(self, slot: str, value: Any, place: str) -> Part[Any]:
        """Check what a recipe says for a slot, and everything below it."""
        table = {"kind": value} if isinstance(value, str) else value
        kinds = self.parts[slot]
        if not isinstance(table, Mapping):
            raise RecipeError(f"{place}: wanted one of {', '.join(kinds)}, given {value!r}")
        if "kind" not in table and self.slots[slot].default:
            table = {"kind": self.slots[slot].default, **table}
        if "kind" not in table:
            raise RecipeError(f"{place}.kind: missing; choose one of {', '.join(kinds)}")
        kind = table["kind"]
        if kind not in kinds:
            raise RecipeError(f"{place}.kind: no {slot} is called {kind!r}{nearest(str(kind), kinds)}")
        model = kinds[kind]
        options = self._defaults(model) | dict(table)
        for name, abstract in model.slots.items():
            if name not in options:
                wanted = ", ".join(self.parts[self._named[abstract]])
                raise RecipeError(f"{place}.{name}: missing; choose one of {wanted}")
            options[name] = self.order(self._named[abstract], options[name], f"{place}.{name}")
        try:
            part = model(**options)
        except ValidationError as error:
            raise RecipeError(explain(error, place, model.model_fields)) from error
        part._place = place
        return part

    def schema(self, slot: str) -> dict[str, Any]:
        """JSON schema of a slot, for editors and other programs."""
        return {"oneOf": [self._entry_schema(part) for part in self.parts[slot].values()]}

    def _entry_schema(self, part: type[Part[Any]]) -> dict[str, Any]:
        flat = {name for name in part.model_fields if name not in part.slots}
        fields: dict[str, Any] = {name: (part.model_fields[name].annotation, part.model_fields[name]) for name in flat}
        flat_part: type[BaseModel] = create_model(part.__name__, **fields)
        described = flat_part.model_json_schema()
        described["properties"] |= {name: self.schema(self._named[kind]) for name, kind in part.slots.items()}
        return described | {"additionalProperties": False}

    @staticmethod
    def _defaults(model: type[Part[Any]]) -> dict[str, Any]:
        fields = ((name, model.model_fields[name]) for name in model.slots)
        return {name: field.default for name, field in fields if not field.is_required()}


def _model(abstract: type, kind: str, entry: type) -> type[Part[Any]]:
    """A pydantic model from a constructor's keyword-only parameters."""
    signature = inspect.signature(entry)
    hints = get_type_hints(inspect.unwrap(vars(_maker(entry))["__init__"]), include_extras=True)
    fields: dict[str, Any] = {"kind": (Literal[kind], kind)}
    slots: dict[str, type] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        hint = hints[name]
        if isinstance(hint, type) and issubclass(hint, Part):
            slots[name] = hint.__pydantic_generic_metadata__["args"][0]
        fields[name] = (hint, default)
    base: type[Part[Any]] = Part[abstract]  # type: ignore[valid-type]
    made: type[Part[Any]] = create_model(f"{abstract.__name__}_{kind}", __base__=base, **fields)
    made.entry, made.slots = entry, slots
    return made


def _maker(entry: type) -> type:
    """The class whose constructor an entry has: its own, or the one above."""
    return next(kind for kind in entry.__mro__ if "__init__" in vars(kind))


def wanted(hint: Any) -> str:
    """A type as a reader of `regard menu` would say it."""
    if get_origin(hint) is Annotated:
        return wanted(get_args(hint)[0])
    if get_args(hint) and not isinstance(hint, type):
        return " | ".join(str(choice) for choice in get_args(hint))
    return str(getattr(hint, "__name__", hint))
