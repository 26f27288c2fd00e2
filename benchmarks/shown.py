"""What all benchmarks do around their work: say wrong usage in a sentence, and show who was faster."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from statistics import median

import typer

from regard.commands.bench_tables import ratio_text, show_mood
from regard.commands.show import as_json, columns, console
from regard.errors import FailedError, InputError, RecipeError
from regard.figures import size
from regard.measuring.workers import Turns


def run(command: Callable[..., None]) -> None:
    """Run a command with its options; what goes wrong is one sentence, with the exit codes of `regard`."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    try:
        app()
    except (RecipeError, InputError, FailedError) as error:
        print(error, file=sys.stderr)
        sys.exit(2 if isinstance(error, RecipeError) else 3 if isinstance(error, InputError) else 1)


def show_beside(turns: list[Turns], unit: str, json: bool) -> None:
    """How many times as fast as each peer Regard is; the last to take turns is the matrix product."""
    if json:
        return as_json([asdict(taken) | {"rate": taken.rate} for taken in turns])
    ours = [taken for taken in turns if taken.name.startswith("regard")]
    ratios = [f"{mine.name} is … times as fast" for mine in ours]
    table = columns("", f" {unit}", " s a turn", " spread", " peak", *ratios)
    for taken in turns[:-1]:
        cells = [f"{taken.rate:,.0f}", f"{median(taken.seconds):.3g}", f"{taken.spread:.2f}", size(taken.peak)]
        table.add_row(taken.name, *cells, *("" if taken is mine else ratio_text(mine, taken) for mine in ours))
    console.print(table)
    show_mood(turns[-1])
    return None
