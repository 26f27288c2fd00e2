"""What an evaluation of a translator holds, and how people see it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from math import isnan
from pathlib import Path
from typing import Any

from regard.cells import CsvWriter
from regard.datasets.lines import one_line
from regard.figures import figure
from regard.listener import Listener
from regard.pictures import picture_in
from regard.tasks.evaluation import Evaluation, Table
from regard.tasks.translation.lengths import FEW, plot_lengths
from regard.tasks.translation.scores import Bin, sentence_chrf

COLUMNS = ("chrf", "source", "reference", "translation", "data")
LONG = ("sources", "translations", "references", "scores")
QUALITY = {"bleu": "BLEU", "bleu_lowercase": "BLEU, lower case", "chrf": "chrF"}


@dataclass(frozen=True, repr=False)
class TranslationScores(Evaluation):
    """How good a translator is on pairs it has not seen.

    Loss and perplexity are per token, so they compare runs with one vocabulary only; `bits_per_byte` of the target
    text (with a line end a sentence) compares any two. Pairs too long to learn from count for BLEU, not for the loss.
    """

    scores: dict[str, float]
    pairs: int
    loss: float
    loss_pairs: int
    perplexity: float
    bits_per_byte: float
    bleu: float
    chrf: float
    bleu_lowercase: float
    exact: float
    signatures: dict[str, str]
    vocabulary: str
    by_length: list[Bin]
    seconds: float
    sources: list[str]
    translations: list[str]
    references: list[str]

    @property
    def size(self) -> str:  # type: ignore[override]
        return f"{self.pairs:,} pairs"

    @property
    def unit(self) -> str:
        """What lengths of sources are counted in: words, or letters."""
        return self.by_length[0].unit if self.by_length else "words"

    def facts(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key not in LONG}

    def tables(self) -> list[Table]:
        short = "" if self.loss_pairs == self.pairs else f", of the {self.loss_pairs:,} pairs that are not too long"
        rows = [
            ("pairs", f"{self.pairs:,}", f"{self.pairs / max(self.seconds, 1e-9):.1f} sentences/s"),
            ("loss", figure("loss", self.loss), f"perplexity {self.perplexity:.2f} per token{short}"),
            ("bits per byte", figure("bits_per_byte", self.bits_per_byte), "of the target text"),
            ("exact match", f"{100 * self.exact:.1f} %", ""),
            *((shown, figure(name, getattr(self, name)), "") for name, shown in QUALITY.items()),
        ]
        bins = [
            (
                f"{part.least}–{part.most}",
                f"{part.count:,}",
                _bleu(part),
                figure("chrf", part.chrf),
                _bar(part),
            )
            for part in self.by_length
        ]
        return [
            Table(("", " ", ""), list[tuple[str, ...]](rows)),
            Table((f" {self.unit} in the source", " pairs", " BLEU", " chrF", ""), list[tuple[str, ...]](bins)),
        ]

    def notes(self) -> list[str]:
        wide = max(map(len, QUALITY.values()))
        said = [f"{QUALITY[name]:<{wide}}  {signature}" for name, signature in self.signatures.items() if signature]
        few = any(part.count < FEW for part in self.by_length)
        notes = [f"░ fewer than {FEW} pairs: too few to compare"] if few else []
        if any(isnan(part.bleu) for part in self.by_length):
            notes.append("– most references have fewer than the 4 tokens that BLEU needs: compare chrF")
        return [*notes, *said]

    def beside(self, others: Mapping[str, Evaluation]) -> Table | None:
        found = [one for one in others.values() if isinstance(one, TranslationScores)]
        rows = [(shown, *(figure(name, getattr(one, name)) for one in found)) for name, shown in QUALITY.items()]
        rows.append(("exact match", *(f"{100 * one.exact:.1f} %" for one in found)))
        rows.append(("bits per byte", *(figure("bits_per_byte", one.bits_per_byte) for one in found)))
        if len({one.vocabulary for one in found}) == 1:
            rows.append(("perplexity per token", *(f"{one.perplexity:.2f}" for one in found)))
        bins = [{(part.least, part.most): part for part in one.by_length} for one in found]
        for key, first in bins[0].items():
            few = " ░" if first.count < FEW else ""
            parts = [one.get(key) for one in bins]
            cells = ("" if part is None else _bleu(part) for part in parts)
            rows.append((f"BLEU, {first.least}–{first.most} {first.unit}{few}", *cells))
        return Table(("", *(f" {name}" for name in others)), list[tuple[str, ...]](rows))

    def files(self) -> dict[str, bytes]:
        """`translations.csv`: chrF, source, reference and translation of every pair, in the order of the data. Each
        pair is one line, so that `sort -n` finds the worst."""
        pairs = zip(self.sources, self.references, self.translations, strict=True)
        text = StringIO()
        table = CsvWriter(text)
        table.row(COLUMNS)
        for chrf, texts in zip(sentence_chrf(self.translations, self.references), pairs, strict=True):
            table.row((figure("chrf", chrf), *map(one_line, texts), self.data))
        return {self.file("translations.csv"): text.getvalue().encode("utf-8", "replace")}

    def draw(
        self,
        path: str | Path,
        others: Mapping[str, Evaluation] | None = None,
        listener: Listener | None = None,
    ) -> Path | None:
        shown: Mapping[str, Evaluation] = {"BLEU": self} if others is None else others
        bins: dict[str, Sequence[Bin]] = {
            name: one.by_length for name, one in shown.items() if isinstance(one, TranslationScores) and one.by_length
        }
        if not bins:
            return None
        return plot_lengths(bins, picture_in(path, self.file("bleu-by-length.png")), listener, self.subject)


def _bleu(part: Bin) -> str:
    return "–" if isnan(part.bleu) else figure("bleu", part.bleu)


def _bar(part: Bin) -> str:
    """As long as BLEU is high; light, and always to be seen, for few pairs."""
    length = 0 if isnan(part.bleu) else round(part.bleu / 4)
    return "█" * length if part.count >= FEW else "░" * max(1, length)
