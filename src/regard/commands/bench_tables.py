"""How measurements are shown: growth with length, and rates of those who took turns."""

from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING

from regard.commands.show import as_json, columns, console, line
from regard.figures import size

if TYPE_CHECKING:
    from regard.measuring.attention import Row
    from regard.measuring.workers import Turns


def figures(row: "Row") -> dict[str, float | int | None]:
    """One attention at one length, for machines."""
    return {
        "length": row.length,
        "forward_ms": round(1e3 * row.median("forward"), 3),
        "forward_spread": round(row.spread("forward"), 2),
        "both_ms": round(1e3 * row.median("both"), 3),
        "both_spread": round(row.spread("both"), 2),
        "peak_bytes": row.peak,
    }


def show_growth(measured: "dict[str, list[Row]]", lengths: list[int]) -> None:
    """Time and memory of every attention, and the power of the length they grow with."""
    from regard.measuring.attention import exponents

    heads = [f" {length:,}" for length in lengths]
    for what, title in (("forward", "forward, ms"), ("both", "forward + backward, ms"), ("peak", "peak extra memory")):
        table = columns(title, *heads, " growth")
        for name, rows in measured.items():
            cells = {row.length: _cell(row, what) for row in rows}
            powers = exponents(rows, what)[-2:]
            growth = f"n^{sum(power for _, power in powers) / len(powers):.2f}" if powers else "–"
            table.add_row(name, *(cells.get(length, "–") for length in lengths), growth)
        console.print(table)
        console.print()
    line("growth: the power of the length over the last two steps. –: would not fit time or memory.")


def _cell(row: "Row", what: str) -> str:
    if what == "peak":
        return size(row.peak or 0)
    milliseconds = 1e3 * row.median(what)
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def show_turns(turns: "list[Turns]", unit: str, json: bool) -> None:
    """Rates of all but the last, which is the matrix product, and how many times as fast as the first they are."""
    if json:
        return as_json([asdict(taken) | {"rate": taken.rate} for taken in turns])
    first, *others = turns[:-1]
    ratio = [f"times as fast as {first.name} (least–most)"] if others else []
    table = columns("", f" {unit}", " s a turn", " spread", " peak", *ratio)
    for taken in turns[:-1]:
        cells = [f"{taken.rate:,.0f}", f"{median(taken.seconds):.3g}", f"{taken.spread:.2f}", size(taken.peak)]
        table.add_row(taken.name, *cells, *([] if taken is first else [ratio_text(taken, first)]))
    console.print(table)
    show_mood(turns[-1])
    return None


def ratio_text(taken: "Turns", other: "Turns") -> str:
    """How many times as fast as another, with least and most."""
    return "{:.2f} ({:.2f}–{:.2f})".format(*taken.ratio(other))


def show_mood(product: "Turns") -> None:
    """How fast the machine was meanwhile."""
    from regard.measuring.regard_workers import SIDE, gflops

    console.print()
    line(f"A {SIDE}³ matrix product in the same rounds: {gflops(median(product.seconds)):.0f} GFLOP/s")
