"""regard recipes: what can be made at once."""

from typing import Annotated

import typer
from rich.text import Text

from regard.commands.show import as_json, columns, console, line


def recipes(json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """List the recipes that come with Regard."""
    from regard.recipe import recipes as on_the_shelf

    found = on_the_shelf()
    if json:
        return as_json(found)
    table = columns("recipe", "what it makes")
    for name, about in found.items():
        table.add_row(Text(name, "bold"), about)
    console.print(table)
    console.print()
    line("Look at one: ", ("regard describe transformer-tiny", "bold"))
    return None
