"""The processor of this machine: its name, its cores, and how many of them other work leaves free."""

import os
import platform
import re
from contextlib import suppress
from pathlib import Path

THREADS = "OMP_NUM_THREADS"
GIVEN = os.environ.get(THREADS, "")
"""What the user said of threads, before `spare_cores` says anything."""
LOAD = Path("/proc/loadavg")
MODEL = Path("/proc/cpuinfo")
ALLOWED = Path("/sys/fs/cgroup/cpu.max")  # what a container may take: microseconds of work, and of time


def processor_name() -> str:
    """The model of the processor, or at least its kind."""
    with suppress(OSError, StopIteration):
        lines = MODEL.read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    # `platform.processor` would start a process.
    return platform.machine()


def cores() -> int:
    """Cores that this process may use."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # "max": all of them
        work, time = map(int, ALLOWED.read_text().split())
        here = min(here, max(1, work // time))
    return here


def thread_limit() -> int:
    """Threads that may compute at once: as many as the user said in OMP_NUM_THREADS, or as there are cores."""
    given = re.match(r"\s*([0-9]{1,5})", GIVEN)
    return max(1, int(given[1])) if given else cores()


def load_average() -> float:
    """Processes that wanted a core over the last minute, on the average; 0 where no system says so."""
    with suppress(OSError, AttributeError):
        return os.getloadavg()[0]
    return 0.0


def free_cores() -> int:
    """Cores that other work leaves free, at least one.

    The last minute may have been our own, of a command that has just ended, and a moment may be chance: other work is
    what both speak of.
    """
    others = load_average()
    with suppress(OSError, ValueError, IndexError):
        running = int(LOAD.read_text().split()[3].partition("/")[0])
        others = min(others, running - 1)  # one of them reads this
    return max(1, min(cores(), (os.cpu_count() or 1) - round(others)))


def spare_cores() -> None:
    """Let libraries that are not loaded yet begin with no more threads than there are free cores.

    Threads of one product wait for each other. Where other work holds a core, that wait is long: small models become
    many times slower with two threads than with one.
    """
    if not GIVEN and free_cores() < cores():
        os.environ[THREADS] = str(free_cores())
