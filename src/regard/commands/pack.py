"""regard pack: a slim copy of a run to hand on."""

from pathlib import Path
from typing import Annotated

import typer

from regard.commands.completing import runs as complete_runs
from regard.commands.show import as_json, line
from regard.commands.shown import Shown
from regard.figures import size


def pack(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the copy goes: a new or empty folder.")],
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Copy what it takes to use a run: its best weights, recipe, tokenizers and a card, no data and no paths."""
    from regard.run.card import CARD
    from regard.run.overview import overview
    from regard.trained import pack as packed

    with Shown() as heard:
        made = packed(run, out, heard)
    found = overview(made.folder)
    if json:
        return as_json({"folder": str(made.folder), "bytes": found.bytes, "step": made.facts["packed"]})
    step = f": step {made.facts['packed']:,}, {size(found.bytes)}; "
    line((str(made.folder), "bold"), step, (str(made.folder / CARD), "bold"), " says what it is")
    return None
