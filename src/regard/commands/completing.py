"""What the shell offers at <tab>: recipes, runs, slots, and keys with their values. Nothing heavy is imported."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.disk import read_json, read_toml
from regard.disk.shelf import shelf

Offer = tuple[str, str]
"""A word, and a few about it."""
Table = dict[str, Any]
SECTIONS = ("task", "model", "training", "from")


def runs(incomplete: str) -> list[Offer]:
    """Run folders: below what is typed, or in runs/ and here."""
    typed = Path(incomplete)
    places = [Path("runs"), typed.parent, *([typed] if incomplete.endswith("/") else [])]
    found = sorted({path for place in places for path in _folders(place)})
    return [(str(path), "a run") for path in found if str(path).startswith(incomplete)]


def recipes(incomplete: str) -> list[Offer]:
    """Recipes by name, run folders, and `from=` before one."""
    if incomplete.startswith("from="):
        return [(f"from={run}", about) for run, about in runs(incomplete.removeprefix("from="))]
    named = [(path.stem, _read(path).get("about", "")) for path in sorted(shelf().glob(f"{incomplete}*.toml"))]
    return [*named, *runs(incomplete)]


def slots(incomplete: str) -> list[Offer]:
    """Slots of the menu."""
    return [(name, slot["about"]) for name, slot in _menu().items() if name.startswith(incomplete)]


def kinds(ctx: Any, incomplete: str) -> list[Offer]:
    """Choices of the slot that was named."""
    slot = _menu().get(ctx.params.get("slot") or "", {"kinds": {}})
    return [(name, kind["about"]) for name, kind in slot["kinds"].items() if name.startswith(incomplete)]


def keys(ctx: Any, incomplete: str) -> list[Offer]:
    """Keys of the recipe that was named, one step at a time; behind `=` its values, where they are known."""
    recipe = str(ctx.params.get("recipe") or ctx.params.get("run") or "").removeprefix("from=")
    return list(_keys(_menu(), _named(recipe), incomplete))


def _keys(menu: Table, table: Table, incomplete: str) -> Iterator[Offer]:
    key, said, value = incomplete.partition("=")
    *above, last = key.split(".")
    there = _options(menu, table, above)
    if said:
        values = _values(menu, there[last]) if last in there else []
        yield from ((f"{key}={one}", about) for one, about in values if one.startswith(value))
        return
    found = [name for name in there if name.startswith(last)]
    for name in found:
        place, option = ".".join([*above, name]), there[name]
        if name != "kind" and option["slot"] and _has_options(menu[option["slot"]]):
            yield f"{place}.", option["about"]
        yield f"{place}=", option["about"]
        if len(found) == 1:  # several offers, so that no space is set behind `=`
            yield from ((f"{place}={one}", about) for one, about in _values(menu, option))


def _has_options(slot: Table) -> bool:
    return any(kind["options"] for kind in slot["kinds"].values())


def _options(menu: Table, table: Table, steps: list[str]) -> Table:
    """What can be said below a key: the sections, or the options of what was chosen there."""
    task = _chosen(menu, table, "task", "task")
    sections = {name: _section(name) for name in SECTIONS}
    sections |= {name: option for name, option in task.items() if option["slot"]}
    there, found = sections, table
    for step in steps:
        slot = there.get(step, {}).get("slot")
        if not slot:
            return {}
        there, below = _chosen(menu, found, step, slot), found.get(step)
        there = {"kind": _section(slot) | {"about": "which of them"}} | there
        found = below if isinstance(below, dict) else {}
    return there if steps else sections


def _section(name: str) -> Table:
    return {"about": "", "slot": name, "wants": "", "default": ""}


def _chosen(menu: Table, table: Table, step: str, slot: str) -> Table:
    """The options of the kind that a recipe chooses, or else of the usual one."""
    said = table.get(step)
    kind = said if isinstance(said, str) else (said or {}).get("kind")
    there = menu[slot]["kinds"]
    kind = kind if kind in there else menu[slot]["default"] or next(iter(there))
    return {option["name"]: option for option in there[kind]["options"]}


def _values(menu: Table, option: Table) -> list[Offer]:
    if option["slot"]:
        return [(name, kind["about"]) for name, kind in menu[option["slot"]]["kinds"].items()]
    if option["wants"].startswith("one of "):
        return [(one, "") for one in option["wants"].removeprefix("one of ").split(", ")]
    if option["wants"] == "true or false":
        return [("true", ""), ("false", "")]
    return [] if option["default"] == "must be said" else [(option["default"], "if nothing is said")]


def _menu() -> Table:
    """As it was written down: who adds parts of their own types their names."""
    try:
        held = read_json(shelf() / "menu.json", links=True)["slots"]
    except (OSError, ValueError, KeyError):
        return {}
    return {slot["name"]: slot | {"kinds": {kind["kind"]: kind for kind in slot["kinds"]}} for slot in held}


def _named(recipe: str) -> Table:
    places = (Path(recipe) / "recipe.toml", Path(recipe), shelf() / f"{recipe}.toml")
    return next((_read(place) for place in places if place.is_file()), {}) if recipe else {}


def _read(path: Path) -> Table:
    try:
        return read_toml(path, links=True)
    except (OSError, ValueError):
        return {}


def _folders(place: Path) -> list[Path]:
    try:
        return [path for path in place.iterdir() if (path / "recipe.toml").is_file()]
    except OSError:
        return []
