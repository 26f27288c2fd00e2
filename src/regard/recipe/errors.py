"""What a reader of a recipe is told: the place, what was wanted, what was given."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from regard.recipe.renamed import renamed_key
from regard.recipe.words import wants


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'x'?` for a slip of the pen, else what there is."""
    known = list(names)
    close = get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there is {', '.join(known[:12])}{', …' if len(known) > 12 else ''}" if known else ""


def explain(error: ValidationError, place: str, known: Mapping[str, FieldInfo]) -> str:
    """The faults of one table of a recipe: a line each, two at most."""
    lines = list(dict.fromkeys(_line(dict(fault), place, known) for fault in error.errors(include_url=False)))
    return "\n".join(lines[:2]) + (f" (and {len(lines) - 2} more)" if len(lines) > 2 else "")


def _line(fault: dict[str, Any], place: str, known: Mapping[str, FieldInfo]) -> str:
    key = str(fault["loc"][0]) if fault["loc"] else ""
    where = f"{place}.{key}" if key else place
    if fault["type"] == "extra_forbidden":
        return f"{where}: unknown{renamed_key(where) or nearest(key, known)}"
    if fault["type"] == "missing":
        return f"{where}: missing; it has no default, so the recipe must say it"
    own = fault["type"] == "value_error"  # what a check of ours says
    wanted = fault["msg"].replace("Value error, ", "") if own else wants(known[key])
    return f"{where}: wanted {wanted}, given {_given(fault['input'])}"


def _given(value: Any) -> str:
    """What was given as a recipe says it."""
    return str(value).lower() if isinstance(value, bool) else repr(value)
