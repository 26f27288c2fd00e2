"""How much each token of a text surprised a model that read it: letters on colours, as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len

from regard.listener import Listener
from regard.pictures import canvas, check_ending, plain, write

COLUMNS = 76
HOT = 10.0  # bits: a chance of one in a thousand, and more


@dataclass(frozen=True)
class Surprise:
    """Tokens of a text, each with −log₂ p: 1 bit is a chance of a half, 10 bits are one in a thousand."""

    tokens: Sequence[tuple[str, float]]

    @property
    def bits(self) -> float:
        """Of the whole text."""
        return sum((bits for _, bits in self.tokens), 0.0)

    def rows(self, columns: int = COLUMNS) -> list[list[tuple[str, float]]]:
        """Its letters, each with the surprise of its token, in lines no wider than so many cells, cut between words
        where that can be."""
        rows = [list[tuple[str, float]]()]
        for letter, bits in ((letter, bits) for text, bits in self.tokens for letter in text):
            if letter == "\n":
                rows.append([])
                continue
            if sum(cell_len(one) for one, _ in rows[-1]) + cell_len(letter) > columns:
                rows.append(_cut(rows[-1]))
            rows[-1].append((letter, bits))
        return rows

    def draw(self, path: str | Path, title: str = "", listener: Listener | None = None) -> Path:
        """As PNG, SVG or PDF."""
        path = check_ending(path)
        rows = self.rows()
        figure, axes = canvas(1.2 + 0.125 * COLUMNS, 1.0 + 0.24 * len(rows))
        heat = [[bits for _, bits in row] + [float("nan")] * (COLUMNS - len(row)) for row in rows]
        picture = axes.imshow(heat, cmap="YlOrRd", vmin=0, vmax=HOT, aspect="auto")
        for height, row in enumerate(rows):
            for place, (letter, bits) in enumerate(row):
                ink = "white" if bits > 0.7 * HOT else "black"
                axes.text(place, height, plain(letter), ha="center", va="center", fontsize=8, color=ink)
        axes.set(xticks=[], yticks=[], title=plain(title))
        axes.set_frame_on(False)
        figure.colorbar(picture, ax=axes, label="bits", extend="max")
        return write(figure, path, listener)


def _cut(row: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Take the word that is not finished off the end of a row; none where the row is one word."""
    last = max((place for place, (letter, _) in enumerate(row) if letter == " "), default=-1)
    if last < 0:
        return []
    rest = row[last + 1 :]
    del row[last + 1 :]
    return rest
