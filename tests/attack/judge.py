"""One command on one hostile folder, in a process of its own with bounds, and a verdict.

The process that judges has imported all that is slow and forks for every case. What a case may do is bounded
(memory, size of files, seconds); what it did is seen from outside: how it ended, what it said, how much memory it
took, and whether anything beside the run was read, written or deleted.
"""

import importlib
import os
import resource
import select
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SLOW = (
    "regard.commands",
    "regard.commands.reporter",
    "regard.training.train",
    "regard.training.plan",
    "regard.trained",
    "regard.tasks.language",
    "regard.tasks.translation",
    "regard.verbs",
    "regard.run.curve",
    "regard.run.overview",
    "torch._dynamo",
    "torch._refs",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "sacrebleu",
    "PIL.PngImagePlugin",
)
GOOD = ("worked", "refused")
BAD = ("trace", "hang", "crash", "memory", "outside", "code", "orders")
SECONDS = 20.0
MEMORY = 2**30  # more than the untouched run takes
ROOM = 4 * 2**30  # of addresses, so that nothing takes the machine down
FILES = 2**28
CODE = ("pickle.find_class", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect")
SANDBOX = str(Path(find_spec("regard").origin).parent / "datasets" / "chat" / "sandbox.py")  # for chats, and bounded
SECRET = "what-nobody-may-see"
Words = Sequence[str] | Callable[[Path], object]


@dataclass(frozen=True)
class Verdict:
    """What became of a case: one of GOOD or BAD, the last of what it said, seconds and memory above the start."""

    kind: str
    said: str
    seconds: float
    memory: int

    @property
    def good(self) -> bool:
        return self.kind in GOOD


def ready(run: Path) -> None:
    """Import what is slow, and use an honest run, so that what is made at the first use is made once."""
    import gc

    for name in SLOW:
        importlib.import_module(name)
    from regard.decoding.compiled.machine_code import MACHINE_CODE
    from regard.verbs import translate

    MACHINE_CODE.make()  # what strangers' weights are multiplied by
    translate(run, ["a b"])
    gc.collect()
    gc.freeze()


class Scene:
    """Where a case plays: the run, what lies beside it and must stay as it is, and where commands may write."""

    def __init__(self, place: Path, run: Path) -> None:
        self.place, self.text = place, run.with_name("text.txt")
        self.run, self.beside = place / "deep" / "er" / "run", place / "deep" / "beside"
        self.out, self.seat = place / "out", place / "seat"
        for folder in (self.beside / "folder", self.out, self.seat, place / "tmp", place / "cache"):
            folder.mkdir(parents=True)
        shutil.copytree(run, self.run, symlinks=True)
        shutil.copytree(run, self.beside / "run", symlinks=True)
        (self.beside / "file.txt").write_text(f"{SECRET}\n")
        (self.beside / "left.part").write_text(SECRET)
        (self.beside / "folder" / "old.part").write_text(SECRET)

    def found(self) -> dict[str, Any]:
        """All that lies beside the run. A file that is read shows it: the clock of its last reading is set back."""
        seen: dict[str, Any] = {}
        for top in (self.place / "deep", self.seat):
            for folder, names, files in os.walk(top):
                if Path(folder) == self.run.parent and "run" in names:
                    names.remove("run")
                for path in (Path(folder) / name for name in (*names, *files)):
                    seen[str(path.relative_to(self.place))] = _state(path)
        return seen

    def wind_back(self) -> None:
        """So that the next reading of any file beside the run is noted, on disks that note it once."""
        for folder, _, files in os.walk(self.place / "deep"):
            if not Path(folder).is_relative_to(self.run):
                for path in (Path(folder) / name for name in files):
                    if not path.is_symlink():
                        os.utime(path, ns=(10**18, 10**18 + 10**9))

    def clear(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


def _state(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        return (found.st_mode, os.readlink(path) if path.is_symlink() else "")
    return (found.st_mode, found.st_size, found.st_mtime_ns, found.st_atime_ns)


def judged(scene: Scene, words: Words, before: int = 0, seconds: float = SECONDS) -> Verdict:
    """Run a command (or a call) and say what became of it; `before` is the memory of the untouched run."""
    scene.wind_back()
    untouched, said = scene.found(), scene.place / "said.txt"
    sys.stdout.flush()
    sys.stderr.flush()
    began = time.monotonic()
    child = os.fork()
    if not child:
        _become(scene, words, said)
    code, usage, late = _wait(child, began, seconds)
    took, memory = time.monotonic() - began, usage.ru_maxrss * 1024
    text = said.read_bytes().decode(errors="replace")
    kind = "outside" if scene.found() != untouched or SECRET in text else _kind(code, text, late)
    if kind in (*GOOD, "hang") and before and memory - before > MEMORY:  # to be given it may take long
        kind = "memory"
    return Verdict(kind, text[-3000:], took, memory)


def _wait(child: int, began: float, seconds: float) -> tuple[int, resource.struct_rusage, bool]:
    """How it ended, and whether it had to be ended; time in which a busy machine did not let it run is not counted."""
    handle = os.pidfd_open(child)
    try:
        while not (ended := bool(select.select([handle], [], [], 0.5)[0])):
            if time.monotonic() - began - _kept_waiting(child) > seconds:
                os.kill(child, signal.SIGKILL)
                break
        _, status, usage = os.wait4(child, 0)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(status), usage, not ended


def _kept_waiting(process: int) -> float:
    """Seconds in which a process could have gone on, had there been a core for it."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def _kind(code: int, said: str, late: bool) -> str:
    if late:
        return "hang"
    if code == 99:
        return "code"
    if code < 0 or code in (134, 139):
        return "crash"
    if "MemoryError" in said or "not enough memory" in said or "can't allocate memory" in said:
        return "memory"
    if "a bug in Regard" in said or "Traceback" in said or "panicked at" in said:
        return "trace"
    if "\x1b" in said:
        return "orders"
    return "worked" if code == 0 else "refused"


def _become(scene: Scene, words: Words, said: Path) -> None:
    """This process is the command from now on, within its bounds."""
    code = 98
    try:
        _bounded(scene, said)
        sys.addaudithook(_no_code)
        code = _called(scene, words) if callable(words) else _commanded(words)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _bounded(scene: Scene, said: Path) -> None:
    os.setsid()
    handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    sys.stdin, sys.stdout, sys.stderr = (open(n, mode, closefd=False) for n, mode in enumerate("rww"))  # noqa: SIM115
    os.chdir(scene.seat)
    os.environ.update(REGARD_CACHE=str(scene.place / "cache"), TMPDIR=str(scene.place / "tmp"), REGARD_TRACE="1")
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILES, FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _no_code(event: str, told: tuple[Any, ...]) -> None:
    if event in CODE and not (event == "subprocess.Popen" and SANDBOX in told[1]):
        os.write(2, f"{event}\n".encode())
        os._exit(99)


def _called(scene: Scene, call: Callable[[Path], object]) -> int:
    """What a call in Python says; all but Regard's own errors is a trace."""
    from regard.errors import RegardError

    try:
        call(scene.run)
    except RegardError as error:
        print(error)
        return 3
    return 0


def _commanded(words: Sequence[str]) -> int:
    from regard.commands import main

    sys.argv = ["regard", *words]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    return 0
