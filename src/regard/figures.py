"""Figures as people read them, the same wherever they are shown: scores, counts, sizes, times, and straight columns."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len

FINE = ("loss", "bits_per_byte")  # small numbers, of which more digits are read


def figure(name: str, value: float) -> str:
    """A loss of 1.2346 is 1.235, a BLEU of 27.345 is 27.35, and so it is in every table."""
    return f"{value:.3f}" if name in FINE else f"{value:.2f}"


def figures(scores: Mapping[str, object], between: str = "  ") -> str:
    """All scores in a row, each after its name."""
    shown = [(name, value) for name, value in scores.items() if isinstance(value, int | float)]
    return between.join(f"{name} {figure(name, value)}" for name, value in shown)


def count(number: int | float) -> str:
    """1234567 → 1.23M"""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def steps(number: int) -> str:
    """1 → 1 step, 2000 → 2,000 steps"""
    return f"{number:,} {'step' if number == 1 else 'steps'}"


def size(number: int | float) -> str:
    """Bytes, in binary units."""
    for unit, letter in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {letter}"
    return f"{number:.0f} B"


def clock(seconds: float) -> str:
    """3725 → 1:02:05"""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def is_right(head: str) -> bool:
    """Whether a column is one of numbers: its head begins with one space."""
    return head[:1] == " " != head[1:2]


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as plain text; heads that say nothing are left out."""
    lines = [[head.strip() for head in heads], *rows]
    wide = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    right = list(map(is_right, heads))
    shown = lines if any(lines[0]) else rows
    return "\n".join("  ".join(map(_padded, line, wide, right)).rstrip() for line in shown)


def _padded(cell: str, wide: int, right: bool) -> str:
    space = " " * (wide - cell_len(cell))
    return space + cell if right else cell + space
