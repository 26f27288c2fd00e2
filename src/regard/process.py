"""Every process that Regard starts is started here, so that none imports a file of the folder it is called from.

`python -c` and `python -m` search the current folder before the standard library: a `tokenize.py` in a folder of data
would be run by whoever imports `tokenize`. `-P` and PYTHONSAFEPATH turn that off, also for what a child starts itself.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regard.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    WorkerProcess = BaseProcess

SAFE_PATH = "PYTHONSAFEPATH"
PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL
PythonProcess = subprocess.Popen[bytes]


def start_python(
    arguments: Sequence[str], folder: Path, *, variables: Mapping[str, str] | None = None, **options: Any
) -> PythonProcess:
    """Start this Python with `-P` and these arguments, in a folder.

    `variables` is the whole environment; the default is that of this process. `options` are those of `Popen`.
    """
    return subprocess.Popen(_command(arguments), cwd=folder, env=_environment(variables), **options)


def run_python(arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run this Python with `-P` and these arguments, in a folder, and keep what it prints."""
    return subprocess.run(
        _command(arguments),
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def start_worker(
    method: Literal["spawn", "forkserver"],
    work: Callable[..., None],
    arguments: tuple[Any, ...],
    *,
    preload: Sequence[str] = (),
    daemon: bool = False,
) -> "tuple[WorkerProcess, Connection]":
    """Start `work(connection, *arguments)` in a process of multiprocessing. Returns it and our end of the connection.

    `preload` are modules that a fork server imports once for all its children.
    """
    import multiprocessing

    if sys.flags.ignore_environment and not sys.flags.safe_path:  # a child would get -E, and not hear of SAFE_PATH
        raise InputError("python -E: a process started by it imports from the current folder; add -P")
    context: Any = multiprocessing.get_context(method)
    if preload:
        context.set_forkserver_preload(list(preload))
    ours, theirs = context.Pipe()
    child = context.Process(target=work, args=(theirs, *arguments), daemon=daemon)
    with _safe_path():
        child.start()
    theirs.close()
    return child, ours


@contextmanager
def _safe_path() -> Iterator[None]:
    """multiprocessing takes no environment: it starts its servers and children in that of this process."""
    before, os.environ[SAFE_PATH] = os.environ.get(SAFE_PATH), "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def _command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", *arguments]


def _environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Relative entries of PYTHONPATH are made absolute, as the child has another working folder. An empty entry, which
    stands for the current folder and mostly comes from PYTHONPATH=$PYTHONPATH:more, is left out."""
    made = {**(os.environ if variables is None else variables), SAFE_PATH: "1"}
    if "PYTHONPATH" in made:
        made["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, filter(None, made["PYTHONPATH"].split(os.pathsep))))
    return made
