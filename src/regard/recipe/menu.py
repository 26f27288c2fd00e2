"""The menu: a written list of classes per slot, held against what a recipe says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from regard.errors import RecipeError
from regard.recipe.errors import explain, nearest
from regard.recipe.part import Part, part_of
from regard.recipe.renamed import renamed_kind


@dataclass(frozen=True)
class Slot:
    """One axis: an abstract class and the final classes that may stand in its place.

    `hint` is what a recipe is told that says nothing for a slot that must be filled.
    """

    name: str
    abstract: type
    about: str
    entries: Mapping[str, type]
    default: str = ""
    hint: str = ""


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
            slot.name: {kind: part_of(slot.abstract, kind, entry) for kind, entry in slot.entries.items()}
            for slot in self
        }

    def slot_of(self, abstract: type) -> str:
        """The name of the slot whose entries are of a class."""
        return self._named[abstract]

    def order(self, slot: str, value: Any, place: str) -> Part[Any]:
        """Check what a recipe says for a slot, and everything below it."""
        return self._order(slot, value, place, f"{place}.")

    def lift(self, slot: str, value: Any, sections: Mapping[str, Any]) -> Part[Any]:
        """The same where the slots of an entry are sections of their own: [data] beside [task], not below it."""
        table = {"kind": value} if isinstance(value, str) else value
        if isinstance(table, Mapping):
            known = self._entry(slot, table, slot).slots
            for name in known:
                if name in table:
                    raise RecipeError(f"{slot}.{name}: belongs to a section of its own, [{name}]")
            table = dict(table) | {name: sections[name] for name in known if name in sections}
        return self._order(slot, table, slot, "")

    def _order(self, slot: str, value: Any, place: str, below: str) -> Part[Any]:
        table = {"kind": value} if isinstance(value, str) else value
        model = self._entry(slot, table, place)
        options = {"kind": model.model_fields["kind"].default} | dict(table)
        for name, abstract in model.slots.items():
            inner = self._named[abstract]
            default = model.model_fields[name]
            given = options.get(name)
            if given is None and default.is_required():
                hint = self.slots[inner].hint or f"choose one of {', '.join(self.parts[inner])}"
                raise RecipeError(f"{below}{name}: missing; {hint}")
            if given is None:
                given = default.default
            elif isinstance(given, Mapping) and "kind" not in given and not default.is_required():
                given = default.default | dict(given)  # more about what is there anyway
            options[name] = self._order(inner, given, f"{below}{name}", f"{below}{name}.")
        try:
            part = model(**options)
        except ValidationError as error:
            raise RecipeError(explain(error, place, model.model_fields)) from error
        part._place = place
        return part

    def _entry(self, slot: str, table: Any, place: str) -> type[Part[Any]]:
        """The class of what a table chooses."""
        kinds = self.parts[slot]
        if not isinstance(table, Mapping):
            raise RecipeError(f"{place}: wanted one of {', '.join(kinds)}, given {table!r}")
        kind = table.get("kind", self.slots[slot].default)
        if not kind:
            raise RecipeError(f"{place}.kind: missing; choose one of {', '.join(kinds)}")
        if not isinstance(kind, str) or kind not in kinds:
            raise RecipeError(
                f"{place}.kind: no {slot} is called {kind!r}{renamed_kind(slot, kind) or nearest(str(kind), kinds)}"
            )
        return kinds[kind]

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
