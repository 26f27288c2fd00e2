"""python -m regard, and the command regard itself."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # `python -m` puts the current folder first: what lies there is no part of Regard, as for `regard`

import atexit
import gc
import os
import signal
from contextlib import suppress
from typing import NoReturn

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ^C before anything is ready to hear it: no trace

SELDOM = 10_000  # new objects until Python looks for cycles: at 700 that is a tenth of the time until torch is there


def main() -> None:
    """Run a verb of the command line."""
    gc.set_threshold(SELDOM)
    from regard.processor import spare_cores

    spare_cores()
    from regard.commands import main as command

    try:
        command()
    except SystemExit as ended:
        if isinstance(ended.code, int) and sys.getprofile() is None:
            leave(ended.code)
        raise


def leave(code: int) -> NoReturn:
    """End the process: all is said and saved, and to take torch down takes a second. By a signal, at once."""
    if code <= 128:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # nobody reads it any more, or it is closed
                stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
