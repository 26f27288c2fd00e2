"""The compiled step: kept in the user's cache, never in a run, and made there by a process of its own."""

import ctypes
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache as cache_once
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from regard.decoding.compiled.layout import columns_at_once, lanes
from regard.disk import read_bytes
from regard.disk.cache import cache, claim, held, used
from regard.errors import InputError
from regard.process import DEVNULL, PythonProcess, start_python

SOURCE = Path(__file__).parent / "source"
MAKER = "regard.decoding.compiled.source.make"
SWITCH = "REGARD_COMPILED"
LARGEST = 2**24
PAUSE = 0.5  # seconds, while another process compiles, from one look to the next
OWNERS: list[Any] = []  # with whoever owns it, machine code would go
RESULT, ERROR = bytes(64), bytes(64)  # numba's functions write there what they give back: nothing
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

# read at once: where Regard is replaced while it runs, what is compiled later is not for the tables made here
SOURCES = sha256(
    b"\0".join(read_bytes(path) for path in sorted([*SOURCE.glob("*.py"), SOURCE.parent / "layout.py"]))
).hexdigest()

Code = Callable[[int, int], int]
"""Takes two addresses: that of the call's table, and that of a thread's own room."""


class MachineCode:
    """The one function of this process. Until it is there, and where it cannot be, everything goes through torch."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._code: Code | None = None
        self._file: Path | None = None
        self._maker: PythonProcess | None = None
        self._hopeless = not (wanted() and sys.executable)
        self._again = 0.0

    def get(self) -> Code | None:
        """The function if it is there. Where it has to be compiled first, that is begun, and nobody waits."""
        if self._code is not None or self._hopeless:
            return self._code
        with self._lock:
            if self._code is None and not self._hopeless:
                self._look()
            return self._code

    def make(self) -> Code | None:
        """The same, waiting until it is compiled, here or by another process."""
        while self.get() is None and not self._hopeless:
            assert self._file is not None
            if self._maker is not None:
                self._maker.wait()
            else:
                with held(self._file.parent):
                    self._again = 0.0
        return self._code

    def _look(self) -> None:
        """Load it, or see to it that some process compiles it: this one's if no other does."""
        if time.monotonic() < self._again or (self._maker is not None and self._maker.poll() is None):
            return
        self._file = self._file or cache("compiled") / file_name()
        found = read(self._file)
        if found is not None:
            self._code = loaded(*found)
            used(self._file)
        elif self._maker is not None or not private(self._file.parent):
            self._hopeless = True  # it was tried, or must not be
        elif (claimed := claim(self._file.parent)) is None:
            self._again = time.monotonic() + PAUSE  # another process compiles it
        else:
            self._maker = begun(self._file, claimed)
            self._hopeless = self._maker is None


def begun(file: Path, claimed: int) -> PythonProcess | None:
    """A process that compiles into a file, and holds what was claimed until it ends.

    It is not meant by ^C, and of use to whoever comes next.
    """
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), DEVNULL)
    try:
        file = file.absolute()
        return start_python(
            ["-m", MAKER, str(file)], file.parent, start_new_session=True, pass_fds=[claimed], **streams
        )
    except OSError:
        return None
    finally:
        os.close(claimed)


def wanted() -> bool:
    """Whether numba is installed, and REGARD_COMPILED is not 0."""
    return os.environ.get(SWITCH) != "0" and all(find_spec(name) is not None for name in ("numba", "llvmlite"))


@cache_once
def features() -> dict[str, bool]:
    """What this processor can do; nothing is known of it where nothing can be compiled."""
    if find_spec("llvmlite") is None:
        return {}
    import llvmlite.binding as llvm

    found: dict[str, bool] = dict(llvm.get_host_cpu_features())
    return found


def packs_eighths() -> bool:
    """Whether its products of whole numbers want weights packed."""
    return columns_at_once(features()) == 2


def four_eighths() -> bool:
    """Whether it adds up four products of eight bits at once, of weights as they stand."""
    return columns_at_once(features()) == 4


def panel_width() -> int:
    """Outputs of a panel of packed weights."""
    return 2 * lanes(features())


def digest() -> str:
    """Other source, other versions or another processor: other machine code."""
    import llvmlite.binding as llvm

    able = str(sorted(features().items()))
    names = [SOURCES, version("numba"), version("llvmlite"), llvm.get_host_cpu_name(), able]
    return sha256("\0".join(names).encode()).hexdigest()[:32]


def file_name() -> str:
    """What its file is called in the cache."""
    return f"step-{digest()}.code"


def private(folder: Path) -> bool:
    """Whether what lies in a folder can only be one's own: nobody else's machine code is ever run."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.stat()
        return facts.st_uid == os.getuid() and not facts.st_mode & OTHERS_MAY_WRITE
    return False


def read(file: Path) -> tuple[str, bytes] | None:
    """The name of the function and the object file, if they are there, whole and one's own."""
    if not private(file.parent):
        return None
    try:
        name, checked, code = read_bytes(file, most=LARGEST).split(b"\n", 2)
    except (InputError, ValueError):
        return None
    return (name.decode("ascii", "replace"), code) if sha256(code).hexdigest().encode() == checked else None


def loaded(name: str, code: bytes) -> Code:
    """Machine code as a function; it stays until the process ends."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
    OWNERS.append(engine)
    return partial(kind(engine.get_function_address(name)), RESULT, ERROR)


MACHINE_CODE = MachineCode()
