"""regard describe: a model in figures."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.completing import keys, recipes
from regard.commands.show import as_json, console
from regard.commands.shown import Shown


def describe(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run folder.", autocompletion=recipes)],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[a.b=c]…", help="Keys to set.", autocompletion=keys)
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens in a sequence; if not said 128, or as many as the model has positions for."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Sequences in a training batch.")] = 16,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show the parts of a model, their shapes and parameters, and what it costs."""
    from regard.model.lines import description_lines
    from regard.recipe.read import is_run
    from regard.run import Run
    from regard.training.describe import describe as described
    from regard.training.describe import facts

    found = described(recipe, *(overrides or ()), length=length, batch=batch, listener=Shown())
    if json:
        run = {"run": facts(Run.open(Path(recipe)))} if is_run(recipe) else {}
        return as_json({key: value for key, value in asdict(found).items() if key != "run"} | run)
    console.print(description_lines(found), no_wrap=True, overflow="ignore", crop=False)
    return None
