"""Panels as pictures, without a browser: one table with its words, or all heads of a kind side by side.

Up to LABELLED words a side every one is written; up to CELLS every cell is drawn, and some of the words are written;
beyond that cells stand for several words, and the picture says so. Each row of weights is a distribution over the
input [N3:42-44].
"""

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.listener import Listener
from regard.looking.layers import TITLES
from regard.looking.look import Look
from regard.looking.overview import overview
from regard.looking.panel import Panel
from regard.pictures import canvas, check_ending, left_to_right, plain, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELLED, SOME, CELLS, THUMB = 120, 48, 480, 64
SHEET, WORD = 18.0, 0.14  # inches: a side of a picture of all heads at most, and what a word needs
MANY = 160  # words, of which each gets little: colours grow with another root
MERGED = "sub-words merged: columns are sums, rows are means over the tokens of a word"


def draw(
    look: Look, panel: Panel, path: str | Path, words: bool = True, title: str = "", listener: Listener | None = None
) -> Path:
    """One panel as PNG, SVG or PDF."""
    path = check_ending(path)
    cells, stride = _cells(panel, words)
    tall, wide = cells.shape
    figure, axes = canvas(1.6 + _room(panel.rows.labels(words)) + max(3.6, _inches(wide)), 2.2 + _inches(tall))
    picture = axes.imshow(
        shaded(cells).numpy(), aspect="auto", interpolation="nearest", **_colours(max(panel.shape(words)))
    )
    _name(axes, "x", panel.columns.labels(words), stride[1], wide)
    _name(axes, "y", panel.rows.labels(words), stride[0], tall)
    figure.colorbar(picture, ax=axes, label="weight", fraction=0.04, pad=0.01)
    _written(axes, [title, panel.title, *_notes(look, panel, words, stride)], _inches(wide))
    return write(figure, path, listener)


