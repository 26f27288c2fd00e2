"""Two or more trees of Regard beside each other, in turns of one run.

    python benchmarks/beside.py --tree old=/path/src --tree new=/path/src --work training --rounds 9

Every tree works in a process of its own that sees no other tree; all get the same ids, made once by the Regard that
is installed here. What a tree must offer is `regard.measuring.works`; commit 72bda86 has an adapter in `trees/`.
"""

import json as jsons
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from regard.commands.bench_tables import show_turns
from regard.commands.show import console, progress
from regard.errors import RecipeError
from regard.measuring.regard_workers import product_worker
from regard.measuring.sizes import DecodingWork, GptShape, TrainingWork, TransformerShape
from regard.measuring.workers import Worker, take_turns
from shown import run
from trees.process import TreeWorker


class Kind(StrEnum):
    """What the trees are to do."""

    TRAINING = "training"
    DECODING = "decoding"
    GREEDY = "greedy"
    GPT = "gpt"


def main(
    tree: Annotated[list[str], typer.Option(help="NAME=FOLDER that holds `regard`; the first is the base.")],
    work: Annotated[Kind, typer.Option(help="What they do.")] = Kind.TRAINING,
    rounds: Annotated[int, typer.Option(min=1, help="Every tree takes a turn in each.")] = 9,
    data: Annotated[str, typer.Option(help="NAME for NAME.de and NAME.en; built-in numbers if not said.")] = "",
    test: Annotated[str, typer.Option(help="The same for the sentences to decode.")] = "",
    vocab_size: Annotated[int, typer.Option(min=259)] = 8000,
    int8: Annotated[bool, typer.Option("--int8", help="Decode in eight bits.")] = False,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Decode with a shortlist of words.")] = False,
    small: Annotated[bool, typer.Option("--small", help="Tiny: only to see that it runs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """The same work by several trees, and how many times as fast as the first each of them is."""
    folders = trees(tree)
    with TemporaryDirectory() as folder, progress(rounds) as tell:
        job = described(work, small) | {"int8": int8, "shortlist": shortlist}
        if work is not Kind.GPT:
            job["pairs"] = str(written(Path(folder), data, test, vocab_size))
        workers: list[Worker] = [TreeWorker(name, source, job) for name, source in folders.items()]
        turns = take_turns([*workers, product_worker()], rounds, tell)
    show_turns(turns, "tokens/s", json)
    if len({tuple(taken.work) for taken in turns[:-1]}) > 1:
        console.print("The trees did not do equally many tokens a turn: rates are compared, not times.", style="yellow")


def trees(said: list[str]) -> dict[str, Path]:
    """Names and folders, each of which holds a Regard."""
    found: dict[str, Path] = {}
    for one in said:
        name, _, folder = one.rpartition("=")
        source = Path(folder).expanduser().resolve()
        if not name or name in found:
            raise RecipeError(f"--tree {one}: say NAME=FOLDER, each with a name of its own")
        if not (source / "regard" / "__init__.py").is_file():
            raise RecipeError(f"--tree {one}: no regard/ in {source}; give the folder `src` of a checkout")
        found[name] = source
    if len(found) < 2:
        raise RecipeError("--tree: give two or more")
    return found


def described(work: Kind, small: bool) -> dict[str, Any]:
    """A job without its pairs, in plain words."""
    if work is Kind.GPT:
        gpt = GptShape(1, 2, 16, 8, 2) if small else GptShape()
        return {"work": "gpt", "shape": asdict(gpt)}
    shape = TransformerShape(1, 2, 16, 32) if small else TransformerShape()
    if work is Kind.TRAINING:
        steps = TrainingWork(2, 128) if small else TrainingWork()
        return {"work": "training", "shape": asdict(shape), "turn": asdict(steps)}
    beam = 1 if work is Kind.GREEDY else 5
    length = 3 if small else 20
    return {"work": "decoding", "shape": asdict(shape), "turn": asdict(DecodingWork(beam, length, length))}


def written(folder: Path, data: str, test: str, vocab_size: int) -> Path:
    """The ids all trees are given, in a file."""
    from regard.measuring.works import id_pairs

    both = dict(zip(("train", "test"), id_pairs(data, test, ("de", "en"), vocab_size), strict=True))
    path = folder / "pairs.json"
    path.write_text(jsons.dumps({split: asdict(pairs) for split, pairs in both.items()}), encoding="utf-8")
    return path


if __name__ == "__main__":
    run(main)
