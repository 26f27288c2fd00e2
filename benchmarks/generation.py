"""Text written beside other toolkits: `python benchmarks/generation.py --shape smollm2-135m --gguf FILE --rows 1`."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from peers.installed import chosen
from regard.commands.show import as_json, columns, console, progress
from regard.errors import RecipeError
from regard.figures import size
from regard.measuring.workers import ProcessWorker, Turns, Worker, take_turns
from shown import run

PEERS = ("huggingface", "ctranslate2", "llama")
KINDS = {"float32": "f32", "int8": "q8_0"}
READ = 2**27  # numbers, which no cache holds


def main(
    shape: Annotated[str, typer.Option(help="smollm2-135m or gpt2-small.")] = "smollm2-135m",
    gguf: Annotated[Path | None, typer.Option(help="The same model as a file, for llama.cpp.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Texts written together.")] = 1,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens that are read.")] = 128,
    new: Annotated[int, typer.Option(min=2, help="Tokens that are written.")] = 128,
    rounds: Annotated[int, typer.Option(min=1, help="Everybody takes a turn in each.")] = 5,
    peers: Annotated[str, typer.Option(help=f"Of {', '.join(PEERS)}; all that are installed if not said.")] = "",
    busy: Annotated[int, typer.Option(min=0, help="So many other processes compute meanwhile.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """How fast prompts are read and tokens written, greedily, round by round beside other toolkits."""
    from peers.generation import WritingWork  # late: a peer's process must not carry Regard's memory
    from peers.shapes import SHAPES

    if shape not in SHAPES:
        raise RecipeError(f"--shape {shape}: there is {', '.join(SHAPES)}")
    names = chosen(peers, PEERS)
    work = WritingWork(shape, rows, prompt, new)
    workers = writers(names, work, gguf)
    with progress(rounds) as tell, disturbed(busy):
        turns = take_turns([*workers, ProcessWorker("memory", prepare_reading)], rounds, tell)
    *taken, memory = turns
    show([Written.of(each, work) for each in taken], 4 * READ / median(memory.seconds), json)


def writers(names: list[str], work: Any, gguf: Path | None) -> list[Worker]:
    """Regard and all that were named, each in float32 and in eight bits."""
    from peers import generation as of

    found: list[Worker] = []
    for precision, kind in KINDS.items():
        found.append(ProcessWorker(f"regard {precision}", of.prepare_regard_writing, (work, precision)))
        if "huggingface" in names and precision == "float32":
            found.append(ProcessWorker("Hugging Face", of.prepare_hugging_face_writing, (work,)))
        if "ctranslate2" in names:
            found.append(ProcessWorker(f"CTranslate2 {precision}", of.prepare_ctranslate2_writing, (work, precision)))
            if work.rows > 1:
                given, name = (work, precision, True), f"CTranslate2 {precision}, abreast"
                found.append(ProcessWorker(name, of.prepare_ctranslate2_writing, given))
        if "llama" in names and gguf is not None and work.rows == 1:
            found.append(ProcessWorker(f"llama.cpp {kind}", of.prepare_llama_writing, (work, gguf, kind)))
    return found


def prepare_reading() -> Callable[[], Any]:
    """How fast the memory is read."""
    import torch

    numbers = torch.ones(READ)
    return numbers.sum


@contextmanager
def disturbed(count: int) -> Iterator[None]:
    """Others that compute all the time."""
    others = [multiprocessing.get_context("spawn").Process(target=_compute, daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()


def _compute() -> None:
    number = 0
    while time.monotonic() > 0:
        number = (number * 3 + 1) % 1_000_003


@dataclass(frozen=True)
class Written:
    """What one came to, round by round, in tokens a second."""

    name: str
    reads: list[float]
    writes: list[float]
    peak: int

    @classmethod
    def of(cls, taken: Turns, work: Any) -> "Written":
        """A turn's work is the time to the first token, in microseconds."""
        firsts = [microseconds / 1e6 for microseconds in taken.work]
        writes = [
            work.rows * (work.new - 1) / (all_of - first) for all_of, first in zip(taken.seconds, firsts, strict=True)
        ]
        return cls(taken.name, [work.rows * work.prompt / first for first in firsts], writes, taken.peak)


def show(found: list[Written], memory: float, json: bool) -> None:
    """Medians, spreads, and how many times as fast as the others Regard is in as many bits."""
    if json:
        return as_json([vars(each) for each in found] + [{"name": "memory", "bytes_per_second": memory}])
    table = columns(
        "", " reads/s", " spread", " writes/s", " spread", " peak", "regard reads … times as fast", "writes"
    )
    ours = {each.name.split()[1]: each for each in found if each.name.startswith("regard")}
    for each in found:
        bits = "int8" if "int8" in each.name or "q8_0" in each.name else "float32"
        mine = ours[bits]
        ratios = ["", ""] if mine is each else [ratio(mine.reads, each.reads), ratio(mine.writes, each.writes)]
        cells = [f"{median(each.reads):,.0f}", spread(each.reads), f"{median(each.writes):,.1f}", spread(each.writes)]
        table.add_row(each.name, *cells, size(each.peak), *ratios)
    console.print(table)
    console.print(f"Memory was read at {memory / 1e9:.1f} GB/s in the same rounds.")
    return None


def ratio(mine: list[float], theirs: list[float]) -> str:
    """The median of the rounds' ratios, the least and the most."""
    ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
    return f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def spread(rates: list[float]) -> str:
    """(most − least) / median"""
    return f"{(max(rates) - min(rates)) / median(rates):.0%}"


if __name__ == "__main__":
    run(main)