def draw_grid(
    look: Look, kind: str, path: str | Path, words: bool = True, title: str = "", listener: Listener | None = None
) -> Path:
    """All heads of a kind: a row a layer, a column a head."""
    path = check_ending(path)
    thumbs = overview(look, kind, THUMB, words)
    layers, heads, tall, wide = thumbs.shape
    size = layers * (tall + _gap(tall)) - _gap(tall), heads * (wide + _gap(wide)) - _gap(wide)
    sheet = torch.full(size, float("nan"))
    for layer in range(layers):
        for head in range(look.of(kind)[layer].heads):
            top, left = layer * (tall + _gap(tall)), head * (wide + _gap(wide))
            sheet[top : top + tall, left : left + wide] = shaded(thumbs[layer, head])
    panel = look.panel(kind)
    named = _has_room(panel.shape(words), layers, heads)
    side, high = min(1.5, SHEET / heads), min(1.5, SHEET / heads) * min(2.0, max(0.5, tall / wide))
    if named:
        side, high = max(side, WORD * (wide + _gap(wide))), max(high, WORD * (tall + _gap(tall)))
    labels = panel.rows.labels(words), panel.columns.labels(words)
    rooms = [_room(one) if named else 0.4 for one in labels]
    figure, axes = canvas(1.6 + rooms[0] + side * heads, 1.3 + rooms[1] + high * layers)
    picture = axes.imshow(sheet.numpy(), aspect="auto", interpolation="nearest", **_colours(max(panel.shape(words))))
    figure.colorbar(picture, ax=axes, label="weight", fraction=0.04, pad=0.01)
    tops, lefts = ([n * (size + _gap(size)) for n in range(count)] for size, count in ((tall, layers), (wide, heads)))
    if named:
        _name_heads(axes, look, kind, (tops, lefts), (tall, wide), labels)
    else:
        axes.set_xticks([left + (wide - 1) / 2 for left in lefts], _numbers(heads))
        axes.set_yticks([top + (tall - 1) / 2 for top in tops], _numbers(layers))
        axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8 - named)
    axes.set_frame_on(False)
    said = f"{TITLES[look.of(kind)[0].kind]}: layers down, heads across; in each, {_sides(panel, words)}"
    stride = (-(-panel.shape(words)[0] // THUMB), -(-panel.shape(words)[1] // THUMB))
    _written(axes, [title, said, *_notes(look, panel, words, stride)], side * heads)
    return write(figure, path, listener)


def _has_room(shape: tuple[int, int], layers: int, heads: int) -> bool:
    """Whether words can be read beside every row and column of all heads, on a sheet that is not too large."""
    tall, wide = ((size + _gap(size)) * WORD for size in shape)
    return max(shape) <= THUMB and wide * heads <= SHEET and tall * layers <= SHEET


def _name_heads(
    axes: "Axes",
    look: Look,
    kind: str,
    starts: tuple[list[int], list[int]],
    shape: tuple[int, int],
    labels: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    """Words beside the first head of each layer and below the last heads, and above each head its layer and number."""
    tall, wide = shape
    rows, columns = (list(map(plain, map(_short, side))) for side in labels)
    axes.set_yticks([top + n for top in starts[0] for n in range(tall)], rows * len(starts[0]))
    axes.set_xticks([left + n for left in starts[1] for n in range(wide)], columns * len(starts[1]), rotation=90)
    for layer, top in zip(look.of(kind), starts[0], strict=True):
        for head, left in enumerate(starts[1][: layer.heads]):
            axes.text(left - 0.5, top - 0.6, f"{layer.number}.{head}", fontsize=7, color="#666")


def shaded(cells: Tensor) -> Tensor:
    """What is exactly 0 apart from what is nearly so: below the scale, where it is grey."""
    return cells.masked_fill(cells == 0, -1.0)


def _colours(words: int) -> dict[str, Any]:
    """From 0 to 1, by a root, so that pictures can be compared and small weights be seen."""
    from matplotlib import colormaps
    from matplotlib.colors import PowerNorm

    colours = colormaps["Greens"].with_extremes(under="#ececec", bad="white")
    return {"cmap": colours, "norm": PowerNorm(1 / 3 if words > MANY else 1 / 2, 0.0, 1.0)}


def _cells(panel: Panel, words: bool) -> tuple[Tensor, tuple[int, int]]:
    """What is drawn, and how many rows and columns each cell stands for."""
    tall, wide = panel.shape(words)
    stride = (-(-tall // CELLS), -(-wide // CELLS))
    return panel.pooled(CELLS, words), stride


def _notes(look: Look, panel: Panel, words: bool, stride: tuple[int, int]) -> list[str]:
    """What must be known to read it rightly."""
    root = "cube root" if max(panel.shape(words)) > MANY else "root"
    notes = [f"colour grows with the {root} of the weight; grey is exactly 0"]
    if words and (panel.rows.merged or panel.columns.merged):
        notes.append(MERGED)
    if len(look.scene.pieces) > 1:
        notes.append(f"read in {len(look.scene.pieces)} pieces, which do not see each other")
    if max(stride) > 1:
        notes.append(f"{_sides(panel, words)}: a cell is the largest of {stride[0]}×{stride[1]} weights")
    if look.layers:
        notes.append(f"weights {look.exactly}")
    return notes


def _written(axes: "Axes", notes: list[str], inches: float) -> None:
    """Below the picture, in lines no wider than it is."""
    room = max(62, int(inches / 0.063))
    lines = [line for note in notes if note for line in wrap(note, room)]
    axes.set_xlabel("\n".join(map(left_to_right, map(plain, lines))), fontsize=8, loc="left")


def _sides(panel: Panel, words: bool) -> str:
    tall, wide = panel.shape(words)
    return f"{tall:,} × {wide:,} {'words' if words else 'tokens'}"


def _name(axes: "Axes", side: str, labels: tuple[str, ...], stride: int, cells: int) -> None:
    """Words beside rows or above columns, as many as can be read."""
    every = 1 if cells <= LABELLED else -(-cells // SOME)
    places = range(0, cells, every)
    whole = every * stride == 1
    numbers = [place * stride for place in places]
    shown = [plain(_short(labels[n]) if whole else f"{n:,} {_short(labels[n])}") for n in numbers]
    size = 9 if cells <= 40 or not whole else 7 if cells <= 80 else 6
    if side == "x":
        axes.set_xticks(places, shown, rotation=60, ha="left", rotation_mode="anchor", fontsize=size)
        axes.xaxis.tick_top()
    else:
        axes.set_yticks(places, shown, fontsize=size)


def _short(word: str) -> str:
    return word if len(word) <= 24 else word[:22] + "…"


def _inches(cells: int) -> float:
    """Wide where there are few, so that words are read; never wider than a large screen."""
    return min(max(0.6, cells * (0.34 if cells <= 24 else 0.24 if cells <= 60 else 0.17)), 14.0)


def _room(labels: tuple[str, ...]) -> float:
    return 0.07 * min(24, max(map(len, labels), default=0))


def _gap(cells: int) -> int:
    return max(1, cells // 12)


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]
