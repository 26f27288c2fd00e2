"""Names of classes, as a config has them: each must be a text that no other class has."""

from collections.abc import Mapping
from typing import Any

from regard.importing.settings import Settings
from regard.tasks.classification.facts import LONGEST, MOST


def class_names(settings: Settings, key: str, names: Any, count: int | None) -> tuple[str, ...]:
    """The names of so many classes, from a list or a table by number; of equal names the later gets its number."""
    if isinstance(names, Mapping):
        numbers = [str(number) for number in range(len(names))]
        if set(names) != set(numbers):
            raise settings.refusal(key, names, f"wanted a name for every number from 0 to {len(names) - 1}")
        names = [names[number] for number in numbers]
    if not isinstance(names, list) or not 1 <= len(names) <= MOST:
        raise settings.refusal(key, names, f"wanted the names of 1 to {MOST:,} classes")
    if count is not None and len(names) != count:
        raise settings.refusal(key, names, f"{len(names):,} names for {count:,} classes")
    found: dict[str, None] = {}
    for number, name in enumerate(names):
        if not isinstance(name, str) or not 1 <= len(name) <= LONGEST - 10 or not name.isprintable():
            raise settings.refusal(key, name, f"no name of a class, which number {number} has")
        found[name if name not in found else f"{name} ({number})"] = None
    if len(found) != len(names):
        raise settings.refusal(key, names, "names that no two classes can have")
    return tuple(found)


def numbered_names(settings: Settings, key: str, count: int, before: str = "") -> tuple[str, ...]:
    """Classes that nobody has named are called by their numbers."""
    if count > MOST:
        raise settings.refusal(key, count, f"more than {MOST:,} classes")
    return tuple(f"{before}{number}" for number in range(count))
