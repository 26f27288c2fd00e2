"""regard import: pretrained models of other makers, for texts and for images."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.show import as_json, line, plainly
from regard.commands.shown import Shown
from regard.commands.translate import Quiet
from regard.figures import count


def import_(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder of Hugging Face or timm, a .gguf file, or a model of the package registry: smollm2."
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the run goes; runs/NAME if not said.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make a run out of a pretrained model: GPT-2, Llama, Mistral, Qwen2, Mixtral; ViT, DeiT, ResNet.

    regard import smollm2

    regard import models/my-llama --out runs/llama

    regard import models/vit-base-patch16-224
    """
    from regard.import_run import import_model

    with Shown(quiet or json) as heard:
        run = import_model(source, out, heard, f"regard import {shlex.quote(source)}")
    facts = run.facts
    if json:
        return as_json({"run": str(run.folder), "parameters": facts["parameters"], "origin": facts["origin"]})
    if quiet:
        plainly(run.folder)
        return None
    licence = facts["origin"].get("licence")
    said = f"{count(facts['parameters'])} parameters" + (f", licence {licence}" if licence else "")
    line((str(run.folder), "bold"), f": {facts['origin'].get('family', 'a model')}, {said}")
    name, sees = shlex.quote(str(run.folder)), run.recipe["model"]["kind"] == "image_classifier"
    first = f"regard classify {name} IMAGE" if sees else f"regard generate {name} 'Why is the sky blue?'"
    more, own = ("FOLDER", "images") if sees else ("FILE", "texts")
    line("Next: ", (first, "bold"))
    line("      ", (f"regard train from={name} data.train={more}", "bold"), f"  goes on with {own} of your own")
    return None
