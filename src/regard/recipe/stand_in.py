"""What follows from an override: built-in data yield to the user's files, and bring along what suits them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from regard.recipe.menu import Menu
from regard.recipe.override import Override
from regard.recipe.read import keys, put


def put_over(table: dict[str, Any], overrides: Iterable[Override], menu: Menu) -> dict[str, Any]:
    """A recipe's tables with overrides in place, where `data.train=FILE` is enough to have files in place of built-in
    data: whoever sets an option that a stand-in does not have means the default kind of its slot. And where an
    override puts in a kind that `suits` others, as toy data suit a tokenizer of words, these are chosen with it,
    unless an override says something of their section."""
    given = list(overrides)
    if not given:
        return table
    said = keys(given)
    before = {section: _kind(table, section) for section in table}
    made = put(table, [*_named(table, said, menu), *given])
    return put(made, _suited(made, before, said, menu))


def _named(table: Mapping[str, Any], said: list[str], menu: Menu) -> Iterator[Override]:
    if not said or "task" not in menu.slots:
        return
    slots = {slot.abstract: slot for slot in menu if slot.yields_to}
    for task in menu.slots["task"].parts.values():
        for section, abstract in task.slots.items():
            slot = slots.get(abstract)
            if slot is None or f"{section}.{slot.yields_to}" not in said or {section, f"{section}.kind"} & {*said}:
                continue
            kind = _kind(table, section)
            if kind in slot.entries and slot.yields_to not in slot.parts[str(kind)].model_fields:
                yield {f"{section}.kind": slot.default}


def _suited(table: Mapping[str, Any], before: Mapping[str, Any], said: list[str], menu: Menu) -> Iterator[Override]:
    task = menu.slots["task"].parts.get(str(_kind(table, "task"))) if "task" in menu.slots else None
    if task is None:
        return
    entries = {slot.abstract: slot.entries for slot in menu}
    for section, abstract in task.slots.items():
        kind = _kind(table, section)
        if kind == before.get(section) or kind not in entries[abstract]:
            continue
        for other, suits in getattr(entries[abstract][kind], "suits", {}).items():
            if not any(key.partition(".")[0] == other for key in said):
                yield {f"{other}.kind": suits}


def _kind(table: Mapping[str, Any], section: str) -> str:
    """What a section chooses: `data = "toy"` is short for a table with only a kind."""
    there = table.get(section)
    kind = there.get("kind") if isinstance(there, Mapping) else there
    return kind if isinstance(kind, str) else ""
