"""regard demo: the tours. Something small learns while you watch, is used, and is looked at."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.commands.demos.tour import COMMAND, Tour
from regard.commands.translate import Quiet

What = Literal["translation", "text", "images"]


def demo(
    what: Annotated[
        What, typer.Argument(help="Which tour: translation, text for a small GPT, images for a small ViT.")
    ] = "translation",
    out: Annotated[Path, typer.Option("--out", "-o", help="Where runs and pictures go.")] = Path("out/demo"),
    json: Annotated[bool, typer.Option("--json", help="One JSON line per event, for machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train small models from nothing, and look at what they look at: a minute or two on two cores.

    regard demo         two translators, and where they look

    regard demo text    a GPT that writes, and what surprises it

    regard demo images  a Vision Transformer that reads letters, and where it looks
    """
    from regard.commands.demos import images, text, translation
    from regard.disk import place

    command = COMMAND if what == "translation" else f"{COMMAND} {what}"
    tours = {"translation": translation.show, "text": text.show, "images": images.show}
    tours[what](Tour(command, place(out), json, quiet))
