"""What the skips of a U-Net are for: noisy glyphs, restored with and without them (item 23)."""

import tempfile
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated

import typer

from regard.calls.training import train
from regard.commands.show import columns, console
from regard.tasks.restoration.evaluation import RestorationScores
from regard.verbs import evaluate
from shown import run

SKIPS = ("concatenate", "none")


def trained(skips: str, strength: float, steps: int, seed: int, place: Path) -> RestorationScores:
    """The recipe unet-glyphs with a budget of its own, on its test images."""
    words = [f"model.skips={skips}", f"corruption.strength={strength}", f"training.seed={seed}"]
    words += [f"training.steps={steps}", f"training.checkpoints.validate_every={steps}", "task.batch_images=32"]
    words += ["data.train_images=6400", "data.valid_images=100", "data.test_images=1000"]
    found = evaluate(train("unet-glyphs", *words, out=place / f"{skips}-{strength}-{seed}", progress=False))
    assert isinstance(found, RestorationScores)
    return found


def skips(
    steps: Annotated[int, typer.Option(help="Training steps of 32 images.")] = 200,
    seeds: Annotated[int, typer.Option(min=2, help="Trainings of each.")] = 3,
    strength: Annotated[float, typer.Option(help="Spread of the noise, black to white being 1.")] = 0.2,
) -> None:
    """PSNR, structural similarity, and how many were better left alone: mean and deviation over trainings."""
    heads = ("skips", " PSNR, spoilt", " PSNR, restored", " similarity, spoilt", " similarity, restored")
    table = columns(*heads, " better left alone")
    with tempfile.TemporaryDirectory() as place:
        for each in SKIPS:
            found = [trained(each, strength, steps, seed, Path(place)) for seed in range(1, seeds + 1)]
            decibels, alike = [one.psnr for one in found], [one.ssim for one in found]
            table.add_row(
                each,
                f"{found[0].psnr_corrupted:.2f} dB",
                f"{mean(decibels):.2f} ± {stdev(decibels):.2f} dB",
                f"{found[0].ssim_corrupted:.3f}",
                f"{mean(alike):.3f} ± {stdev(alike):.3f}",
                f"{mean(one.worse for one in found):.1f} %",
            )
    console.print(table)


if __name__ == "__main__":
    run(skips)
