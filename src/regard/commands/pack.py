"""regard pack: a slim copy of a run to hand on."""

from pathlib import Path
from typing import Annotated

import typer

from regard.commands.show import as_json, console
from regard.commands.shown import Shown
from regard.figures import size


def pack(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the copy goes: a new or empty folder.")],
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Copy what it takes to use a run: its best weights, recipe, tokenizers and a card, no data and no paths."""
    from regard.run.overview import overview
    from regard.run.pack import CARD
    from regard.trained import pack as packed

    with Shown() as heard:
        made = packed(run, out, heard)
    found = overview(made.folder)
    if json:
        return as_json({"folder": str(made.folder), "bytes": found.bytes, "step": made.facts["packed"]})
    console.print(
        f"{made.folder}: step {made.facts['packed']:,}, {size(found.bytes)}; {made.folder / CARD} says what it is",
        markup=False,
        soft_wrap=True,
    )
    return None
