"""One decoding step of one to a few rows: torch's beside the compiled one, in turns of one run."""

import json as jsons
import time
from collections.abc import Callable
from statistics import median
from typing import Annotated, Any

import torch
import typer
from torch import Tensor, nn

from peers.shapes import SHAPES, model_of
from regard.commands.show import columns, console
from regard.decoding.compiled.machine_code import MACHINE_CODE
from regard.decoding.compiled.stepper import Stepper
from regard.errors import FailedError
from regard.model.assembly import Writer
from regard.model.memory import Memory
from regard.model.quantize import quantize
from shown import run

PROMPT = 128
Step = Callable[[Tensor, Memory], Tensor]


def read_speed() -> float:
    """Bytes a second of the best of a few sums over numbers that no cache holds."""
    numbers, best = torch.ones(2**27), 0.0
    for _ in range(5):
        began = time.perf_counter()
        numbers.sum()
        best = max(best, numbers.nbytes / (time.perf_counter() - began))
    return best


def bytes_read(model: Writer, int8: bool) -> int:
    """Of the weights, by one step: all matrices once."""
    linear = [part for part in (*model.decoder.modules(), model.head) if isinstance(part, nn.Linear)]
    weights = sum(part.weight.numel() for part in linear)
    return weights + weights // 16 if int8 else 4 * weights


class Turns:
    """One way to take steps, and how long its turns took."""

    def __init__(self, name: str, model: Writer, rows: int, step: Step) -> None:
        self.name, self.rows, self._step = name, rows, step
        self.times: list[float] = []
        self._memory = model.start(rows=rows)
        generator = torch.Generator().manual_seed(1)
        words = int(model.head.out_features)
        model.step(torch.randint(words, (rows, PROMPT), generator=generator), self._memory)
        self._next = torch.randint(words, (rows, 1), generator=generator)

    def take(self, steps: int) -> None:
        """Greedy steps, as a search would take them; how long one took."""
        began = time.perf_counter()
        for _ in range(steps):
            self._next = self._step(self._next, self._memory).argmax(-1, keepdim=True)
        self.times.append((time.perf_counter() - began) / steps)


def steps_of(model: Writer, stepper: Stepper) -> dict[str, Step]:
    """Torch's step and the compiled one, from tokens to logits."""

    def by_torch(tokens: Tensor, memory: Memory) -> Tensor:
        logits: Tensor = model.head(model.step(tokens, memory)[:, -1])
        return logits

    def compiled(tokens: Tensor, memory: Memory) -> Tensor:
        logits = stepper.step(tokens, memory, model.head)
        assert logits is not None
        return logits

    return {"torch": by_torch, "compiled": compiled}


def generation_step(
    shape: Annotated[list[str] | None, typer.Option(help="smollm2-135m, gpt2-small; both if not said.")] = None,
    rows: Annotated[str, typer.Option(help="Rows, separated by commas.")] = "1,2,4,8,16",
    rounds: Annotated[int, typer.Option(min=1, help="Turns that everybody takes.")] = 9,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a turn.")] = 16,
    threads: Annotated[int, typer.Option(help="Threads; 0 as many as torch takes.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Tokens a second of one decoding step after a prompt of 128, in float32 and in eight bits."""
    code = MACHINE_CODE.make()
    if code is None:
        raise FailedError("the compiled step needs numba: pip install 'regard[fast]'")
    if threads:
        torch.set_num_threads(threads)
    found: list[dict[str, Any]] = []
    with torch.inference_mode():
        for name in shape or list(SHAPES):
            model = model_of(name)
            size = bytes_read(model, False)
            for int8 in (False, True):
                if int8:
                    size = bytes_read(model, True)
                    quantize(model)
                stepper = Stepper(code, model)
                for count in map(int, rows.split(",")):
                    ways = [Turns(way, model, count, step) for way, step in steps_of(model, stepper).items()]
                    limits = take_turns(ways, rounds, steps)
                    found += [line(name, int8, way, size, median(limits)) for way in ways]
    show(found, json)


def take_turns(ways: list[Turns], rounds: int, steps: int) -> list[float]:
    """Round by round, after one that does not count; how fast the memory was meanwhile."""
    limits = []
    for number in range(rounds + 1):
        for way in ways:
            way.take(steps)
        if number == 0:
            for way in ways:
                way.times.clear()
        limits.append(read_speed())
    return limits


def line(shape: str, int8: bool, way: Turns, size: int, limit: float) -> dict[str, Any]:
    """What one way came to."""
    middle = median(way.times)
    return {
        "shape": shape,
        "weights": "int8" if int8 else "float32",
        "rows": way.rows,
        "step": way.name,
        "milliseconds": 1000 * middle,
        "spread": (max(way.times) - min(way.times)) / middle,
        "tokens_per_second": way.rows / middle,
        "best_tokens_per_second": way.rows / min(way.times),
        "gigabytes_per_second": size / middle / 1e9,
        "share_of_read_speed": size / middle / limit,
    }


def show(found: list[dict[str, Any]], json: bool) -> None:
    """As a table, or for machines."""
    if json:
        print(jsons.dumps(found, indent=1))
        return
    table = columns("", "", " rows", "", " ms", " spread", " tokens/s", " best", " GB/s", " of read speed")
    for each in found:
        table.add_row(
            each["shape"], each["weights"], str(each["rows"]), each["step"], f"{each['milliseconds']:.2f}",
            f"{each['spread']:.0%}", f"{each['tokens_per_second']:.1f}", f"{each['best_tokens_per_second']:.1f}",
            f"{each['gigabytes_per_second']:.1f}", f"{each['share_of_read_speed']:.0%}",
        )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    run(generation_step)
