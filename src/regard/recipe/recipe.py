"""A recipe: what to make, complete and checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import RecipeError
from regard.recipe.errors import nearest
from regard.recipe.menu import Menu, Part
from regard.recipe.read import read, shelf, write

SECTIONS = ("model", "data", "tokens", "training", "decoding")


@dataclass(frozen=True)
class Recipe:
    """What to make, with every default filled in. A menu without a section's slot leaves that section unread."""

    name: str
    about: str
    model: Part[Any]
    data: Part[Any] | None = None
    tokens: Part[Any] | None = None
    training: Part[Any] | None = None
    decoding: Part[Any] | None = None

    @classmethod
    def read(cls, name: str, menu: Menu, overrides: Iterable[str] = ()) -> "Recipe":
        """From a file or the shelf, with `a.b=c` overrides."""
        return cls.check(read(name, overrides), menu, Path(name).stem)

    @classmethod
    def check(cls, table: Mapping[str, Any], menu: Menu, name: str = "recipe") -> "Recipe":
        known = ("name", "about", *SECTIONS)
        for key in table:
            if key not in known:
                raise RecipeError(f"{key}: unknown{nearest(key, known)}")
        for key in ("name", "about"):
            if not isinstance(table.get(key, ""), str):
                raise RecipeError(f"{key}: wanted a text, given {table[key]!r}")
        if "model" not in table:
            raise RecipeError(f"model: missing; choose one of {', '.join(menu.parts['model'])}")
        wanted = [part for part in SECTIONS if part in menu.slots and (part in table or part != "data")]
        parts = {part: menu.order(part, table.get(part, {}), part) for part in wanted}
        return cls(table.get("name", name), table.get("about", ""), **parts)

    def table(self) -> dict[str, Any]:
        parts = {part: getattr(self, part) for part in SECTIONS}
        tables = {name: part.table() for name, part in parts.items() if part is not None}
        return {"name": self.name, "about": self.about, **tables}

    def write(self, path: Path) -> None:
        write(path, self.table())


def recipes() -> dict[str, str]:
    """The recipes that come with Regard: name and what they are about."""
    return {path.stem: str(read(str(path)).get("about", "")) for path in sorted(shelf().glob("*.toml"))}
