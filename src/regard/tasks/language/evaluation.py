"""What an evaluation of a language model holds, and how people see it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from regard.figures import figure
from regard.listener import Listener
from regard.pictures import canvas, picture_in, plain, short, write
from regard.tasks.evaluation import Evaluation, Table
from regard.tasks.language.loss import Foretold

LABEL, HEADING = 40, 100  # letters of the name of a run, and of the data


@dataclass(frozen=True)
class Bin:
    """The loss at some positions of a window: from the `least`-th token before it to the `most`-th."""

    least: int
    most: int
    loss: float


@dataclass(frozen=True, repr=False)
class LanguageScores(Evaluation):
    """How well a text is predicted, token by token.

    Loss and perplexity are per token, so they compare runs with one vocabulary only; `bits_per_byte` compares any
    two. The end of a document counts as a character and a byte: it was to be predicted too.
    """

    scores: dict[str, float]
    tokens: int
    documents: int
    loss: float
    perplexity: float
    bits_per_character: float
    bits_per_byte: float
    context: int
    stride: int
    vocabulary: str
    by_position: list[Bin]
    seconds: float

    @property
    def size(self) -> str:  # type: ignore[override]
        return f"{self.tokens:,} tokens"

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def tables(self) -> list[Table]:
        rows = [
            ("tokens", f"{self.tokens:,}", f"{self.tokens / max(self.seconds, 1e-9):,.0f} tokens/s"),
            ("loss", figure("loss", self.loss), f"perplexity {self.perplexity:,.2f} per token"),
            ("bits per character", figure("bits_per_byte", self.bits_per_character), ""),
            ("bits per byte", figure("bits_per_byte", self.bits_per_byte), "comparable across tokenizers"),
        ]
        longest = max((part.loss for part in self.by_position), default=1.0)
        bins = [
            (_called(part), figure("loss", part.loss), "█" * round(24 * part.loss / max(longest, 1e-9)))
            for part in self.by_position
        ]
        return [
            Table(("", " ", ""), list[tuple[str, ...]](rows)),
            Table((" tokens before it", " loss", ""), list[tuple[str, ...]](bins)),
        ]

    def notes(self) -> list[str]:
        if self.stride < self.context:
            return [f"read in windows of {self.context:,} tokens, {self.stride:,} of each new"]
        return []

    def beside(self, others: Mapping[str, Evaluation]) -> Table | None:
        found = [one for one in others.values() if isinstance(one, LanguageScores)]
        rows = [
            ("bits per byte", *(figure("bits_per_byte", one.bits_per_byte) for one in found)),
            ("bits per character", *(figure("bits_per_byte", one.bits_per_character) for one in found)),
        ]
        if len({one.vocabulary for one in found}) == 1:
            rows.append(("loss per token", *(figure("loss", one.loss) for one in found)))
            rows.append(("perplexity per token", *(f"{one.perplexity:,.2f}" for one in found)))
        return Table(("", *(f" {name}" for name in others)), list[tuple[str, ...]](rows))

    def draw(
        self, path: str | Path, others: Mapping[str, Evaluation] | None = None, listener: Listener | None = None
    ) -> Path | None:
        shown = {"loss": self} if others is None else others
        found = {name: one for name, one in shown.items() if isinstance(one, LanguageScores) and one.by_position}
        if not found:
            return None
        figure_, axes = canvas(7.5, 4.2)
        for name, one in found.items():
            places = [(part.least + part.most) / 2 for part in one.by_position]
            axes.plot(places, [part.loss for part in one.by_position], "o-", label=plain(short(name, LABEL)))
        axes.set(xlabel="tokens before it", ylabel="loss per token", title="Loss by how much context there is")
        if self.subject:
            figure_.suptitle(plain(short(self.subject, HEADING)), fontsize=8)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        return write(figure_, picture_in(path, self.file("loss-by-position.png")), listener)


def bins(found: Foretold) -> list[Bin]:
    """The loss by how much could be read before: every group twice as far from the beginning."""
    edges, width = [0], 1
    while edges[-1] < len(found.windows):
        edges.append(min(len(found.windows), edges[-1] + width))
        width *= 2
    parts = []
    for least, most in pairwise(edges):
        count = sum(found.windows[least:most])
        if count:
            parts.append(Bin(least, most - 1, sum(found.by_position[least:most]) / count))
    return parts


def _called(part: Bin) -> str:
    return f"{part.least:,}" if part.least == part.most else f"{part.least:,}–{part.most:,}"
