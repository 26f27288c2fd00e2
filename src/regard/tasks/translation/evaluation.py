"""What an evaluation of a translator holds, and how people see it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.datasets.lines import one_line
from regard.pictures import canvas, write
from regard.tasks.task import Evaluation, Table
from regard.tasks.translation.scores import Bin

LONG = ("sources", "translations", "references", "scores")


@dataclass(frozen=True, repr=False)
class TranslationScores(Evaluation):
    """How good a translator is on pairs it has not seen."""

    scores: dict[str, float]
    pairs: int
    loss: float
    perplexity: float
    bleu: float
    chrf: float
    bleu_lowercase: float
    exact: float
    signatures: dict[str, str]
    by_length: list[Bin]
    seconds: float
    sources: list[str]
    translations: list[str]
    references: list[str]

    def facts(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key not in LONG}

    def tables(self) -> list[Table]:
        rows = [
            ("pairs", f"{self.pairs:,}", f"{self.pairs / self.seconds:.1f} sentences/s"),
            ("loss", f"{self.loss:.3f}", f"perplexity {self.perplexity:.2f}"),
            ("exact match", f"{100 * self.exact:.1f} %", ""),
            ("BLEU", f"{self.bleu:.2f}", self.signatures["bleu"]),
            ("BLEU, lower case", f"{self.bleu_lowercase:.2f}", self.signatures["bleu_lowercase"]),
            ("chrF", f"{self.chrf:.2f}", self.signatures["chrf"]),
        ]
        bins = [
            (
                f"{part.least}–{part.most}",
                f"{part.count:,}",
                f"{part.bleu:.1f}",
                f"{part.chrf:.1f}",
                "█" * round(part.bleu / 4),
            )
            for part in self.by_length
        ]
        return [
            Table(("", " ", ""), list[tuple[str, ...]](rows)),
            Table((" words in the source", " pairs", " BLEU", " chrF", ""), list[tuple[str, ...]](bins)),
        ]

    def beside(self, others: Mapping[str, Evaluation]) -> Table | None:
        found = [one for one in others.values() if isinstance(one, TranslationScores)]
        rows = [
            ("BLEU", *(f"{one.bleu:.2f}" for one in found)),
            ("BLEU, lower case", *(f"{one.bleu_lowercase:.2f}" for one in found)),
            ("chrF", *(f"{one.chrf:.2f}" for one in found)),
            ("perplexity", *(f"{one.perplexity:.2f}" for one in found)),
        ]
        bins = [{(part.least, part.most): part.bleu for part in one.by_length} for one in found]
        for least, most in bins[0]:
            scores = [one.get((least, most)) for one in bins]
            rows.append((f"BLEU, {least}–{most} words", *("" if s is None else f"{s:.1f}" for s in scores)))
        return Table(("", *(f" {name}" for name in others)), list[tuple[str, ...]](rows))

    def files(self) -> dict[str, bytes]:
        return {"translations.txt": "".join(one_line(text) + "\n" for text in self.translations).encode()}

    def draw(self, path: Path, others: Mapping[str, Evaluation]) -> Path | None:
        bins = {name: one.by_length for name, one in others.items() if isinstance(one, TranslationScores)}
        return plot_lengths(bins, path / "bleu-by-length.png")


def plot_lengths(runs: Mapping[str, Sequence[Bin]], path: Path) -> Path:
    """BLEU of every run by words in the source; a fixed vector falls where attention does not [N2:83, N4:28]."""
    figure, axes = canvas(7.5, 4.2)
    for name, bins in runs.items():
        axes.plot([(part.least + part.most) / 2 for part in bins], [part.bleu for part in bins], "o-", label=name)
    bins = max(runs.values(), key=len)
    axes.set_xticks([(part.least + part.most) / 2 for part in bins], [f"{part.least}–{part.most}" for part in bins])
    axes.set(xlabel="words in the source", ylabel="BLEU", ylim=(0, None), title="BLEU by length of the source")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return write(figure, path)
