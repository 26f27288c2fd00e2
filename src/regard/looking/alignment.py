"""Which source words each written word looked at: in numbers, in the terminal, and as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.cells import cell_len, set_cell_size

from regard.errors import InputError
from regard.listener import Listener
from regard.markup import heat
from regard.model.assembly import Seq2Seq
from regard.model.watch import watch
from regard.pictures import canvas, check_ending, plain, write

SHADES = " ░▒▓█"
MOST = 1_000_000  # weights that are shown at once


class NoAttentionError(InputError):
    """Of a model that looks nowhere nothing can be drawn; it answers all the same."""


class TooLongError(InputError):
    """Nobody could see anything in a picture of so much text."""


@dataclass(frozen=True)
class Alignment:
    """Weights of written words (rows) on source words (columns), the mean over heads and layers."""

    source: list[str]
    target: list[str]
    weights: list[list[float]]

    def __str__(self) -> str:
        """A small heat map: source words stand upright above their columns."""
        label = max(map(cell_len, self.target), default=0)
        height = max(map(len, self.source), default=0)
        upright = [word.rjust(height) for word in self.source]
        letters = ["".join(set_cell_size(word[line], 2) for word in upright) for line in range(height)]
        lines = [" " * (label + 1) + line for line in letters]
        for word, weights in zip(self.target, self.weights, strict=True):
            before = " " * (label - cell_len(word))
            lines.append(f"{before}{word} " + "".join(2 * _shade(weight) for weight in weights))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return heat(self.source, self.target, self.weights)

    def draw(self, path: str | Path, title: str = "", listener: Listener | None = None) -> Path:
        """The same as PNG, SVG or PDF."""
        path = check_ending(path)
        figure, axes = canvas(2.2 + 0.42 * len(self.source), 1.8 + 0.36 * len(self.target))
        picture = axes.imshow(self.weights, cmap="Greens", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(
            range(len(self.source)), list(map(plain, self.source)), rotation=60, ha="left", rotation_mode="anchor"
        )
        axes.set_yticks(range(len(self.target)), list(map(plain, self.target)))
        axes.xaxis.tick_top()
        axes.set(xlabel=plain(title))
        figure.colorbar(picture, ax=axes, label="weight")
        return write(figure, path, listener)


@torch.inference_mode()
def align(model: Seq2Seq, source: Sequence[int], inputs: Sequence[int]) -> list[list[float]]:
    """How much each position of the inputs looked at each of the source, the mean over heads and layers."""
    device = next(model.parameters()).device
    ids, written = (torch.tensor([row], device=device) for row in (source, inputs))
    with watch(model.decoder) as seen:
        model.states(ids, written, torch.tensor([len(source)], device=device))
    looks = [sight.weights for name, sight in seen.items() if _across(name) and sight.seen]
    if not looks:
        raise NoAttentionError("this model has no attention to the source to draw: it knows it by one fixed vector")
    weights: list[list[float]] = torch.stack([look[0].mean(0) for look in looks]).mean(0).tolist()
    return weights


def check_drawable(source: int, target: int) -> None:
    """Refuse as many source and target tokens as make a picture in which nothing is seen."""
    if source * target > MOST:
        raise TooLongError(f"too long to draw: {target:,} tokens that look at {source:,}")


def beside(parts: Sequence[Alignment]) -> Alignment:
    """Those of the pieces of a text as one: what was written for a piece looked at nothing of the others."""
    width = sum(len(part.source) for part in parts)
    rows: list[list[float]] = []
    before = 0
    for part in parts:
        behind = width - before - len(part.source)
        rows += [[0.0] * before + weights + [0.0] * behind for weights in part.weights]
        before += len(part.source)
    return Alignment(
        [word for part in parts for word in part.source], [word for part in parts for word in part.target], rows
    )


def _across(name: str) -> bool:
    """Cross-attention is called `cross` in Transformers; other decoders have no other kind."""
    return "layers." not in name or name.endswith(".cross")


def _shade(weight: float) -> str:
    return SHADES[min(len(SHADES) - 1, int(weight * len(SHADES)))]
