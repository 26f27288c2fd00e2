"""What is said of files that are not there: what lies there instead, and how to name it."""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from regard.datasets.files.named import ENDINGS, form_of
from regard.datasets.files.suspect import LOOK, is_array
from regard.datasets.lines import bare_name, head, packed_or_plain
from regard.errors import InputError

SHOWN = 6
Sides = tuple[str, str]


def not_there(name: str, sides: Sides, key: str) -> InputError:
    """Why a name of two parallel files, or of one, leads nowhere; `key` is where the name was said."""
    path = Path(name)
    plain = bare_name(path)
    if path.is_dir():
        return _folder(path, sides, key)
    if path.exists() and not path.is_file():
        return InputError(f"{name}: no plain file; data are read more than once, so write them to a file first")
    beside = _endings(plain.with_suffix("")) if plain.suffix and not form_of(name) else {}
    if plain.suffix[1:] in beside and len(beside) > 1:  # one of two sides was named
        return _with_ways(f"{name}: one side of two; ", key, plain.with_suffix(""), sides, beside)
    if path.is_file() and head(path, LOOK).lstrip().startswith(b"["):
        return is_array(path)
    if path.is_file():
        return InputError(
            f"{name}: neither tabs nor JSON in its first lines, so there are no pairs in it\n"
            "wanted is a .tsv, .csv or .jsonl file, or two files NAME.de and NAME.en: say NAME data.source=de "
            "data.target=en"
        )
    return _nothing(path, sides, key)


def _nothing(path: Path, sides: Sides, key: str) -> InputError:
    """Neither the file itself nor both of two."""
    there = _endings(path)
    said = f"{path}: no such file"
    if not form_of(str(path)):
        missing = next(side for side in sides if packed_or_plain(f"{path}.{side}") is None)
        said = f"{path}.{missing}: no such file (nor packed as .gz or .xz)"
    if not path.parent.is_dir():
        return InputError(f"{said}: there is no folder {path.parent}")
    if len(there) > 1:
        return _with_ways(f"{said}; ", key, path, sides, there)
    if there:
        return InputError(f"{said}; there is only {next(iter(there.values()))}")
    inside = _inside(path.parent)
    tables, stems = {file.name for file in inside if form_of(file.name)}, {bare_name(file).stem for file in inside}
    close = get_close_matches(path.name, sorted(tables if form_of(str(path)) else tables | stems), n=1)
    hint = f"; did you mean {path.parent / close[0]}?" if close else ""
    if not hint and sides == ("source", "target") and not form_of(str(path)):
        hint = "; say data.source=… and data.target=… for the endings of two files, or name a .tsv, .csv or .jsonl file"
    return InputError(said + hint)


def _with_ways(said: str, key: str, stem: Path, sides: Sides, there: dict[str, str]) -> InputError:
    """With how to name the files that are there."""
    said += f"there is {_listed(list(there.values()))}: say "
    ends = list(there) if len(there) == 2 else ["…", "…"]
    columns = f" data.source={ends[0]} data.target={ends[1]}, or the other way round"
    return _say(said, key, stem, "" if set(sides) <= set(there) else columns)


def _folder(path: Path, sides: Sides, key: str) -> InputError:
    inside = [file.name for file in _inside(path) if file.is_file()]
    ending = f".{sides[0]}"
    stems = [bare_name(Path(name)).stem for name in inside if bare_name(Path(name)).suffix == ending]
    better = [*sorted(stems, key=lambda stem: stem != "train"), *filter(form_of, inside), "NAME"][0]
    what = f"with {_listed(inside)} in it" if inside else "without files"
    return _say(f"{path}: a folder, {what}; name a file: ", key, path / better)


def _say(said: str, key: str, path: Path, more: str = "") -> InputError:
    here = Path.cwd()
    name = str(path.relative_to(here) if path.is_relative_to(here) else path)
    if key == "on":
        return InputError(said, call=f"on={name!r}{more}", flag=f"--on {shlex.quote(name)}{more}")
    return InputError(said + shlex.quote(f"{key}={name}") + more)


def _endings(stem: Path) -> dict[str, str]:
    """The endings of files called `stem.ending`, packed or not, with the files' names."""
    files = ((bare_name(file), file) for file in _inside(stem.parent) if file.is_file())
    found = {plain.suffix[1:]: file.name for plain, file in files if plain.suffix and plain.with_suffix("") == stem}
    return {ending: name for ending, name in found.items() if f".{ending}" not in ENDINGS}


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # not there, or not to be looked into
        return []


def _listed(names: Sequence[str]) -> str:
    if len(names) == 2:
        return " and ".join(names)
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
