"""How scores are written: the same digits of the same score wherever it is shown."""

from collections.abc import Mapping

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


def size(number: int | float) -> str:
    """Bytes, in binary units."""
    for unit, letter in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {letter}"
    return f"{number:.0f} B"
