"""How exact every mechanism is in every type of number, and every recipe in bfloat16: docs/results/precision.md.

    python tests/slow/precision.py [--out docs/results/precision.md]

The figures are those that tests/contracts/test_precision.py and test_shelf.py hold below their bounds.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from contracts import shelf
from contracts.small import Case, blocks_of, tokens
from contracts.test_precision import (
    ALL,
    GRADIENT,
    KINDS,
    LARGEST,
    LASTING,
    LONG,
    SHORT,
    WRITERS,
    autocast,
    learnt,
    long_model,
    off,
    written,
)

Errors = dict[str, list[float]]
HEADS = [f"{str(kind).removeprefix('torch.')}, {'autocast' if cast else 'pure'}" for kind, cast in KINDS]


def at_once(case: Case) -> Iterator[tuple[float, float]]:
    """Errors of logits and gradient in each type, training."""
    right = learnt(case.build().double().train(), torch.float64, False)
    for kind, cast in KINDS:
        model = case.build().train()
        found = learnt(model if cast else model.to(kind), kind, cast)
        yield off(found[0], right[0]), off(found[1], right[1])


def in_steps(case: Case) -> Iterator[float]:
    """Errors of logits in each type, written step by step."""
    with torch.no_grad():
        right = written(case.build().double(), [17])
        for kind, cast in KINDS:
            model = case.build()
            with autocast(kind, cast):
                yield off(written(model if cast else model.to(kind), [0, 5, 1, 1, 8, 0, 2]), right)


def late(name: str) -> Iterator[float]:
    """Errors at the end of a long row, most of which was read at once."""
    row = tokens(1, LONG)
    with torch.no_grad():
        right = long_model(name).double()(row)[:, -SHORT:]
        for kind, cast in KINDS:
            model = long_model(name)
            with autocast(kind, cast):
                model = model if cast else model.to(kind)
                memory = model.start(rows=1)
                parts = row.split([LONG - 100, *[1] * 5, 95], 1)
                found = model.head(torch.cat([model.step(part, memory) for part in parts], 1))
            yield off(found[:, -SHORT:], right)


def table(title: str, about: str, rows: Errors, heads: list[str], shown: Callable[[float], str]) -> list[str]:
    lines = [f"## {title}", "", about, "", f"| | {' | '.join(heads)} |", f"|---{'|---:' * len(heads)}|"]
    lines += [f"| {name} | {' | '.join(map(shown, row))} |" for name, row in rows.items()]
    worst = [max(column) for column in zip(*rows.values(), strict=True)]
    return [*lines, f"| **largest** | {' | '.join(map(shown, worst))} |", ""]


def bounds(limits: dict[torch.dtype, float]) -> str:
    return ", ".join(f"{str(kind).removeprefix('torch.')} {limits[kind]:g}" for kind in GRADIENT)


def measured() -> list[str]:
    logits, gradients, steps = Errors(), Errors(), Errors()
    with blocks_of(4):
        for case in (case for case in ALL if case.refusal() is None):
            found = list(at_once(case))
            logits[case.name] = [one for one, _ in found]
            gradients[case.name] = [one for _, one in found]
        for case in (case for case in WRITERS if case.refusal() is None):
            steps[case.name] = list(in_steps(case))
        lasting = {name: list(late(name)) for name in LASTING}
    short, share = lambda value: f"{value:.1e}", "as a share of the length of what float64 gives"
    return [
        *table("Logits, at once, training", f"Error {share}. Bounds: {bounds(LARGEST)}.", logits, HEADS, short),
        *table("Gradients", f"Error {share}. Bounds: {bounds(GRADIENT)}.", gradients, HEADS, short),
        *table(
            f"The last {SHORT} of {LONG:,} tokens, step by step",
            f"Error {share}, without training.",
            lasting,
            HEADS,
            short,
        ),
        *table("Logits, step by step", f"Error {share}. Bounds: {bounds(LARGEST)}.", steps, HEADS, short),
    ]


def shelves() -> list[str]:
    """Losses of every recipe, made small."""
    lines = [f"## Recipes after {shelf.STEPS} steps", ""]
    lines += ["Each recipe of the shelf made small (`tests/contracts/shelf.py`); bound: 2 %."]
    lines += ["Each is trained by its own task.", ""]
    lines += ["| recipe | float32 | bfloat16 | ratio |", "|---|---:|---:|---:|"]
    for name in shelf.names():
        with tempfile.TemporaryDirectory() as place:
            os.environ["REGARD_CACHE"] = f"{place}/cache"
            whole, half = (shelf.loss(name, precision, Path(place)) for precision in ("float32", "bfloat16"))
        lines.append(f"| {name} | {whole:.4f} | {half:.4f} | {half / whole:.4f} |")
    return [*lines, ""]


def main(out: Path) -> None:
    began = time.strftime("%Y-%m-%d")
    head = ["# Precision", "", f"{began}, torch {torch.__version__}, CPU, one thread:", ""]
    head += ["```", "python tests/slow/precision.py", "```", ""]
    parts: list[Any] = [*head, *shelves(), *measured()]
    out.write_text("\n".join(parts).rstrip() + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "results" / "precision.md")
    main(parser.parse_args().out)
