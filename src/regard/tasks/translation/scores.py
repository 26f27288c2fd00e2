"""How good translations are: BLEU, chrF, and both by length of the source."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import nan

from regard.listener import SILENT, Listener

EDGES = {"words": (5, 10, 15, 20, 25, 30, 40), "letters": (10, 20, 30, 40, 60, 80, 120)}
ORDER = 4  # tokens that BLEU counts together
RARELY = 0.05  # the share of sources with more words than the first bin holds, below which letters tell more
ANALYSERS = {"ja": ("ja-mecab", "MeCab"), "ko": ("ko-mecab", "mecab_ko")}


@dataclass(frozen=True)
class Bleu:
    """Scores of many translations, each with its sacrebleu signature."""

    bleu: float
    chrf: float
    bleu_lowercase: float
    """What most papers on small data sets quote."""
    signatures: dict[str, str]


NOTHING = Bleu(nan, nan, nan, {"bleu": "", "chrf": "", "bleu_lowercase": ""})


@dataclass(frozen=True)
class Bin:
    """Sentences whose source has `least` to `most` words, or letters."""

    unit: str
    least: int
    most: int
    count: int
    bleu: float
    """NaN where fewer than half of the references have the four tokens that BLEU needs: right answers would score 0."""
    chrf: float


def score(translations: Sequence[str], references: Sequence[str], language: str = "") -> Bleu:
    """BLEU and chrF as sacrebleu computes them; where words have no spaces between them, by its tokenizer for that."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    cut = tokenizer_of(language)
    metrics = {"bleu": BLEU(tokenize=cut), "chrf": CHRF(), "bleu_lowercase": BLEU(lowercase=True, tokenize=cut)}
    found = {name: metric.corpus_score(list(translations), [list(references)]) for name, metric in metrics.items()}
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return Bleu(found["bleu"].score, found["chrf"].score, found["bleu_lowercase"].score, signatures)


def sentence_chrf(translations: Sequence[str], references: Sequence[str]) -> list[float]:
    """The chrF of every translation by itself."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    pairs = zip(translations, references, strict=True)
    return [metric.sentence_score(one, [reference]).score for one, reference in pairs]


def has_bleu(references: Sequence[str], language: str = "") -> bool:
    """Whether at least half of the references have the four tokens that BLEU counts together."""
    from sacrebleu.metrics.bleu import BLEU

    cut = BLEU(tokenize=tokenizer_of(language)).tokenizer
    long = sum(len(cut(reference).split()) >= ORDER for reference in references)
    return 2 * long >= len(references)


def tokenizer_of(language: str) -> str:
    """sacrebleu's tokenizer for a target language: characters where the analyser of that language is not installed."""
    plain = language.lower().replace("_", "-").partition("-")[0]
    if plain == "zh":
        return "zh"
    name, module = ANALYSERS.get(plain, ("13a", ""))
    return name if not module or find_spec(module) is not None else "char"


def by_length(
    sources: Sequence[str],
    translations: Sequence[str],
    references: Sequence[str],
    language: str = "",
    listener: Listener = SILENT,
) -> list[Bin]:
    """The same by the number of words in the source: does quality fall as sentences grow [N2:83]? There is no BLEU of
    sentences that are too short for it.

    Where nearly all have a handful of words at most (numbers, Chinese), by the number of letters.
    """
    words = [len(source.split()) for source in sources]
    longer = sum(length > EDGES["words"][0] for length in words)
    unit, lengths = ("words", words) if longer >= RARELY * len(words) else ("letters", list(map(len, sources)))
    bins, least, edges = [], 0, EDGES[unit]
    for most in (*edges, max([*lengths, edges[-1] + 1])):
        listener.at("scoring by length", least, max(lengths, default=0))
        chosen = [i for i, length in enumerate(lengths) if least < length <= most]
        if chosen:
            wanted = [references[i] for i in chosen]
            found = score([translations[i] for i in chosen], wanted, language)
            bleu = found.bleu if has_bleu(wanted, language) else nan
            bins.append(Bin(unit, least + 1, most, len(chosen), bleu, found.chrf))
        least = most
    return bins
