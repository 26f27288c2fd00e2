"""What a reader of a recipe is told: the place, what was wanted, what was given."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from itertools import chain
from typing import Annotated, Any

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from regard.recipe.renamed import renamed_key
from regard.recipe.words import wants

# As a choice takes its numbers: neither infinity nor NaN.
FINITE = ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True)


def nearest(name: str, names: Iterable[str], elsewhere: Iterable[str] = ()) -> str:
    """`; did you mean 'x'?` for a slip of the pen, here or `elsewhere`, else what there is."""
    known = list(names)
    close = get_close_matches(name, known, n=1) or get_close_matches(name, elsewhere, n=1, cutoff=0.75)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there is {', '.join(known[:12])}{', …' if len(known) > 12 else ''}" if known else ""


Kinds = Mapping[str, Mapping[str, FieldInfo]]
"""What every choice of a slot takes, by its kind."""
Suggest = Callable[[str], str]
"""`; did you mean a.b?` for a key that is unknown, from all keys of a recipe; or nothing."""


def explain(error: ValidationError, place: str, kind: str, kinds: Kinds, suggest: Suggest | None = None) -> str:
    """The faults of one table of a recipe: a line each, two at most."""
    faults = map(dict, error.errors(include_url=False))
    lines = list(dict.fromkeys(_line(fault, place, kind, kinds, suggest) for fault in faults))
    return "\n".join(lines[:2]) + (f" (and {len(lines) - 2} more)" if len(lines) > 2 else "")


def _line(fault: dict[str, Any], place: str, kind: str, kinds: Kinds, suggest: Suggest | None) -> str:
    key, known = str(fault["loc"][0]) if fault["loc"] else "", kinds[kind]
    where = f"{place}.{key}" if key else place
    others = [
        f"{place}.kind={other}"
        for other, options in kinds.items()
        if other != kind and _takes(options, key, fault["input"])
    ]
    if fault["type"] == "extra_forbidden":
        elsewhere = f"; {kind!r} has no such option: it belongs to {' or '.join(others[:3])}" if others else ""
        meant = renamed_key(where) or elsewhere or (suggest(where) if suggest is not None else "")
        return f"{where}: unknown{meant or nearest(key, known, chain(*kinds.values()))}"
    if fault["type"] == "missing":
        return f"{where}: missing; it has no default, so the recipe must say it"
    own = fault["type"] == "value_error"  # what a check of ours says
    wanted = fault["msg"].replace("Value error, ", "") if own else wants(known[key])
    in_recipe = suggest is not None  # elsewhere no key chooses another kind: `regard data get phrases`
    elsewhere = f" ({' or '.join(others[:3])} takes that)" if others and in_recipe and not own else ""
    return f"{where}: wanted {wanted}, given {_given(fault['input'])}{elsewhere}"


def _takes(options: Mapping[str, FieldInfo], key: str, value: Any) -> bool:
    """Whether a choice has an option that may be so."""
    if key not in options or key == "kind":
        return False
    option: Any = Annotated[options[key].annotation, options[key]]
    try:
        TypeAdapter(option, config=FINITE).validate_python(value, strict=True)
    except (ValidationError, PydanticUserError):  # wrong there too, or a slot, which no value fills
        return False
    return True


def _given(value: Any) -> str:
    """What was given as a recipe says it."""
    return str(value).lower() if isinstance(value, bool) else repr(value)
