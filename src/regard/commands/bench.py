"""regard bench: speed and memory, measured here and now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.show import as_json, columns, console, progress, size
from regard.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.bench.attention import Case, Row

bench = typer.Typer(help="Measure speed and memory on this machine.", no_args_is_help=True)


@bench.callback()
def _bench() -> None:
    """Measure speed and memory on this machine."""


@bench.command()
def attention(
    lengths: Annotated[str, typer.Option(help="Lengths of the sequence.")] = "512,1024,2048,4096,8192,16384",
    kinds: Annotated[str, typer.Option(help="Only these cases, by name or a part of it.")] = "",
    heads: Annotated[int, typer.Option(min=1)] = 8,
    width: Annotated[int, typer.Option(min=1, help="Of one head.")] = 64,
    window: Annotated[int, typer.Option(min=1)] = 256,
    first: Annotated[int, typer.Option(min=1, help="Global positions.")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="Timed runs of each case; medians are shown.")] = 5,
    limit: Annotated[float, typer.Option(help="Seconds one run may take.")] = 12.0,
    out: Annotated[Path, typer.Option(help="Picture and figures go to OUT.png, .svg and .json.")] = Path(
        "out/attention"
    ),
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Time and peak memory of every attention against length: causal, one sequence."""
    from regard.bench.attention import CASES, Setting, bench_attention
    from regard.bench.plot import plot_attention

    sizes = _sizes(lengths)
    cases = _chosen(kinds, CASES)
    if not cases:
        raise RecipeError(f"--kinds {kinds}: there is {', '.join(case.name for case in CASES)}")
    measured: dict[str, list[Row]] = {case.name: [] for case in cases}
    setting = Setting(heads, width, window, first)
    work = bench_attention(sizes, cases=cases, setting=setting, repeats=repeats, limit=limit)
    with progress(len(cases) * len(sizes)) as tell:
        for row in work:
            measured[row.name].append(row)
            tell(f"{row.name} at {row.length:,}: {1e3 * row.median('both'):.0f} ms")
    measured = {name: rows for name, rows in measured.items() if rows}
    pictures = plot_attention(measured, out)
    table = {name: [_figures(row) for row in rows] for name, rows in measured.items()}
    _save(out.with_suffix(".json"), {"setting": vars(setting), "repeats": repeats, "cases": table})
    if json:
        return as_json(table)
    _show(measured, sizes)
    console.print(f"\nLook at [bold]{pictures[0]}[/] (also .svg and .json).")
    return None


def _chosen(kinds: str, cases: "Sequence[Case]") -> "list[Case]":
    """Cases by their whole name, or else all whose name contains the word."""
    words = [word for word in kinds.split(",") if word]
    names = {case.name for case in cases}
    return [
        case
        for case in cases
        if not words or any(word == case.name or (word not in names and word in case.name) for word in words)
    ]


def _sizes(lengths: str) -> list[int]:
    try:
        sizes = sorted({int(length) for length in lengths.split(",")})
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 1:
        raise RecipeError(f"--lengths {lengths}: wanted numbers such as 1024,2048")
    return sizes


def _figures(row: "Row") -> dict[str, float | int | None]:
    return {
        "length": row.length,
        "forward_ms": round(1e3 * row.median("forward"), 3),
        "forward_spread": round(row.spread("forward"), 2),
        "both_ms": round(1e3 * row.median("both"), 3),
        "both_spread": round(row.spread("both"), 2),
        "peak_bytes": row.peak,
    }


def _save(path: Path, figures: object) -> None:
    from json import dumps

    path.write_text(dumps(figures, indent=2) + "\n", encoding="utf-8")


def _show(measured: "dict[str, list[Row]]", sizes: list[int]) -> None:
    from regard.bench.attention import exponents

    heads = [f" {length:,}" for length in sizes]
    for what, title in (("forward", "forward, ms"), ("both", "forward + backward, ms"), ("peak", "peak extra memory")):
        table = columns(title, *heads, " growth")
        for name, rows in measured.items():
            cells = {row.length: _cell(row, what) for row in rows}
            powers = exponents(rows, what)[-2:]
            growth = f"n^{sum(power for _, power in powers) / len(powers):.2f}" if powers else "–"
            table.add_row(name, *(cells.get(length, "–") for length in sizes), growth)
        console.print(table)
        console.print()
    console.print("growth: the power of the length over the last two steps. –: would not fit time or memory.")


def _cell(row: "Row", what: str) -> str:
    if what == "peak":
        return size(row.peak or 0)
    return f"{1e3 * row.median(what):.3g}"


@bench.command()
def steps(
    positions: Annotated[str, typer.Option(help="How long the past is.")] = "100,1000,10000",
    repeats: Annotated[int, typer.Option(min=1)] = 60,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """What one more token costs after a short and a long past, for every kind of memory."""
    from regard.bench.steps import DECODERS, bench_steps

    places = _sizes(positions)
    heads = [f" at {place:,}" for place in places]
    times, memories, figures = columns("ms a step", *heads), columns("memory", *heads), []
    with progress(len(DECODERS)) as tell:
        for found in bench_steps(places, repeats):
            tell(f"{found[0].name}: {1e3 * found[-1].middle:.1f} ms")
            times.add_row(found[0].name, *(f"{1e3 * step.middle:.2f}" for step in found))
            memories.add_row(found[0].name, *(size(step.nbytes) for step in found))
            figures += [vars(step) for step in found]
    if json:
        return as_json(figures)
    console.print(times)
    console.print()
    console.print(memories)
    return None


@bench.command()
def gpt(
    layers: Annotated[int, typer.Option(min=1)] = 6,
    heads: Annotated[int, typer.Option(min=1)] = 6,
    width: Annotated[int, typer.Option(min=1)] = 384,
    length: Annotated[int, typer.Option(min=1)] = 256,
    batch: Annotated[int, typer.Option(min=1)] = 16,
    vocabulary: Annotated[int, typer.Option(min=2)] = 65,
    rounds: Annotated[int, typer.Option(min=1)] = 9,
    nanogpt: Annotated[Path | None, typer.Option(help="A checkout of nanoGPT to run beside.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """A GPT's training step in tokens per second, round by round beside its peers."""
    from statistics import median

    from regard.bench.gpt import Size, bench_gpt

    if nanogpt is not None and not (nanogpt / "model.py").is_file():
        raise RecipeError(f"--nanogpt {nanogpt}: no model.py there; give the folder of a nanoGPT checkout")
    shape = Size(layers, heads, width, length, batch, vocabulary)
    with progress(rounds) as tell:
        turns = bench_gpt(shape, nanogpt, rounds, tell)
    if json:
        return as_json([vars(turn) for turn in turns])
    ours = turns[0]
    table = columns("peer", " step ms", " spread", " tokens/s", " peak", "regard is … times as fast (least–most)")
    for turn in turns[:-1]:
        middle, least, most = ours.ratio(turn)
        ratio = "" if turn is ours else f"{middle:.2f} ({least:.2f}–{most:.2f})"
        step = median(turn.seconds)
        table.add_row(
            turn.name,
            f"{1e3 * step:.0f}",
            f"{turn.spread:.2f}",
            f"{batch * length / step:,.0f}",
            size(turn.peak),
            ratio,
        )
    console.print(table)
    console.print(
        f"\nA 2048³ matrix product in the same rounds: {2 * 2048**3 / median(turns[-1].seconds) / 1e9:.0f} GFLOP/s"
    )
    return None
