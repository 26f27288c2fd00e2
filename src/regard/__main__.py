"""python -m regard, and the command regard itself."""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ^C before anything is ready to hear it: no trace


def main() -> None:
    """Run a verb of the command line."""
    from regard.commands import main as command

    try:
        command()
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code > 128:
            os._exit(ended.code)  # by a signal: all is said and saved, and to take torch down takes seconds
        raise


if __name__ == "__main__":
    main()
