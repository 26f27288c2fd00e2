"""The command line: one file per verb. Nothing heavy is imported before a verb runs."""

import sys

import typer

from regard.commands import bench_translation  # noqa: F401  (adds two benches)
from regard.commands.bench import bench
from regard.commands.data import data
from regard.commands.demo import demo
from regard.commands.describe import describe
from regard.commands.evaluate import evaluate
from regard.commands.menu import menu
from regard.commands.pack import pack
from regard.commands.recipes import recipes
from regard.commands.runs import runs
from regard.commands.train import train
from regard.commands.translate import translate
from regard.errors import InputError, RecipeError, RegardError

app = typer.Typer(
    name="regard",
    help="Every sequence model of the notes, from the plain RNN to GPT and ViT, as a choice in a recipe.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(recipes)
app.command()(menu)
app.command()(describe)
app.command()(train)
app.command()(evaluate)
app.command()(translate)
app.add_typer(runs, name="runs")
app.command()(pack)
app.add_typer(data, name="data")
app.add_typer(bench, name="bench")


def main() -> None:
    """Run a verb. Exit codes: 0 done, 1 failed, 2 wrong usage or recipe, 3 input refused, 130 interrupted."""
    try:
        app()
    except RegardError as error:
        code = 2 if isinstance(error, RecipeError) else 3 if isinstance(error, InputError) else 1
        sys.exit(_say(error.on_command_line, code))
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        sys.exit(_say(f"{error.filename or 'disk'}: {error.strerror or error}", 1))
    except KeyboardInterrupt:
        sys.exit(_say("interrupted", 130))


def _say(message: str, code: int) -> int:
    print(f"regard: {message}", file=sys.stderr)
    return code
