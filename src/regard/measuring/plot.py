"""Pictures of what was measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.measuring.attention import Row
from regard.pictures import panels, write

MEBIBYTE = 2**20


def plot_attention(cases: Mapping[str, Sequence[Row]], path: Path) -> list[Path]:
    """Time and memory against length on logarithmic axes, as PNG and SVG."""
    from matplotlib import colormaps

    figure, (times, memory) = panels(13.0, 5.2, 2)
    colours = colormaps["tab10"]
    families = list(dict.fromkeys(name.removesuffix(" naive").removesuffix(" flash") for name in cases))
    for name, rows in cases.items():
        family = name.removesuffix(" naive").removesuffix(" flash")
        look: dict[str, Any] = {
            "color": colours(families.index(family) % 10),
            "linestyle": ":" if name.endswith("naive") else "-",
            "marker": "o",
            "markersize": 4,
            "label": name,
        }
        lengths = [row.length for row in rows]
        times.plot(lengths, [1e3 * row.median("both") for row in rows], **look)
        grown = [(row.length, max(row.peak, 4096) / MEBIBYTE) for row in rows if row.peak is not None]
        memory.plot([length for length, _ in grown], [held for _, held in grown], **look)
    for axes, title in ((times, "forward + backward, ms"), (memory, "peak extra memory, MiB")):
        axes.set(xscale="log", yscale="log", xlabel="length of the sequence", title=title)
        ticks = sorted({row.length for rows in cases.values() for row in rows})
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.legend(*times.get_legend_handles_labels(), loc="outside right center", fontsize=9, frameon=False)
    return [write(figure, path.with_suffix(ending)) for ending in (".png", ".svg")]
