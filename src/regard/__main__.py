"""python -m regard, and the command regard itself."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ^C before anything is ready to hear it: no trace


def main() -> None:
    """Run a verb of the command line."""
    from regard.commands import main as command

    command()


if __name__ == "__main__":
    main()
