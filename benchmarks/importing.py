"""How long it takes to read a pretrained model, and how much memory: Regard and transformers in turns.

    python benchmarks/importing.py SOURCE --rounds 5

SOURCE is a GGUF file, a Hugging Face folder, or `smollm2`; transformers takes its turn where it is installed (for
GGUF with `gguf` and `accelerate`). Every turn is a process of its own; what is imported before is not counted.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from shown import run

REGARD = """
import json, resource, sys, time
import torch
from regard.importing import read_model
from regard.model.build import open_recipe
from regard.model.weights import fitted, load
import gguf.quants
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
found = read_model(sys.argv[1])
read = time.perf_counter() - began
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
shapes = {name: list(tensor.shape) for name, tensor in found.weights.items()}
model = load(fitted(open_recipe(found.recipe).model, shapes), found.weights)
del found
print(json.dumps([read, (most - before) / 1024, time.perf_counter() - began]))
"""
TRANSFORMERS = """
import json, pathlib, resource, sys, time
import torch, accelerate, gguf.quants
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
path = pathlib.Path(sys.argv[1])
place = {"gguf_file": path.name} if path.is_file() else {}
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
model = AutoModelForCausalLM.from_pretrained(path.parent if place else path, dtype=torch.float32, **place)
tokenizer = AutoTokenizer.from_pretrained(path.parent if place else path, **place)
read = time.perf_counter() - began
print(json.dumps([read, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, read]))
"""


def main(
    source: Annotated[str, typer.Argument(help="A GGUF file, a folder, or a name that Regard knows.")],
    rounds: Annotated[int, typer.Option(min=1, help="Both take a turn in each.")] = 5,
) -> None:
    """Seconds and memory of both, medians with least and most."""
    works = {"regard": REGARD} | ({"transformers": TRANSFORMERS} if Path(source).exists() else {})
    taken: dict[str, list[list[float]]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            done = subprocess.run(
                [sys.executable, "-P", "-c", work, source], capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
                continue
            taken[name].append(json.loads(done.stdout.splitlines()[-1]))
    for name, turns in taken.items():
        for what, column in zip(("read, s", "peak, MiB", "ready to answer, s"), zip(*turns, strict=True), strict=False):
            print(f"{name:13} {what:19} {median(column):8.2f}  ({min(column):.2f} to {max(column):.2f})")


if __name__ == "__main__":
    run(main)
