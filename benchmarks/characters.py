"""Characters learnt beside nanoGPT's preset for CPUs: `python benchmarks/characters.py TEXT --nanogpt FOLDER`.

Each trains in a process of its own, in turn: nanoGPT by its own train.py with the sizes its README names for a CPU,
Regard by a recipe of the same size. Timed is the whole process. Both are judged on the same held-out tenth, all of it,
in windows that do not overlap. Needs an idle machine.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from peers.nanogpt import PRESET, nanogpt_loss, put_text
from regard.commands.show import console
from regard.errors import FailedError
from shown import run


def main(
    text: Annotated[Path, typer.Argument(help="The text to learn; its last tenth is held out.")],
    nanogpt: Annotated[Path, typer.Option(help="A checkout of nanoGPT.")],
    recipe: Annotated[str, typer.Option(help="What Regard trains.")] = "text-gpt",
    steps: Annotated[int, typer.Option(min=0, help="Steps of Regard; 0 as the recipe says.")] = 0,
    rounds: Annotated[int, typer.Option(min=1, help="Both take a turn in each.")] = 3,
    threads: Annotated[int, typer.Option(min=1)] = 2,
) -> None:
    """Held-out loss and seconds of both, round by round."""
    ratios = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            theirs = _nanogpt(nanogpt, text, Path(folder), threads)
            words = [recipe, *([f"training.steps={steps}"] if steps else []), f"training.seed={number + 1}"]
            ours = _regard(words, text, Path(folder), threads)
        ratios.append(ours[1] / theirs[1])
        for name, (loss, seconds) in (("nanoGPT", theirs), ("Regard", ours)):
            console.print(f"round {number + 1}  {name:8}  loss {loss:.4f}  {seconds:.1f} s")
    console.print(f"Regard takes {median(ratios):.2f} of the time ({min(ratios):.2f}–{max(ratios):.2f})")


def _nanogpt(checkout: Path, text: Path, folder: Path, threads: int) -> tuple[float, float]:
    home = put_text(checkout, text, folder / "nanogpt")
    seconds = _timed([sys.executable, "train.py", *PRESET, f"--out_dir={home / 'out'}"], home, threads)
    return nanogpt_loss(home), seconds


def _regard(words: list[str], text: Path, folder: Path, threads: int) -> tuple[float, float]:
    data = ["data.kind=text", f"data.train={text.resolve()}", "data.valid_share=0.1"]
    train = ["train", *words, *data, "--out", str(folder / "run"), "--quiet"]
    seconds = _timed([sys.executable, "-P", "-m", "regard", *train], folder, threads)
    command = [sys.executable, "-P", "-m", "regard", "evaluate", str(folder / "run"), "--json"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(found)["scores"]["loss"]), seconds


def _timed(command: list[str], folder: Path, threads: int) -> float:
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{' '.join(command[:3])}: {done.stderr[-600:]}")
    return time.perf_counter() - began


if __name__ == "__main__":
    run(main)
