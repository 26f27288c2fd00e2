"""What is put into a recipe from outside: `a.b=c` as text, or a mapping from Python."""

from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Any

from regard.disk import parse_toml
from regard.errors import RecipeError

Override = str | Mapping[str, Any]
"""`"model.decoder.layers=4"`, `{"model.decoder.layers": 4}` or `{"model": {"decoder": {"layers": 4}}}`."""


def pairs(override: Override) -> Iterator[tuple[list[str], Any]]:
    """The keys that an override sets, cut at their dots, and their values."""
    if isinstance(override, str):
        key, equals, text = override.partition("=")
        if not equals:
            raise RecipeError(f"{override!r}: wanted key.key=value, such as model.decoder.layers=4")
        yield _steps(key, override), _value(text)
    elif isinstance(override, Mapping):
        for key, value in override.items():
            above = _steps(key, override)
            if isinstance(value, Mapping) and value:
                yield from ((above + steps, inner) for steps, inner in pairs(value))
            else:
                yield above, plain(value)
    else:
        raise RecipeError(f"{override!r}: wanted 'key.key=value' or a mapping, given {type(override).__name__}")


def plain(value: Any) -> Any:
    """A value as TOML knows it: a path is its name, a tuple a list, a mapping a table of its own."""
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def _steps(key: object, override: Override) -> list[str]:
    steps = key.strip().split(".") if isinstance(key, str) else []
    if not steps or not all(steps):
        raise RecipeError(f"{override!r}: wanted key.key=value, such as model.decoder.layers=4")
    return steps


def _value(text: str) -> Any:
    """A TOML value; what is no TOML value is a word, or a list of words whose quotes the shell has taken."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        word = text.strip()
    if word[:1] == "[" and word[-1:] == "]" and "[" not in word[1:]:
        return [part.strip() for part in word[1:-1].split(",") if part.strip()]
    return word
