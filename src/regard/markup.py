"""What notebooks show: tables, curves and heat maps as HTML without scripts. Text is never taken for markup."""

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite
from typing import ClassVar, TypeVar

from regard.figures import is_right, text_table

COLOURS = ("#1b7837", "#762a83", "#2166ac", "#b35806", "#c51b7d", "#4d4d4d")
CELL = "padding:1px 8px;border:none;"
PICTURED = 12  # answers whose pictures are shown
WIDEST = 60  # characters of a cell of printed text
Point = tuple[float, float]


def said(text: object) -> str:
    """Any text, as text; what would break a line stays visible."""
    return escape(str(text), quote=True)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> str:
    """A light table; columns whose head begins with one space are right-aligned."""
    sides = ["right" if is_right(head) else "left" for head in heads]
    top = "".join(_cell("th", side, head.strip()) for side, head in zip(sides, heads, strict=True))
    body = ["".join(_cell("td", side, one) for side, one in zip(sides, row, strict=True)) for row in rows]
    above = f"<tr>{top}</tr>" if any(head.strip() for head in heads) else ""
    named = f'<caption style="text-align:left;font-weight:bold">{said(title)}</caption>' if title else ""
    return (
        f'<table style="border-collapse:collapse">{named}{above}' + "".join(f"<tr>{r}</tr>" for r in body) + "</table>"
    )


def _cell(tag: str, side: str, text: object) -> str:
    return f'<{tag} style="{CELL}text-align:{side};white-space:pre-wrap">{said(text)}</{tag}>'


class Answer(ABC):
    """What a model answered to one input: some rows of a table, printed as text and shown as HTML in notebooks."""

    heads: ClassVar[tuple[str, ...]]

    @abstractmethod
    def rows(self) -> list[tuple[str, ...]]:
        """One row, or several where there are several answers to one input."""

    def pictures(self) -> list[bytes]:
        """PNG files that a notebook shows below the table."""
        return []

    def __str__(self) -> str:
        return str(Answers([self]))

    def _repr_html_(self) -> str:
        return Answers([self])._repr_html_()


A = TypeVar("A", bound=Answer)


class Answers(list[A]):
    """The answers to several inputs, in their order: a list, shown as a table when it is printed or in a notebook."""

    def __str__(self) -> str:
        rows = [tuple(map(_shortened, row)) for one in self for row in one.rows()]
        return text_table(self[0].heads, rows) if self else "no answers"

    def _repr_html_(self) -> str:
        if not self:
            return "no answers"
        images = [picture(png) for one in self[:PICTURED] for png in one.pictures()]
        return block(table(self[0].heads, [row for one in self for row in one.rows()]), "".join(images))


def picture(png: bytes) -> str:
    """An image in the document itself; a small one is enlarged, pixel by pixel."""
    source = f"data:image/png;base64,{b64encode(png).decode('ascii')}"
    return f'<img src="{source}" style="min-width:112px;max-width:45%;margin:4px;image-rendering:pixelated">'


def _shortened(cell: str) -> str:
    line = " ".join(cell.split())
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 1]}…"


def heat(columns: Sequence[str], rows: Sequence[str], weights: Sequence[Sequence[float]]) -> str:
    """A heat map: the greener a cell, the greater its weight between 0 and 1; the number shows under the pointer."""
    turned = "writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;font-weight:normal;border:none"
    top = "".join(f'<th style="{turned}">{said(word)}</th>' for word in columns)
    lines = [f'<tr><td style="border:none"></td>{top}</tr>']
    for row, values in zip(rows, weights, strict=True):
        cells = "".join(_shade(column, row, value) for column, value in zip(columns, values, strict=True))
        lines.append(f'<tr><td style="{CELL}text-align:right;white-space:nowrap">{said(row)}</td>{cells}</tr>')
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>'


def _shade(column: str, row: str, value: float) -> str:
    title = said(f"{row} ← {column}: {value:.2f}")
    depth = min(max(value, 0.0), 1.0) if isfinite(value) else 0.0
    style = f"width:18px;height:18px;background:rgba(27,120,55,{depth:.3f});border:1px solid #8882"
    return f'<td title="{title}" style="{style}"></td>'


def curves(lines: Mapping[str, Sequence[Point]], width: int = 360, height: int = 110) -> str:
    """Curves in one picture, each with its name and its last value; nothing where there is no curve yet."""
    kept = {name: [one for one in points if isfinite(one[1])] for name, points in lines.items()}
    kept = {name: points for name, points in kept.items() if points}
    flat = [point for points in kept.values() for point in points]
    if not flat:
        return ""
    left, right = min(x for x, _ in flat), max(x for x, _ in flat)
    low, high = min(y for _, y in flat), max(y for _, y in flat)

    def placed(point: Point) -> str:
        across = (point[0] - left) / (right - left or 1)
        up = (point[1] - low) / (high - low or 1)
        return f"{44 + across * (width - 54):.1f},{height - 16 - up * (height - 26):.1f}"

    drawn = [_curve(COLOURS[n % len(COLOURS)], list(map(placed, p))) for n, p in enumerate(kept.values())]
    names = [
        f'<span style="color:{COLOURS[n % len(COLOURS)]}">■</span> {said(name)} {points[-1][1]:.4g}'
        for n, (name, points) in enumerate(kept.items())
    ]
    marks = (
        _mark(2, 14, f"{high:.3g}"),
        _mark(2, height - 16, f"{low:.3g}"),
        _mark(44, height - 3, f"step {left:,.0f}"),
    )
    last = _mark(width - 10, height - 3, f"{right:,.0f}", "end")
    svg = f'<svg width="{width}" height="{height}" role="img">{"".join(drawn)}{"".join(marks)}{last}</svg>'
    return f"<div>{svg}<div>{' &nbsp; '.join(names)}</div></div>"


def _curve(colour: str, points: Sequence[str]) -> str:
    if len(points) == 1:
        x, _, y = points[0].partition(",")
        return f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>'
    return f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{" ".join(points)}"/>'


def _mark(x: int, y: int, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" font-size="10" fill="currentColor" text-anchor="{anchor}">{said(text)}</text>'


def bar(share: float, width: int = 240) -> str:
    """How much is done, between 0 and 1."""
    done = round(width * min(max(share, 0.0), 1.0))
    inner = f'<div style="width:{done}px;height:8px;background:{COLOURS[0]}"></div>'
    return f'<div style="display:inline-block;width:{width}px;height:8px;background:#8884">{inner}</div>'


def block(*parts: str) -> str:
    """Pieces below one another; empty ones are left out."""
    return "<div>" + "".join(f"<div>{part}</div>" for part in parts if part) + "</div>"
