"""regard bench: speed and memory, measured here and now."""

import os
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.bench_tables import figures, show_growth, show_turns
from regard.commands.show import as_json, columns, console, line, progress
from regard.commands.streams import Unread
from regard.errors import FailedError, RecipeError
from regard.figures import size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.measuring.attention import Case, Row
    from regard.measuring.sizes import GptShape

Json = Annotated[bool, typer.Option("--json", help="For machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the figures, no word of how far it is.")]

bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def _bench() -> None:
    """Measure speed and memory on this machine. Comparisons with others: benchmarks/ beside the sources."""


@bench.command()
def attention(
    lengths: Annotated[str, typer.Option(help="Lengths of the sequence.")] = "512,1024,2048,4096,8192,16384",
    kinds: Annotated[str, typer.Option(help="Only these cases, by name or a part of it.")] = "",
    heads: Annotated[int, typer.Option(min=1)] = 8,
    width: Annotated[int, typer.Option(min=1, help="Of one head.")] = 64,
    window: Annotated[int, typer.Option(min=1)] = 256,
    first: Annotated[int, typer.Option(min=1, help="Global positions.")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs of each case; medians are shown.")] = 5,
    limit: Annotated[float, typer.Option(help="Seconds one run may take; what would take longer is left out.")] = 12.0,
    out: Annotated[Path, typer.Option(help="Picture and figures go to OUT.png, .svg and .json.")] = Path(
        "out/attention"
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Time and peak memory of every attention against length: causal, one sequence."""
    from regard.measuring.attention import CASES, Setting, bench_attention
    from regard.measuring.plot import plot_attention

    sizes = _sizes("--lengths", lengths)
    cases = _chosen(kinds, CASES)
    if not limit > 0:  # also what is no number
        raise RecipeError(f"--limit {limit:g}: wanted seconds, more than 0")
    if not cases:
        raise RecipeError(f"--kinds {kinds}: there is {', '.join(case.name for case in CASES)}")
    measured: dict[str, list[Row]] = {case.name: [] for case in cases}
    setting = Setting(heads, width, window, first)
    work = bench_attention(sizes, cases=cases, setting=setting, repeats=repeats, limit=limit)
    with progress(len(cases) * len(sizes), quiet) as tell:
        for row in work:
            measured[row.name].append(row)
            tell(f"{row.name} at {row.length:,}: {1e3 * row.median('both'):.0f} ms")
    measured = {name: rows for name, rows in measured.items() if rows}
    table = {name: [figures(row) for row in rows] for name, rows in measured.items()}
    document = dumps({"setting": vars(setting), "repeats": repeats, "cases": table}, indent=2)
    with Unread() as unread:
        with unread.lines():  # first: what was measured is not lost with a picture
            as_json(table) if json else show_growth(measured, sizes)
        try:
            pictures = plot_attention(measured, out)
            out.with_suffix(".json").write_text(document + "\n", encoding="utf-8")
        except OSError as error:
            said = f"{out}: {error.strerror or error}; the figures are above, --out names another place"
            raise FailedError(said) from error
        with unread.lines():
            if not json and not quiet:
                console.print()
                line("Look at ", (str(pictures[0]), "bold"), " (also .svg and .json).")


def _chosen(kinds: str, cases: "Sequence[Case]") -> "list[Case]":
    """Cases by their whole name, or else all whose name contains the word."""
    words = [word for word in kinds.split(",") if word]
    names = {case.name for case in cases}
    return [
        case
        for case in cases
        if not words or any(word == case.name or (word not in names and word in case.name) for word in words)
    ]


def _sizes(flag: str, said: str) -> list[int]:
    """Numbers with commas between them, in order."""
    try:
        sizes = sorted({int(size) for size in said.split(",")})
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 1:
        raise RecipeError(f"{flag} {said}: wanted numbers such as 1024,2048, none below 1")
    return sizes


@bench.command()
def steps(
    positions: Annotated[str, typer.Option(help="How long the past is.")] = "100,1000,10000",
    repeats: Annotated[int, typer.Option(min=1)] = 60,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What one more token costs after a short and a long past, for every kind of memory."""
    from regard.measuring.steps import DECODERS, bench_steps

    places = _sizes("--positions", positions)
    heads = [f" at {place:,}" for place in places]
    times, memories, costs = columns("ms a step", *heads), columns("memory", *heads), []
    with progress(len(DECODERS), quiet) as tell:
        for found in bench_steps(places, repeats):
            tell(f"{found[0].name}: {1e3 * found[-1].middle:.1f} ms")
            times.add_row(found[0].name, *(f"{1e3 * step.middle:.2f}" for step in found))
            memories.add_row(found[0].name, *(size(step.nbytes) for step in found))
            costs += [vars(step) for step in found]
    if json:
        return as_json(costs)
    console.print(times)
    console.print()
    console.print(memories)
    return None


@bench.command()
def gpt(
    layers: Annotated[int, typer.Option(min=1)] = 6,
    heads: Annotated[int, typer.Option(min=1)] = 6,
    width: Annotated[int, typer.Option(min=1, help="Of the model; a multiple of --heads.")] = 384,
    length: Annotated[int, typer.Option(min=1, help="Of the context.")] = 256,
    batch: Annotated[int, typer.Option(min=1)] = 16,
    vocab_size: Annotated[int, typer.Option(min=2)] = 65,
    rounds: Annotated[int, typer.Option(min=1)] = 9,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A GPT's training step in tokens per second."""
    from regard.measuring.regard_workers import gpt_workers, product_worker
    from regard.measuring.workers import take_turns

    shape = gpt_shape(layers, heads, width, length, batch, vocab_size)
    with progress(rounds, quiet) as tell:
        turns = take_turns([*gpt_workers(shape), product_worker()], rounds, tell, warm=2)
    show_turns(turns, "tokens/s", json)


@bench.command()
def machine(
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds; medians are shown.")] = 9,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """How fast this machine multiplies matrices: float32 by MKL and by oneDNN, and bfloat16."""
    from dataclasses import asdict

    import torch

    from regard.matmul import describe_processor
    from regard.measuring.machine import SIZES, measure_products

    rows = []
    with progress(len(SIZES), quiet) as tell:
        for one in measure_products(repeats):
            tell(one.name)
            rows.append(one)
    processor = {"processor": describe_processor(), "threads": torch.get_num_threads()}
    if json:
        return as_json(processor | {"products": [asdict(one) | {"library": one.library} for one in rows]})
    heads = (" MKL", " oneDNN", " bfloat16", " error", "matmul=auto")
    table = columns("GFLOP/s", *heads)
    for one in rows:
        speeds = (f"{speed:,.0f}" for speed in (one.mkl, one.onednn, one.bfloat16))
        table.add_row(one.name, *speeds, f"{one.error:,.1f} ×", one.library)
    line(f"{processor['processor']}; {processor['threads']} threads, load {os.getloadavg()[0]:.1f}")
    console.print(table)
    line("error: of oneDNN in float32, beside that of MKL; above 4 it rounds to bfloat16.")
    return None


def gpt_shape(layers: int, heads: int, width: int, length: int, batch: int, vocab_size: int) -> "GptShape":
    """The shape, if there is such a GPT."""
    from regard.measuring.sizes import GptShape

    if width % heads:
        raise RecipeError(f"--width {width}: not a multiple of --heads {heads}; say {(width // heads + 1) * heads}")
    return GptShape(layers, heads, width, length, batch, vocab_size)
