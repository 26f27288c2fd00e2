"""How good translations are: BLEU, chrF, and both by length of the source."""

from collections.abc import Sequence
from dataclasses import dataclass

EDGES = (5, 10, 15, 20, 25, 30, 40)


@dataclass(frozen=True)
class Bleu:
    """Scores of many translations, each with its sacrebleu signature."""

    bleu: float
    chrf: float
    tokenised: float
    """BLEU of lower-cased tokens: what most papers on small data sets quote."""
    signatures: dict[str, str]


@dataclass(frozen=True)
class Bin:
    """Sentences whose source has `least` to `most` words."""

    least: int
    most: int
    count: int
    bleu: float
    chrf: float


def score(translations: Sequence[str], references: Sequence[str]) -> Bleu:
    """BLEU and chrF as sacrebleu computes them."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    metrics = {"bleu": BLEU(), "chrf": CHRF(), "tokenised": BLEU(lowercase=True)}
    found = {name: metric.corpus_score(list(translations), [list(references)]) for name, metric in metrics.items()}
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return Bleu(found["bleu"].score, found["chrf"].score, found["tokenised"].score, signatures)


def by_length(sources: Sequence[str], translations: Sequence[str], references: Sequence[str]) -> list[Bin]:
    """The same by the number of words in the source: does quality fall as sentences grow [N2:83]?"""
    lengths = [len(source.split()) for source in sources]
    bins, least = [], 0
    for most in (*EDGES, max([*lengths, EDGES[-1] + 1])):
        chosen = [i for i, length in enumerate(lengths) if least < length <= most]
        if chosen:
            found = score([translations[i] for i in chosen], [references[i] for i in chosen])
            bins.append(Bin(least + 1, most, len(chosen), found.bleu, found.chrf))
        least = most
    return bins
