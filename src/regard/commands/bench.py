"""regard bench: speed and memory, measured here and now."""


import typer

bench = typer.Typer(help="Measure speed and memory on this machine.", no_args_is_help=True)


@bench.callback()
def _bench() -> None:
    """Measure speed and memory on this machine."""
