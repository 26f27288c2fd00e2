"""A GPT's training step beside nanoGPT and Hugging Face: `python benchmarks/gpt.py --nanogpt FOLDER`."""

from pathlib import Path
from typing import Annotated

import typer

from peers.gpt2 import prepare_gpt2_step
from peers.installed import installed
from peers.nanogpt import prepare_nanogpt_step
from regard.commands.bench import gpt_shape
from regard.commands.show import progress
from regard.errors import RecipeError
from regard.measuring.regard_workers import gpt_workers, product_worker
from regard.measuring.workers import ProcessWorker, take_turns
from shown import run, show_beside


def main(
    nanogpt: Annotated[Path, typer.Option(help="A checkout of nanoGPT.")],
    layers: Annotated[int, typer.Option(min=1)] = 6,
    heads: Annotated[int, typer.Option(min=1)] = 6,
    width: Annotated[int, typer.Option(min=1, help="Of the model; a multiple of --heads.")] = 384,
    length: Annotated[int, typer.Option(min=1, help="Of the context.")] = 256,
    batch: Annotated[int, typer.Option(min=1)] = 16,
    vocab_size: Annotated[int, typer.Option(min=2)] = 65,
    rounds: Annotated[int, typer.Option(min=1, help="Everybody takes a turn in each.")] = 9,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """One step (forward, backward, AdamW) in tokens per second, round by round beside nanoGPT and GPT-2."""
    if not (nanogpt / "model.py").is_file():
        raise RecipeError(
            f"--nanogpt {nanogpt}: no model.py there; git clone https://github.com/karpathy/nanoGPT and give its folder"
        )
    shape = gpt_shape(layers, heads, width, length, batch, vocab_size)
    workers = [
        *gpt_workers(shape),
        ProcessWorker("nanoGPT", prepare_nanogpt_step, (shape, nanogpt)),
        ProcessWorker("nanoGPT, memory kept", prepare_nanogpt_step, (shape, nanogpt, True)),
    ]
    if installed("huggingface"):
        workers.append(ProcessWorker("Hugging Face GPT-2", prepare_gpt2_step, (shape,)))
    with progress(rounds) as tell:
        turns = take_turns([*workers, product_worker()], rounds, tell, warm=2)
    show_beside(turns, "tokens/s", json)


if __name__ == "__main__":
    run(main)
