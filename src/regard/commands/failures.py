"""What ended a command, as one or two lines and an exit code: never a trace, unless one is asked for."""

import errno
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import typer

from regard.commands.signals import NAMES
from regard.commands.streams import is_gone
from regard.commands.surroundings import address_space, too_little
from regard.errors import InputError, RecipeError, RegardError, is_memory
from regard.training.stop import Interrupted

SHOWN = 60  # characters of a name that is too long
Usage: Any = typer.BadParameter.__mro__[1]  # typer names these two nowhere else
Mistake: Any = typer.BadParameter.__mro__[2]


def told(error: Any) -> tuple[str, int]:
    """The line and the code: 1 failed, 2 wrong usage or recipe, 3 input refused, 128 + number of a signal."""
    if isinstance(error, RegardError):
        return error.on_command_line, 2 if isinstance(error, RecipeError) else 3 if isinstance(error, InputError) else 1
    if isinstance(error, Mistake):
        return _misused(error), int(error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        number = error.number if isinstance(error, Interrupted) else signal.SIGINT
        return NAMES.get(signal.Signals(number), ""), 128 + number
    if isinstance(error, OSError):
        return _system(error)
    return _lacking(error) or _bug(error), 1


def _lacking(error: BaseException) -> str:
    """What the system has too little of, or nothing: memory, address space, a package."""
    limit = address_space()
    if limit is not None and (is_memory(error) or isinstance(error, ImportError | SystemError)):
        return too_little(limit)
    if is_memory(error):
        return "not enough memory; training needs less with a smaller task.batch_tokens, or task.batch_images of images"
    return _not_imported(error) if isinstance(error, ImportError) else ""


def _misused(error: Any) -> str:
    """A word too many, an option that there is not: what typer says, and where to read on."""
    if type(error).__name__ == "NoArgsIsHelpError":  # the help is on the screen already
        return ""
    said = error.format_message().rstrip(".").replace("Value error, ", "")
    if type(error).__name__ == "NoSuchOption":
        from regard.commands.mistyped import option_meant

        said = error.message + option_meant(error.option_name, error.possibilities or [], sys.argv[1:])
    said = f"{said[:1].lower()}{said[1:]}"
    context = error.ctx if isinstance(error, Usage) else None
    return said if context is None else f"{said}\n{context.command_path} --help says what there is"


def _system(error: OSError) -> tuple[str, int]:
    """The disk's or another device's own words; nothing at all where nobody is left to read them."""
    if is_gone(error):
        return "", 128 + (signal.SIGPIPE if isinstance(error, BrokenPipeError) else signal.SIGHUP)
    if error.errno == errno.ENAMETOOLONG:
        return f"{str(error.filename)[:SHOWN]}…: the name is longer than names of files can be", 3
    return f"{error.filename or 'disk'}: {error.strerror or error}", 1


def _not_imported(error: ImportError) -> str:
    """A package that is missing or broken; of Regard's own modules or a plugin's, that is no fault of the system."""
    from regard.recipe.plugins import blamed

    package = (error.name or "").partition(".")[0]
    if package in ("", "regard") or blamed(error):
        return ""
    said = (str(error).splitlines() or [""])[0][:200]
    return f"{package} cannot be imported: {said}\n`{sys.executable} -m pip check` says what is missing"


def _bug(error: BaseException) -> str:
    """What nobody thought of."""
    trace = "".join(traceback.format_exception(error))
    said = (str(error).splitlines() or [""])[0][:200]
    from regard.recipe.plugins import blamed

    plugin = blamed(error)
    name = f"plugin {plugin}" if plugin else "a bug in Regard, or in something it uses"
    name = f"{name}: {type(error).__name__}: {said}"
    if os.environ.get("REGARD_TRACE"):
        return f"{name}\n{trace.rstrip()}"
    try:
        handle, path = tempfile.mkstemp(prefix="regard-trace-", suffix=".txt", text=True)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"regard {' '.join(sys.argv[1:])}\n\n{trace}")
    except OSError:
        return f"{name}\nREGARD_TRACE=1 shows where"
    return f"{name}\nwhere it came from is in {Path(path)}; REGARD_TRACE=1 shows it here"
