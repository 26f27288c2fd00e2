"""Every key that a recipe may set, and which of them somebody meant who wrote another one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.recipe.renamed import KEYS, renamed_key
from regard.recipe.synonyms import SYNONYMS

if TYPE_CHECKING:
    from regard.recipe.menu import Menu
    from regard.recipe.part import Part

MOST = 4  # suggestions
ALIKE, ALIKE_ELSEWHERE, ALIKE_WORD = 0.6, 0.75, 0.8  # how alike two names are: in one table, anywhere, a word of one


class Keys:
    """The keys that a recipe may set with the kinds that it chooses: training.steps, model.decoder.layers, …

    Whatever is wrong in its tables is passed over. `within` names the sections or keys that count, if not all do.
    """

    def __init__(self, table: Mapping[str, Any], menu: "Menu", within: Sequence[str] = ("",)) -> None:
        self._table, self._menu, self._within = table, menu, within

    @cached_property
    def valid(self) -> list[str]:
        """All of them, from above."""
        keys = ["name", "about"]
        for place, slot, part in self._places:
            above = "" if slot == "task" else f"{place}."
            keys += [place, f"{place}.kind"]
            keys += [f"{above if name in part.slots else f'{place}.'}{name}" for name in part.model_fields]
            keys += [f"{place}.{option}" for option in [self._menu.slots[slot].yields_to] if option]
        return [key for key in dict.fromkeys(keys) if is_within(key, self._within)]

    @property
    def sections(self) -> list[str]:
        """Those above all others."""
        return [key for key in self.valid if "." not in key]

    @cached_property
    def of_other_kinds(self) -> dict[str, list[str]]:
        """Keys that another choice in the same place would have, each with that choice: decoding.kind=beam."""
        found: dict[str, list[str]] = {}
        for place, slot, chosen in self._places:
            if slot in ("task", "model"):  # that would be another recipe
                continue
            for kind, part in self._menu.slots[slot].parts.items():
                for name in part.model_fields.keys() - chosen.model_fields.keys():
                    if not is_within(f"{place}.{name}", self._within):
                        continue
                    found.setdefault(f"{place}.{name}", []).append(f"{place}.kind={kind}")
        return found

    def suggest(self, key: str) -> str:
        """What is said of a key that is unknown: `; did you mean training.steps?`, or nothing."""
        if key.endswith(".kind"):  # every table has one
            return ""
        if KEYS.get(key) in self.valid:
            return renamed_key(key)
        if found := same_name(key, self.valid):
            return did_you_mean(found)
        if found := same_name(key, self.of_other_kinds):
            kinds = list(dict.fromkeys(kind for one in found for kind in self.of_other_kinds[one]))
            return f"{did_you_mean(found)[:-1]} (with {' or '.join(kinds[:MOST])})?"
        return "" if key.rpartition(".")[2] in SYNONYMS else did_you_mean(_similar(key, self.valid))

    @cached_property
    def _places(self) -> "list[tuple[str, str, type[Part[Any]]]]":
        """Every place of a recipe where a choice is made, with its slot and what is chosen."""
        sections = ("training", "task", "model", "from") if "task" in self._table else ("model", "from")
        known = [name for name in sections if name in self._menu.slots]
        return [found for name in known for found in self._below(name, name, self._table.get(name))]

    def _below(self, place: str, slot: str, value: Any) -> "Iterator[tuple[str, str, type[Part[Any]]]]":
        table = value if isinstance(value, Mapping) else {"kind": value} if value else {}
        part = self._menu.slots[slot].parts.get(str(table.get("kind", self._menu.slots[slot].default)))
        if part is None:
            return
        yield place, slot, part
        for name, abstract in part.slots.items():
            above, inside = ("", self._table) if slot == "task" else (f"{place}.", table)  # a task's are sections
            said, field = inside.get(name), part.model_fields[name]
            if not field.is_required() and (said is None or (isinstance(said, Mapping) and "kind" not in said)):
                said = field.default | dict(said or {})
            yield from self._below(f"{above}{name}", self._menu.slot_of(abstract), said)


def is_within(key: str, sections: Iterable[str]) -> bool:
    """Whether a key is one of these, or below one of them; all are below ``."""
    return any(key == one or not one or key.startswith(f"{one}.") for one in sections)


def did_you_mean(names: Sequence[str]) -> str:
    """`; did you mean a, b or c?`, or nothing."""
    if not names:
        return ""
    most = MOST if len(names) <= MOST else MOST - 1
    *shown, last = [*names[:most], *([f"one of {len(names) - most} more"] if len(names) > most else [])]
    return f"; did you mean {', '.join(shown)}{' or ' if shown else ''}{last}?"


def same_name(key: str, keys: Iterable[str]) -> list[str]:
    """The keys that end in this name, or in what it is called here: `lr` → training.optimizer.learning_rate."""
    *above, name = key.lower().replace("-", "_").split(".")
    ends = tuple(f".{end}" for end in SYNONYMS.get(name, []))
    found = [one for one in keys if one != key and f".{one}".endswith(ends)] if ends else []
    found = found or [one for one in keys if one != key and one.rpartition(".")[2] == name]
    # of several those in the tables that were named as well, and then those that are the least deep
    shared = {one: len({*above} & {*one.split(".")}) for one in found}
    found = [one for one in found if shared[one] == max(shared.values())]
    return [one for one in found if one.count(".") == min(other.count(".") for other in found)]


def _similar(key: str, keys: Sequence[str]) -> list[str]:
    """The keys with the most similar names: in the same table, or else anywhere."""
    above, _, name = key.rpartition(".")
    siblings = [one for one in keys if one.rpartition(".")[0] == above]
    for some, least in ((siblings, ALIKE), (keys, ALIKE_ELSEWHERE)):
        alike = {one: _likeness(name, one.rpartition(".")[2]) for one in some}
        best = max(alike.values(), default=0.0)
        if best >= least:
            found = [one for one in alike if alike[one] == best]
            return sorted(found, key=lambda one: (one.count("."), one.rpartition(".")[2][:1] != name[:1]))
    return []


def _likeness(name: str, other: str) -> float:
    """From 0 to 1; of a longer name one of its words may be meant: `lenght` → length_penalty."""
    words = [_ratio(name, word) for word in other.split("_")]
    return max(_ratio(name, other), *(0.95 * each for each in words if each >= ALIKE_WORD), 0.0)


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
