"""regard recipes: what can be made at once."""

from typing import Annotated

import typer

from regard.commands.show import as_json, columns, console


def recipes(json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """List the recipes that come with Regard."""
    from regard.recipe import recipes as on_the_shelf

    found = on_the_shelf()
    if json:
        return as_json(found)
    table = columns("recipe", "what it makes")
    for name, about in found.items():
        table.add_row(f"[bold]{name}[/]", about.replace("[", r"\["))
    console.print(table)
    console.print("\nLook at one: [bold]regard describe transformer-tiny[/]")
    return None
