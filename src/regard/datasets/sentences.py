"""Where sentences end, in any language and without losing a character."""

import re
from collections.abc import Iterable, Iterator

from sentencex import segment

USUAL = "en"  # the rules for languages that nobody knows
BLOCK = 2048  # characters looked at together: open quotes without end would cost the square of their length
MORE = re.compile(r"(?<=[^\W\d_]{5}[.!?])\s+(?=\d)|(?<=[.!?…])[^\S\n]*\n\s*")  # ends the library does not see
NEARLY_ALL = 0.9  # of the sources must be one sentence each, for texts to be split into such


def sentences(text: str, language: str = USUAL) -> list[str]:
    """The sentences of a text with the white space behind them: joined they are the text again.

    A sentence longer than a block ends with the block, so that the time is linear in the length.
    """
    language = _known(language, text)
    found: list[str] = []
    start = 0
    while start < len(text):
        block = text[start : start + BLOCK]
        parts = segment(language, block)
        parts = [end for part in (parts if "".join(parts) == block else [block]) for end in _more(part)]
        if start + len(block) < len(text) and len(parts) > 1 and 2 * len(parts[-1]) < BLOCK:
            parts = parts[:-1]  # the last may go on behind the block
        found += parts
        start += sum(map(len, parts))
    return found


def count(text: str, language: str = USUAL) -> int:
    """How many sentences a text has; one without letters and marks has none."""
    return sum(1 for sentence in sentences(text, language) if sentence.strip())


def single_share(texts: Iterable[str], language: str = USUAL) -> float:
    """The share of texts that are one sentence."""
    counts = [count(text, language) for text in texts]
    return sum(1 for each in counts if each <= 1) / max(1, len(counts))


def _more(text: str) -> Iterator[str]:
    """A part cut once more: at a line that ends like a sentence, and before a number behind a word, not a short one."""
    start = 0
    for gap in MORE.finditer(text):
        yield text[start : gap.end()]
        start = gap.end()
    if start < len(text):
        yield text[start:]


def _known(language: str, text: str) -> str:
    """The rules to go by. Some languages' look for capitals, and say nothing of a text that has none."""
    bare = language.replace("_", "-").split("-")[0].lower()
    return bare if bare.isascii() and bare.isalpha() and len(bare) in (2, 3) and not text.islower() else USUAL
