"""Tokens in a row, and the words that they make up.

Sub-words are merged so: a word begins at white space, at the beginning of a line, and wherever a letter or digit meets
anything else; a mark of punctuation stands alone, and so does a letter of a script that puts no space between words,
unless a token holds several. Bytes of one letter are always together. Tokens that are no text (<bos>, <eos>) are words
of their own.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.datasets.tokenizer import Tokenizer

WITHIN = "'’_"  # stand inside words
SPACELESS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
BLANKS = {"\n": "⏎", "\r": "⏎", "\t": "⇥"}

Span = tuple[int, int]


@dataclass(frozen=True)
class Line:
    """What stands at every position of one side: tokens, the words they make up, and which are no text at all."""

    tokens: tuple[str, ...]
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    """The first token of every word, and the one behind its last."""
    ids: tuple[int, ...] = ()
    special: frozenset[int] = frozenset()
    """Positions that are no text."""
    starts: tuple[int, ...] = (0,)
    """Where pieces begin that were read each by itself."""
    texts: tuple[str, ...] = ()
    """What each token adds to the text, white space too."""
    grid: tuple[int, int] | None = None
    """Rows and columns of patches, if these are the last positions of an image."""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def merged(self) -> bool:
        """Whether some words have several tokens."""
        return len(self.words) < len(self.tokens)

    @property
    def text_words(self) -> int:
        """How many words are text; <eos> and its like are not."""
        return sum(start not in self.special for start, _ in self.spans)

    @property
    def punctuation(self) -> frozenset[int]:
        """Positions of tokens that are marks of punctuation and nothing else."""
        return frozenset(place for place, token in enumerate(self.tokens) if self._is_mark(place, token))

    def _is_mark(self, place: int, token: str) -> bool:
        return place not in self.special and bool(token) and all(unicodedata.category(one)[0] == "P" for one in token)

    def labels(self, words: bool) -> tuple[str, ...]:
        """What is written beside rows and columns."""
        return self.words if words else self.tokens

    def part(self, start: int, stop: int, words: bool) -> "tuple[Line, int]":
        """Words (or tokens) start to stop by themselves, and the token they begin at."""
        spans = self.spans[start:stop] if words else [(place, place + 1) for place in range(start, stop)]
        first, last = (spans[0][0], spans[-1][1]) if spans else (0, 0)
        return Line(
            self.tokens[first:last],
            self.labels(words)[start:stop],
            tuple((begin - first, end - first) for begin, end in spans),
            self.ids[first:last],
            frozenset(place - first for place in self.special if first <= place < last),
        ), first

    def facts(self) -> dict[str, object]:
        """All of it, as JSON can hold it."""
        spans = [list(span) for span in self.spans]
        return {"tokens": list(self.tokens), "ids": list(self.ids), "words": list(self.words), "spans": spans}


def line(tokenizer: Tokenizer, ids: Sequence[int]) -> Line:
    """The tokens of some ids, and their words."""
    texts = _texts(tokenizer, ids)
    special = frozenset(place for place, token in enumerate(ids) if token in tokenizer.special)
    tokens = [_label(text, shown) for text, shown in zip(texts, tokenizer.tokens(ids), strict=True)]
    spans = list(_spans(texts, special))
    words = [_label("".join(texts[start:stop]), tokens[stop - 1]) for start, stop in spans]
    added = [
        text or (shown if place in special else "")
        for place, (text, shown) in enumerate(zip(texts, tokens, strict=True))
    ]
    return Line(tuple(tokens), tuple(words), tuple(spans), tuple(ids), special, texts=tuple(added))


def alone(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """What tokens are called that stand in no text: candidates, each by itself, with the space before it."""
    once = list(dict.fromkeys(ids))
    texts = tokenizer.raw([[token] for token in once])
    shown = tokenizer.tokens(once)
    names = {
        token: text if text.strip() and token not in tokenizer.special else _label(text, name)
        for token, text, name in zip(once, texts, shown, strict=True)
    }
    return [names[token] for token in ids]


def joined(parts: Sequence[Line]) -> Line:
    """The lines of several pieces as one."""
    starts = [sum(map(len, parts[:number])) for number in range(len(parts))]
    moved = list(zip(starts, parts, strict=True))
    return Line(
        tuple(token for part in parts for token in part.tokens),
        tuple(word for part in parts for word in part.words),
        tuple((first + start, first + stop) for first, part in moved for start, stop in part.spans),
        tuple(token for part in parts for token in part.ids),
        frozenset(first + place for first, part in moved for place in part.special),
        tuple(starts) or (0,),
        tuple(text for part in parts for text in part.texts),
    )


def plain_line(tokens: Sequence[str], special: int = 0, grid: tuple[int, int] | None = None) -> Line:
    """A line of names that are words already, each once: patches of an image, classes. The first may be no input."""
    spans, ids = tuple((place, place + 1) for place in range(len(tokens))), tuple(range(len(tokens)))
    return Line(tuple(tokens), tuple(tokens), spans, ids, frozenset(range(special)), grid=grid)


def _texts(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """What each id adds to the text; of a letter in several bytes the last one adds all."""
    stream = tokenizer.stream()
    texts = ["" if token in tokenizer.special else stream.add(token) for token in ids]
    rest = stream.rest()
    return [*texts[:-1], texts[-1] + rest] if texts else []


def _label(text: str, usual: str) -> str:
    """As people read it: white space alone is shown by a sign."""
    if text and text.isspace():
        return next((BLANKS[one] for one in text if one in BLANKS), "␣")
    return text.strip() or usual


def _spans(texts: Sequence[str], special: frozenset[int]) -> Iterator[Span]:
    """Whole letters first, then words of them."""
    start, before = 0, ""
    for place, text in enumerate(texts):
        half = not text and place not in special and place + 1 < len(texts) and place + 1 not in special
        if half:  # its letter ends later: what comes then decides
            continue
        first = next((n for n in range(place, start, -1) if texts[n - 1] or n - 1 in special), start)
        apart = place in special or (first > 0 and first - 1 in special) or _parted(before, text)
        if apart and first > start:
            yield start, first
            start, before = first, ""
        before += text
    if texts:
        yield start, len(texts)


def _parted(before: str, text: str) -> bool:
    """Whether a new word begins between two texts; `before` is all of the word so far."""
    if not before or not text:
        return False
    if before.isspace():
        return any(one in BLANKS for one in before) or any(one in BLANKS for one in text[:1])
    return text[0].isspace() or not (_inner(before[-1]) and _inner(text[0]))


def _inner(letter: str) -> bool:
    """Whether a letter goes on with the one beside it."""
    wordlike = unicodedata.category(letter)[0] in "LMN" or letter in WITHIN
    return wordlike and not unicodedata.name(letter, "").startswith(SPACELESS)
