"""What a run says of itself, without the paths of the machine it was made on.

Nothing is searched for paths: each fact has a rule of its own here, and what has none stays behind. A path keeps its
last name alone; so does every other text with a slash where paths are said, whether it looks like one or not.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CUT = re.compile(r"[/\\]+")
PATHS = ("data.train", "data.valid", "data.test", "tokenizer.file", "from.run", "from")
SECTIONS = ("name", "about", "task", "model", "data", "tokenizer", "decoding", "training", "from")
ABOUT_FILES = ("data", "tokenizer", "from")  # sections of a recipe in which any text may be a path
# options of these sections that are no paths, though they may have a slash in them: "</s>"
NO_PATHS = {"source", "target", "text", "image", "label", "characters", "bos", "eos", "pad"}
ORIGIN = ("family", "files", "called", "licence")
FROM = ("run", "step", "sha256", "licence")
REPORT = ("kept", "read", "held_out", "rows_before")


def last_name(path: str) -> str:
    """`train.txt` of `/home/me/train.txt`, `C:\\\\train.txt` or `../train.txt`; nothing of `..` or `~me`."""
    name = CUT.split(path.rstrip("/\\"))[-1]
    return "" if name == ".." or name.startswith("~") else name


def portable_recipe(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe whose files have names only. What is no path by its kind stays as it is, or a run could not be used."""
    return {
        key: _section(value, key in ABOUT_FILES) if isinstance(value, Mapping) else value
        for key, value in recipe.items()
    }


def _section(table: Mapping[str, Any], about_files: bool) -> dict[str, Any]:
    return {key: value if key in NO_PATHS else _value(value, about_files) for key, value in table.items()}


def _value(value: Any, about_files: bool) -> Any:
    if isinstance(value, Mapping):
        return _section(value, about_files)
    if isinstance(value, list):
        return [_value(one, about_files) for one in value]
    if not isinstance(value, str):
        return value
    is_path = about_files or value[:1] in ("/", "~") or value[:3] in ("../", "..\\") or value[1:3] in (":\\", ":/")
    return last_name(value) if is_path else value


def portable_command(command: str, recipe: Mapping[str, Any]) -> str:
    """A command with last names only; for files that the recipe of its run names, what the recipe has of them.

    A comma parts two paths or stands in one: the recipe knows.
    """
    try:
        words = shlex.split(command)
    except ValueError:  # nobody's command
        return ""
    return shlex.join(portable_words(words, recipe))


def portable_words(words: Sequence[str], recipe: Mapping[str, Any]) -> list[str]:
    """The words of a command, or overrides."""
    there = portable_recipe(recipe)
    return [_word(word, there) for word in words]


def _word(word: str, recipe: Mapping[str, Any]) -> str:
    key, equals, value = word.partition("=")
    top, dot, option = key.partition(".")
    if not equals or (top not in recipe and top not in SECTIONS and key[:2] != "--"):
        return last_name(word)
    if key in PATHS:
        return f"{key}={_known(recipe, key, last_name(value))}"
    return word if dot and option in NO_PATHS else f"{key}={last_name(value)}"


def _known(recipe: Mapping[str, Any], key: str, otherwise: str) -> str:
    """What a recipe says at a key, as the command line takes it."""
    value: Any = recipe
    for step in key.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    value = value.get("run") if isinstance(value, Mapping) else value
    if isinstance(value, list) and all(isinstance(one, str) and "," not in one for one in value):
        value = ",".join(value)
    return value if isinstance(value, str) else otherwise


def portable_facts(facts: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of run.json that go along."""
    rules: dict[str, tuple[type, Callable[[Any], Any]]] = {
        "data": (str, last_name),
        "files": (list, list),
        "made": (str, last_name),
        "licence": (str, str),
        "steps": (int, int),
        "parameters": (int, int),
        "diverged": (int, int),
        "versions": (dict, _texts),
        "plugins": (dict, _texts),
        "commands": (list, lambda commands: [portable_command(command, recipe) for command in commands]),
        "splits": (dict, lambda splits: {last_name(split): _report(held) for split, held in splits.items()}),
        "origin": (dict, lambda origin: _texts({key: _named(origin[key]) for key in ORIGIN if key in origin})),
        "from": (dict, lambda origin: _texts({key: origin[key] for key in FROM if key in origin})),
    }
    there = {key: (facts[key], *rule) for key, rule in rules.items() if key in facts}
    return {key: rule(value) for key, (value, kind, rule) in there.items() if isinstance(value, kind)}


def _texts(table: Mapping[str, Any]) -> dict[str, Any]:
    """A licence may have a slash in it: MIT/Apache-2.0."""
    return {
        str(key): last_name(value) if isinstance(value, str) and key != "licence" else value
        for key, value in table.items()
    }


def _named(value: Any) -> Any:
    """Of names of files with their checksums the last names."""
    return {last_name(str(name)): checked for name, checked in value.items()} if isinstance(value, Mapping) else value


def _report(held: Any) -> Any:
    """A report of a split: its counts, last names of its files, and remarks that name no place."""
    try:
        made = {key: held[key] for key in REPORT if key in held}
        made |= {key: last_name(held[key]) for key in ("out_of", "unit") if key in held}
        made["files"] = [last_name(file) for file in held.get("files", [])]
        made["notes"] = [note for note in held.get("notes", []) if not CUT.search(note)]
        made["left_out"] = {
            last_name(why): {"count": one["count"], "first": [last_name(place) for place in one["first"]]}
            for why, one in held["left_out"].items()
        }
    except (TypeError, KeyError, AttributeError):  # nothing that Regard wrote; whoever reads it says so
        return {}
    return made
