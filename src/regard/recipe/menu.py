"""The menu: a written list of classes per slot, held against what a recipe says."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from regard.errors import RecipeError
from regard.markup import table
from regard.recipe.adding import check_entry
from regard.recipe.errors import Suggest, explain, nearest
from regard.recipe.part import Part
from regard.recipe.plugins import load_installed, origin_of
from regard.recipe.renamed import renamed_kind
from regard.recipe.slot import Slot


class Menu:
    """Every slot and every choice, with the options each takes.

    Written down in `regard.model.menu` and `regard.training.menu`; `add` puts a part of one's own beside those.
    `inner` is a menu whose slots are among these: a slot that is added is added there too.
    """

    def __init__(self, *slots: Slot, inner: "Menu | None" = None) -> None:
        self._slots = {slot.name: slot for slot in slots}
        self._named = {slot.abstract: slot.name for slot in slots}
        self._inner = inner

    @property
    def written(self) -> list[Slot]:
        """The slots as they are now, for a menu made of others: no plugin is loaded."""
        return list(self._slots.values())

    @property
    def slots(self) -> dict[str, Slot]:
        """All slots by name. Parts of installed plugins are there from the first look on."""
        load_installed()
        return self._slots

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots.values())

    def __getitem__(self, slot: str) -> Slot:
        """One slot: its choices, and what each does."""
        return self._known(slot)

    @property
    def parts(self) -> dict[str, dict[str, type[Part[Any]]]]:
        """The pydantic model of every entry, by slot and kind."""
        return {slot.name: slot.parts for slot in self}

    def add(self, slot: str, kind: str, entry: type) -> None:
        """Put a part of your own on the menu: `regard.menu().add("attention", "cosine", Cosine)`.

        It can be chosen at once in every recipe of this process. The class must be a subclass of the slot's; what a
        recipe may say are its constructor's keyword-only parameters, each with a type. Adding the same class again
        (a cell of a notebook run twice) replaces it.
        """
        chosen = self._known(slot)
        check_entry(chosen, kind, entry, self._named)
        chosen.put(kind, entry, origin_of(entry))

    def add_slot(self, slot: Slot) -> None:
        """One more axis, for parts that a part of your own lets a recipe choose."""
        if slot.name in self.slots or slot.abstract in self._named:
            raise RecipeError(f"{slot.name}: there is a slot of this name, or for {slot.abstract.__name__}, already")
        for menu in (self, self._inner):
            if menu is not None:
                menu._slots[slot.name], menu._named[slot.abstract] = slot, slot.name

    def remove(self, slot: str, kind: str) -> None:
        """Take a part that was added off the menu again; those that come with Regard stay."""
        chosen = self._known(slot)
        if kind not in chosen.added:
            raise RecipeError(f"{slot} {kind!r}: was not added{nearest(kind, chosen.added)}")
        chosen.drop(kind)

    def __repr__(self) -> str:
        return f"<Menu of {len(self.slots)} slots: {', '.join(self.slots)}>"

    def __str__(self) -> str:
        wide = max(map(len, self.slots))
        return "\n".join(f"{slot.name:<{wide}}  {', '.join(slot.entries)}" for slot in self)

    def _repr_html_(self) -> str:
        return table(("slot", "", "choices"), [(slot.name, slot.about, ", ".join(slot.entries)) for slot in self])

    def needs(self, slot: str, part: Part[Any]) -> dict[str, str]:
        """What of a choice, and of everything below it, was added, and by whom: `attention cosine` → `cosine.py`."""
        added = self.slots[slot].added
        found = {f"{slot} {part.kind}": added[part.kind]} if part.kind in added else {}
        for name, abstract in part.slots.items():
            found |= self.needs(self._named[abstract], getattr(part, name))
        return found

    def _known(self, slot: str) -> Slot:
        """A slot by its name; one that goes by another name in recipes is named (`data` is chosen from `pairs`)."""
        if slot in self.slots:
            return self.slots[slot]
        inner = [part.slots[slot] for parts in self.parts.values() for part in parts.values() if slot in part.slots]
        if inner:
            raise RecipeError(f"{slot}: is chosen from the slot {self._named[inner[0]]!r}; add to that one")
        raise RecipeError(f"{slot}: no such slot{nearest(str(slot), self.slots)}")

    def slot_of(self, abstract: type) -> str:
        """The name of the slot whose entries are of a class."""
        return self._named[abstract]

    def order(self, slot: str, value: Any, place: str, suggest: Suggest | None = None) -> Part[Any]:
        """Check what a recipe says for a slot, and everything below it; `suggest` says what an unknown key means."""
        return self._order(slot, value, place, f"{place}.", suggest)

    def lift(self, slot: str, value: Any, sections: Mapping[str, Any], suggest: Suggest | None = None) -> Part[Any]:
        """The same where the slots of an entry are sections of their own: [data] beside [task], not below it."""
        table = {"kind": value} if isinstance(value, str) else value
        if isinstance(table, Mapping):
            known = self._entry(slot, table, slot).slots
            for name in known:
                if name in table:
                    raise RecipeError(f"{slot}.{name}: belongs to a section of its own, [{name}]")
            table = dict(table) | {name: sections[name] for name in known if name in sections}
        return self._order(slot, table, slot, "", suggest)

    def _order(self, slot: str, value: Any, place: str, below: str, suggest: Suggest | None) -> Part[Any]:
        table = {"kind": value} if isinstance(value, str) else value
        model = self._entry(slot, table, place)
        options = {"kind": model.model_fields["kind"].default} | dict(table)
        for name, abstract in model.slots.items():
            inner = self._named[abstract]
            default = model.model_fields[name]
            given = options.get(name)
            if given is None and default.is_required():
                hint = self.slots[inner].hint or f"choose one of {', '.join(self.slots[inner].parts)}"
                raise RecipeError(f"{below}{name}: missing; {hint}")
            if given is None:
                given = default.default
            elif isinstance(given, Mapping) and "kind" not in given and not default.is_required():
                given = default.default | dict(given)  # more about what is there anyway
            options[name] = self._order(inner, given, f"{below}{name}", f"{below}{name}.", suggest)
        try:
            part = model(**options)
        except ValidationError as error:
            kinds = {kind: entry.model_fields for kind, entry in self.slots[slot].parts.items()}
            raise RecipeError(explain(error, place, options["kind"], kinds, suggest)) from error
        part._place = place
        return part

    def _entry(self, slot: str, table: Any, place: str) -> type[Part[Any]]:
        """The class of what a table chooses."""
        kinds = self.slots[slot].parts
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
