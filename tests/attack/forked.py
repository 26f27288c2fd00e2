"""A command as a process of its own that was forked, not started: it need not import torch again."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence


class Forked:
    """As much of a `Popen` as it takes to wait for a process and to kill it; it does `first` before all else."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        out: int,
        err: int | None = None,
        first: Callable[[], object] = lambda: None,
    ) -> None:
        import regard.commands
        import regard.commands.reporter
        import regard.training.train  # noqa: F401

        sys.stdout.flush()
        self.code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _become(words, environment, (out, out if err is None else err), first)

    def poll(self) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired("regard", timeout or 0.0)
            time.sleep(0.001)
        return code


def _become(
    words: Sequence[str], environment: Mapping[str, str], streams: tuple[int, int], first: Callable[[], object]
) -> None:
    """This process is the command from now on."""
    code = 1
    try:
        os.setsid()
        os.dup2(streams[0], 1)
        os.dup2(streams[1], 2)
        os.environ.update(environment)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        sys.argv = ["regard", *words]
        from regard.commands import main

        first()
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
