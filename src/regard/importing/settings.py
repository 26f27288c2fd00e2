"""The config of another maker, read key by key: what nobody here asks for is refused by name, never passed over."""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any

from regard.errors import InputError

MOST, MANY = 2**24, 64


class Settings:
    """A table of values. What is null is as if it were not there, unless `optional` asks."""

    def __init__(self, table: Mapping[str, Any], named: str) -> None:
        self._table, self._asked, self.named = table, set[str](), named

    def get(self, key: str) -> Any:
        """A value as it stands, of any kind."""
        self._asked.add(key)
        return self._table.get(key)

    def count(self, key: str, default: int | None = None) -> int:
        """A whole number from 1 on; one without a default must be there."""
        value = self.get(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or not 0 < value <= MOST:
            raise self.refusal(key, value, f"wanted a whole number from 1 to {MOST:,}")
        return value

    def optional(self, key: str, default: int | None) -> int | None:
        """The same where null is an answer of its own."""
        return None if key in self._table and self.get(key) is None else self.count(key, default or 0) or None

    def number(self, key: str, default: float) -> float:
        """A number from 0 on."""
        value = self.get(key)
        value = default if value is None else value
        if type(value) not in (int, float) or not 0 <= value <= 1e12 or not isfinite(value):
            raise self.refusal(key, value, "wanted a number from 0 on")
        return float(value)

    def truth(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise self.refusal(key, value, "wanted true or false")
        return value

    def pair(self, key: str, default: int | None = None) -> tuple[int, int]:
        """A whole number for both sides, or one for each: rows and columns."""
        value = self.get(key)
        if isinstance(value, list) and len(value) == 2 and all(type(one) is int and 0 < one <= MOST for one in value):
            return value[0], value[1]
        side = self.count(key, default)
        return side, side

    def counts(self, key: str) -> list[int]:
        """Several whole numbers from 1 on."""
        value = self.get(key)
        fine = isinstance(value, list) and 0 < len(value) <= MANY
        if not fine or not all(type(one) is int and 0 < one <= MOST for one in value):
            raise self.refusal(key, value, f"wanted up to {MANY} whole numbers from 1 on")
        return [*value]

    def figures(self, key: str, count: int, default: Sequence[float]) -> list[float]:
        """So many numbers, or one for all of them."""
        value = self.get(key)
        value = list(default) if value is None else value
        value = value if isinstance(value, list) else [value] * count
        if len(value) != count or not all(type(one) in (int, float) and abs(one) <= 1e12 for one in value):
            raise self.refusal(key, self.get(key), f"wanted {count} numbers, one a channel")
        return [float(one) for one in value]

    def must(self, key: str, *allowed: Any, why: str = "") -> None:
        """Refuse any value but these, where one is said at all."""
        value = self.get(key)
        if value is not None and not any(type(value) is type(one) and value == one for one in allowed):
            raise self.refusal(key, value, why or "Regard has no such switch")

    def close(self, harmless: Collection[str], where: str) -> None:
        """Refuse what was neither asked for nor is on the list of what changes no answer."""
        for key, value in self._table.items():
            if key not in self._asked and key not in harmless and value is not None:
                raise self.refusal(key, value, f"not known here; if it changes no answer, it belongs on {where}")

    def refusal(self, key: str, value: Any, why: str) -> InputError:
        """An error that names the file, the key and what it says."""
        said = "missing" if value is None else _shown(value)
        return InputError(f"{self.named}: {key[:80]}: {said}: {why}")


def _shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 100:
        return "a number of many digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
