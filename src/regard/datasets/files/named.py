"""What users name as their data: one file or several, patterns, and the columns to read."""

from datetime import date
from os import fsencode
from pathlib import Path
from typing import Annotated, Any

from annotated_doc import Doc
from pydantic import BeforeValidator

from regard.datasets.lines import PACKED, as_text, bare_name, packed_or_plain
from regard.datasets.patterns import has_magic, matching
from regard.errors import InputError
from regard.recipe import Share

Names = str | list[str]
ENDINGS = {".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def as_names(value: Any) -> Names:
    """A name, several with commas between, or a list of names; all made absolute, so that they mean the same anywhere.

    A comma in a name parts nothing where a file of that name is there.
    """
    if isinstance(value, str):
        if "," in value and not _there(value):
            return as_names([name.strip() for name in value.split(",") if name.strip()])
        name = _absolute(value)
        return [name] if "," in name else name
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) and name for name in value):
        return [_absolute(name) for name in value]
    named = str(value).lower() if isinstance(value, bool) else value
    hint = f" (a file of that name is ./{named})" if isinstance(value, int | float | date) else ""
    raise ValueError(f"the name of a file, or a list of names{hint}")


def list_of(names: Names) -> list[str]:
    """The same as a list, which may be empty."""
    found = as_names(names)
    return found if isinstance(found, list) else [found] if found else []


def as_column(value: Any) -> str | int:
    """The name of a column, or its number counted from 1."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ValueError("the name of a column, or its number from 1")


FileNames = Annotated[Names, BeforeValidator(as_names)]
Column = Annotated[str | int, BeforeValidator(as_column)]
ValidFiles = Annotated[
    FileNames, Doc('What validation scores, named like `train`; "" holds out `valid_share` of `train`.')
]
TestFiles = Annotated[
    FileNames, Doc('What `regard evaluate` scores, named like `train`; "" holds out `test_share` of `train`.')
]
ValidShare = Annotated[
    Share, Doc("The share of `train` that is held out for validation where `valid` names nothing; 0 is none.")
]
TestShare = Annotated[
    Share, Doc("The share of `train` that is held out for the test where `test` names nothing; 0 is none.")
]


def form_of(name: str) -> str:
    """`tsv`, `csv` or `jsonl` by the ending, packed or not; nothing for another."""
    return ENDINGS.get(bare_name(Path(name)).suffix.lower(), "")


def expanded(name: str, sides: tuple[str, str]) -> list[str]:
    """The names that a pattern matches, sorted; a plain name is itself."""
    if not has_magic(name) or Path(name).exists() or packed_or_plain(f"{name}.{sides[0]}") is not None:
        return [name]
    if not form_of(name):
        endings = [f".{sides[0]}{packed}" for packed in ("", *PACKED)]
        found = {path.removesuffix(ending) for ending in endings for path in matching(name + ending)}
        if found:
            return sorted(found)
    found = set(matching(name))
    ends = {f".{side}" for side in sides}
    one_sided = {path for path in found if bare_name(Path(path)).suffix in ends}
    if not found:
        raise InputError(f"{name}: no file matches{f', nor with .{sides[0]} behind it' if not form_of(name) else ''}")
    if one_sided:
        stem = bare_name(Path(name)).with_suffix("")
        raise InputError(f"{name}: matches files of one side; say {stem}: .{sides[0]} and .{sides[1]} are added")
    return sorted(found)


def _there(name: str) -> bool:
    """Whether there is a file of that very name, or one with an ending more."""
    path = Path(name).expanduser()
    return path.exists() or (path.parent.is_dir() and any(path.parent.glob(f"{_literal(path.name)}.*")))


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _absolute(name: str) -> str:
    try:
        made = name and str(Path(name).expanduser().absolute())
        made.encode()
    except RuntimeError as error:  # ~ of somebody who is not here
        raise ValueError(f"a file ({error})") from error
    except UnicodeEncodeError as error:  # no recipe could hold it
        if isinstance(as_text(fsencode(made)), str):  # it is: Python has taken it apart
            raise ValueError("a name that this locale can spell (it is UTF-8: set PYTHONUTF8=1)") from error
        raise ValueError("a name in UTF-8 (rename the file or folder)") from error
    return made
