"""The command line: one file per verb. Nothing heavy is imported before a verb runs."""

import os
import sys
from collections.abc import Callable
from signal import SIGPIPE
from typing import Annotated

import typer

from regard.commands import bench_translation  # noqa: F401  (adds two benches)
from regard.commands.bench import bench
from regard.commands.classify import classify
from regard.commands.completion import complete
from regard.commands.data import data
from regard.commands.demo import demo
from regard.commands.describe import describe
from regard.commands.evaluate import evaluate
from regard.commands.failures import told
from regard.commands.generate import generate
from regard.commands.import_ import import_
from regard.commands.look import look
from regard.commands.menu import menu
from regard.commands.pack import pack
from regard.commands.plugin import offer_plugins
from regard.commands.recipes import recipes
from regard.commands.restore import restore
from regard.commands.runs import runs
from regard.commands.score import score
from regard.commands.signals import Signals
from regard.commands.streams import let_go, own_up, say, set_up
from regard.commands.surroundings import ask_before_torch
from regard.commands.train import train
from regard.commands.translate import translate

app = typer.Typer(
    name="regard",
    help="Every sequence model of the notes, from the plain RNN to GPT and ViT, as a choice in a recipe.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Look around": (demo, recipes, menu, describe),
    "Train and use": (train, evaluate, translate, generate, score, classify, restore, look, import_, pack),
}
for panel, verbs in PANELS.items():
    for verb in verbs:
        app.command(verb.__name__.rstrip("_"), rich_help_panel=panel)(verb)
app.add_typer(runs, name="runs", rich_help_panel="Train and use")
app.add_typer(data, name="data", rich_help_panel="Data and measurements")
app.add_typer(bench, name="bench", rich_help_panel="Data and measurements")
offer_plugins(app)


def _version(asked: bool) -> bool:
    if asked:
        from regard.version import __version__

        print(f"regard {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def _regard(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Which Regard this is, and no more."),
    ] = False,
) -> None:
    """Every sequence model of the notes, from the plain RNN to GPT and ViT, as a choice in a recipe."""


def main() -> None:
    """Run a verb. Exit codes: 0 done, 1 failed, 2 wrong usage or recipe, 3 input refused, 128 + number of a signal.

    130 is ^C, 143 SIGTERM, 129 SIGHUP, 141 a pipe that nobody reads.
    """
    try:
        code = _run(Signals())
    except KeyboardInterrupt:  # once more, while the first was being told
        os._exit(130)
    from regard.apart import left_behind

    if left_behind():  # Python cannot be shut down around a thread in Rust
        os._exit(code)
    sys.exit(code)


def _run(signals: Signals) -> int:
    set_up()
    ask_before_torch()
    try:
        signals.hear()
        code = _verb()
        sys.stdout.flush()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
        code = 128 + SIGPIPE if isinstance(ended.__context__, BrokenPipeError) else code  # rich has a code of its own
    except BaseException as error:
        signals.ending = True
        said, code = told(error)
        let_go()
        if said:
            say(f"regard: {said}")
    signals.ending = True
    own_up()
    let_go()
    return code


def _verb() -> int:
    """Not typer's own `main`: it has codes of its own for ^C and for a closed pipe, and draws boxes around mistakes."""
    if "_REGARD_COMPLETE" in os.environ:
        complete(lambda: app(prog_name="regard"))
    command = typer.main.get_command(app)
    try:
        with command.make_context("regard", sys.argv[1:]) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    return 0
