"""What stands in until something better is named: built-in data yield to the user's files."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from regard.recipe.menu import Menu
from regard.recipe.override import Override
from regard.recipe.read import keys, put


def put_over(table: dict[str, Any], overrides: Iterable[Override], menu: Menu) -> dict[str, Any]:
    """A recipe's tables with overrides in place, where `data.train=FILE` is enough to have files in place of built-in
    data: whoever sets an option that a stand-in does not have means the default kind of its slot."""
    given = list(overrides)
    return put(table, [*_named(table, keys(given), menu), *given])


def _named(table: Mapping[str, Any], said: list[str], menu: Menu) -> Iterator[Override]:
    if not said or "task" not in menu.slots:
        return
    slots = {slot.abstract: slot for slot in menu if slot.yields_to}
    for task in menu.slots["task"].parts.values():
        for section, abstract in task.slots.items():
            slot = slots.get(abstract)
            if slot is None or f"{section}.{slot.yields_to}" not in said or {section, f"{section}.kind"} & {*said}:
                continue
            there = table.get(section)
            kind = there.get("kind") if isinstance(there, Mapping) else there
            if kind in slot.entries and slot.yields_to not in slot.parts[str(kind)].model_fields:
                yield {f"{section}.kind": slot.default}
