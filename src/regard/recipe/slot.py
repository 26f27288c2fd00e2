"""One axis of a menu: an abstract class, and the classes that may stand in its place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import getdoc
from typing import Any

from regard.markup import table
from regard.recipe.part import Part, part_of


@dataclass(frozen=True)
class Slot:
    """One axis: an abstract class and the final classes that may stand in its place.

    `hint` is what a recipe is told that says nothing for a slot that must be filled. `added` says of parts that do
    not come with Regard where they come from. Entries without the option `yields_to` stand in for the default one:
    whoever sets that option from outside means the default, and need not say so.
    """

    name: str
    abstract: type
    about: str
    entries: Mapping[str, type]
    default: str = ""
    hint: str = ""
    yields_to: str = ""
    added: dict[str, str] = field(default_factory=dict, compare=False)
    _parts: dict[str, type[Part[Any]]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def parts(self) -> dict[str, type[Part[Any]]]:
        """The pydantic model of every entry, by kind; made when first asked for."""
        for kind, entry in self.entries.items():
            if kind not in self._parts:
                self._parts[kind] = part_of(self.abstract, kind, entry)
        return {kind: self._parts[kind] for kind in self.entries}

    def __str__(self) -> str:
        wide = max(map(len, self.entries), default=0)
        lines = [f"  {kind:<{wide}}  {_about(entry)}" for kind, entry in self.entries.items()]
        return "\n".join([f"{self.name}: {self.about}", *lines])

    def _repr_html_(self) -> str:
        rows = [(kind, _about(entry)) for kind, entry in self.entries.items()]
        return table(("", ""), rows, f"{self.name}: {self.about}")

    def put(self, kind: str, entry: type, origin: str) -> None:
        """One more entry, which has been checked, or another in place of the one added before."""
        self._change({**self.entries, kind: entry}, kind)
        self.added[kind] = origin

    def drop(self, kind: str) -> None:
        """An entry that was added goes again."""
        self._change({name: entry for name, entry in self.entries.items() if name != kind}, kind)
        del self.added[kind]

    def _change(self, entries: Mapping[str, type], kind: str) -> None:
        object.__setattr__(self, "entries", entries)  # a menu written down stays as it is; only this may change it
        self._parts.pop(kind, None)


def _about(entry: type) -> str:
    return (getdoc(entry) or "").split("\n")[0]
