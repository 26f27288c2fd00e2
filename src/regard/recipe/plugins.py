"""Parts of the user's own: named by the user or installed by them, never by a run folder or a recipe.

A plugin is a Python file (or an installed package) that puts parts on the menu when it is imported:
`regard.menu().add("attention", "cosine", Cosine)`. A run keeps the names of those it was made with, so that
opening it elsewhere can say what is missing; it never brings code along.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Any
from zlib import crc32

from regard.disk import place, read_json
from regard.errors import InputError, RecipeError, RegardError

GROUP = "regard.plugins"
VARIABLE = "REGARD_PLUGINS"
RUN_FACTS, RUN_RECIPE = "run.json", "recipe.toml"


@dataclass
class _State:
    """What is loaded in this process, and what is being loaded now."""

    loading: str = ""
    files: dict[Path, tuple[int, int]] = field(default_factory=dict)
    installed: bool = False


_STATE = _State()


def plugin(file: str | Path) -> Path:
    """Load a Python file that puts parts on the menu, as `--plugin` does on the command line.

    A file that was loaded is loaded again only if it has changed since.
    """
    if not isinstance(file, str | Path):
        raise InputError(f"plugin: wanted the name of a Python file, given {type(file).__name__}")
    path = place(file).absolute()
    if not path.is_file():
        raise InputError(f"plugin {file}: no such file")
    _refuse_runs(path)
    facts = path.stat()
    seen = (facts.st_mtime_ns, facts.st_size)
    if _STATE.files.get(path) != seen:
        with _loading(path.name):
            _run(path)
        _STATE.files[path] = seen
    return path


def _refuse_runs(path: Path) -> None:
    """A run from a stranger must not bring code along, not even by a slip of its user."""
    for folder in (path.parent, *path.resolve().parents):
        if (folder / RUN_FACTS).is_file() and (folder / RUN_RECIPE).is_file():
            raise InputError(f"plugin {path}: lies in a run folder, and no code is run from one; copy it out first")


def load_installed() -> None:
    """Once in a process: the files of REGARD_PLUGINS, and packages with an entry point in `regard.plugins`."""
    if _STATE.installed or _STATE.loading:
        return
    _STATE.installed = True  # first: a plugin looks at the menu itself
    try:
        for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
            plugin(name)
        for entry in entry_points(group=GROUP):
            _enter(entry)
    except BaseException:
        _STATE.installed = False
        raise


def origin_of(entry: type) -> str:
    """Where a part that is added comes from, as a run keeps it."""
    if _STATE.loading:
        return _STATE.loading
    module = sys.modules.get(entry.__module__)
    file = getattr(module, "__file__", None)
    if entry.__module__ == "__main__":
        return Path(file).name if file else "a notebook"
    return f"the module {entry.__module__}"


def check_needs(folder: str | Path, there: Mapping[str, Mapping[str, object]]) -> None:
    """Refuse a run that was made with parts which are not on the menu, and say where they came from."""
    file = Path(folder) / RUN_FACTS
    needs = read_json(file).get("plugins") if file.is_file() else None
    for name, origin in needs.items() if isinstance(needs, dict) else ():
        slot, _, kind = str(name).partition(" ")
        known = slot in there or "task" in there  # the model's own menu knows nothing of tasks and data
        if known and kind not in there.get(slot, {}):
            file_named = str(origin).endswith(".py")
            raise InputError(
                f"{folder}: this run needs the {slot} {kind!r} of {'plugin ' if file_named else ''}{origin}; ",
                call=f'load it first: regard.plugin("{origin}")' if file_named else "add it to regard.menu() first",
                flag="give it with --plugin",
            )


def blamed(error: BaseException) -> str:
    """The last line of a plugin that led to an error, `cosine.py, line 7`, if one did."""
    files = {str(path): path.name for path in _STATE.files}
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((f"{files[file]}, line {line}" for file, line in reversed(frames) if file in files), "")


@contextmanager
def _loading(name: str) -> Iterator[None]:
    before, _STATE.loading = _STATE.loading, name
    try:
        yield
    except RegardError as error:
        if str(error).startswith("plugin "):  # one that loads another
            raise
        kind = RecipeError if isinstance(error, RecipeError) else InputError
        told = kind(f"plugin {_place(error, name)}: {error}")
        told.on_command_line = f"plugin {_place(error, name)}: {error.on_command_line}"
        raise told from error
    except SystemExit as error:
        raise InputError(f"plugin {_place(error, name)}: it ends the program; is it a script?") from error
    except Exception as error:
        said = (error.msg if isinstance(error, SyntaxError) else str(error)).splitlines()
        raise InputError(f"plugin {_place(error, name)}: {type(error).__name__}: {said[0] if said else ''}") from error
    finally:
        _STATE.loading = before


def _run(path: Path) -> None:
    """As an import would, under a name of its own, so that it hides no other module."""
    name = f"regard_plugin_{path.stem}_{crc32(bytes(path)):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    before, sys.modules[name] = sys.modules.get(name), module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        raise


def _enter(entry: EntryPoint) -> None:
    with _loading(f"{entry.name} ({entry.dist.name if entry.dist else entry.value})"):
        found: Any = entry.load()
        if callable(found):  # a module has done its work when it was imported
            found()


def _place(error: BaseException, name: str) -> str:
    """`cosine.py line 7`: the last line of the plugin that was running."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{Path(error.filename or name).name}, line {error.lineno}"
    frames: list[tuple[FrameType, int]] = list(walk_tb(error.__traceback__))
    inside = [line for frame, line in frames if Path(frame.f_code.co_filename).name == name]
    return f"{name}, line {inside[-1]}" if inside else name
