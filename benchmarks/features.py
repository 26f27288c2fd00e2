"""How far linear attention is from softmax attention, by its feature map and the size of the vectors (trap T14)."""

from pathlib import Path
from statistics import mean
from typing import Annotated

import torch
import typer
from torch import Tensor

from regard.commands.show import columns, console
from regard.model.attention import LinearAttention, Site
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.menu import MENU
from regard.pictures import check_ending, panels, write
from shown import run

WIDTH, LENGTH = 16, 128
COUNTS = (16, 64, 256, 1024, 4096)
SIZES = (0.4, 0.7, 1.0)
PLAIN = ("elu", "relu", "softmax")


@torch.no_grad()
def off(feature: object, size: float, seeds: int) -> float:
    """‖weights - softmax‖ / ‖softmax‖ of one causal head, on average over draws of vectors and directions."""
    errors = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        part = MENU.order("attention", {"kind": "linear", "heads": 1, "feature": feature}, "attention")
        layer = part.build(Site(WIDTH))
        assert isinstance(layer, LinearAttention)
        queries, keys = (size * torch.randn(1, 1, LENGTH, WIDTH) for _ in range(2))
        view = View(Mask(causal=True))
        weights = layer.weigh(layer.feature.queries(queries), layer.feature.keys(keys), view, slice(None))
        wanted = softmax(queries, keys)
        errors.append(float((weights - wanted).norm() / wanted.norm()))
    return mean(errors)


def softmax(queries: Tensor, keys: Tensor) -> Tensor:
    seen = torch.ones(LENGTH, LENGTH).tril().bool()
    weights: Tensor = (queries @ keys.mT / WIDTH**0.5).masked_fill(~seen, -torch.inf).softmax(-1)
    return weights


def features(
    seeds: Annotated[int, typer.Option(help="Draws that are averaged.")] = 20,
    plot: Annotated[Path | None, typer.Option(help="Draw it, as PNG or SVG.")] = None,
) -> None:
    """The error of every feature map, for numbers of the size that queries and keys have."""
    target = None if plot is None else check_ending(plot)
    random = {size: [off({"kind": "random", "features": count}, size, seeds) for count in COUNTS] for size in SIZES}
    plain = {size: {name: off(name, size, seeds) for name in PLAIN} for size in SIZES}
    table = columns("size of the numbers", *(f" {name}" for name in PLAIN), *(f" random {count:,}" for count in COUNTS))
    for size in SIZES:
        cells = [f"{plain[size][name]:.3f}" for name in PLAIN] + [f"{error:.3f}" for error in random[size]]
        table.add_row(f"{size:g}", *cells)
    console.print(table)
    if target is not None:
        draw(random, plain, target)


def draw(random: dict[float, list[float]], plain: dict[float, dict[str, float]], path: Path) -> None:
    figure, parts = panels(12.0, 4.0, len(SIZES))
    for axes, size in zip(parts, SIZES, strict=True):
        axes.plot(COUNTS, random[size], marker="o", label="random")
        first = random[size][-1] * (COUNTS[-1] / COUNTS[0]) ** 0.5
        axes.plot(COUNTS, [first * (COUNTS[0] / count) ** 0.5 for count in COUNTS], "k:", label="1/√features")
        for name, error in plain[size].items():
            axes.axhline(error, linestyle="--", color=f"C{1 + PLAIN.index(name)}", label=name)
        axes.set(xscale="log", yscale="log", xlabel="features", title=f"numbers of size {size:g}", ylim=(0.01, 2.0))
        axes.grid(alpha=0.3)
    parts[0].set_ylabel("error, as a share of the softmax's weights")
    parts[0].legend(fontsize=8)
    write(figure, path)


if __name__ == "__main__":
    run(features)
