"""From a sentence to its translation: any number, any length; order and empty lines are kept."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from torch import Tensor

from regard.decoding.engine import Engine
from regard.decoding.request import Finished, Hypothesis, Request
from regard.decoding.resize import resized
from regard.decoding.runner import StoppedError
from regard.decoding.search import Search
from regard.looking.alignment import Alignment, align
from regard.model.assembly import Seq2Seq
from regard.model.mode import evaluating
from regard.tasks.translation.shortlist import Shortlist
from regard.tasks.translation.tokenizers import TokenizerPair

ROWS = 320  # rows that take a step at once: sentences times hypotheses
TIMES, MORE = 2, 10  # a translation may have so many times the tokens of its source, and so many more
PARTS = 1_000_003  # between the numbers of the parts of a text
SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|(?<=[。！？])")


@dataclass(frozen=True)
class Translated:
    """One text and its translations, the best first."""

    source: str
    texts: list[str]
    scores: list[float]

    @property
    def text(self) -> str:
        """The best."""
        return self.texts[0]


@dataclass(frozen=True)
class Translator:
    """A trained model with its tokenizers, ready to translate. Sources longer than `longest` tokens are split."""

    model: Seq2Seq
    tokenizers: TokenizerPair
    longest: int
    search: Search
    shortlist: Shortlist | None = None
    rows: int = ROWS

    def resized(self, beam: int = 0, n_best: int = 1) -> "Translator":
        """With another number of hypotheses; 0 and 1 leave it as it is."""
        return replace(self, search=resized(self.search, beam, n_best))

    def translate(self, texts: Sequence[str]) -> list[Translated]:
        """All texts, in their order."""
        found = dict(self.stream(texts))
        return [found[number] for number in range(len(texts))]

    def stream(
        self, texts: Sequence[str], stopped: Callable[[], bool] = lambda: False, first: int = 0
    ) -> Iterator[tuple[int, Translated]]:
        """Every text with its number as soon as it is translated; ends early if it is to be stopped.

        `first` is the number of the first text among all, where there are more: chance is drawn by it.
        """
        parts = [self._split(text) for text in texts]
        owner = [number for number, rows in enumerate(parts) for _ in rows]
        waiting = [len(rows) for rows in parts]
        stops = list(accumulate(waiting))
        written: list[list[Hypothesis]] = [[] for _ in owner]
        for number, rows in enumerate(parts):
            if not rows:
                yield number, Translated(texts[number], [""], [0.0])
        requests = [
            self._request(ids, first + number + PARTS * part)
            for number, rows in enumerate(parts)
            for part, ids in enumerate(rows)
        ]
        for event in self._finished(requests, stopped):
            written[event.place] = event.hypotheses
            number = owner[event.place]
            waiting[number] -= 1
            if not waiting[number]:
                found = written[stops[number] - len(parts[number]) : stops[number]]
                yield number, self._joined(texts[number], found)

    def _finished(self, requests: list[Request], stopped: Callable[[], bool]) -> Iterator[Finished]:
        """What is written, in the mode of answering, whatever mode the model was left in."""
        try:
            with evaluating(self.model):
                for event in self._engine(stopped).generate(requests):
                    if isinstance(event, Finished):
                        yield event
        except StoppedError:
            return

    def align(self, source: str, target: str) -> Alignment:
        """Let the model write `target` for `source` once more, and see where it looks."""
        two, ids = self.tokenizers, self.tokenizers.ids
        asked, said = [*two.source.encode([source])[0], ids.source_eos], two.target.encode([target])[0]
        with evaluating(self.model):
            weights = align(self.model, asked, [ids.bos, *said])
        return Alignment(two.source.tokens(asked), two.target.tokens([*said, ids.eos]), weights)

    def _engine(self, stopped: Callable[[], bool]) -> Engine:
        ids, shortlist = self.tokenizers.ids, self.shortlist

        def candidates(requests: Sequence[Request]) -> Tensor:
            assert shortlist is not None
            return shortlist.candidates(request.source or () for request in requests)

        return Engine(
            self.model,
            self.search,
            stop_tokens=[ids.eos],
            forbidden=ids.never_written,
            rows=self.rows,
            shortlist=None if shortlist is None else candidates,
            stopped=stopped,
        )

    def _request(self, ids: list[int], number: int) -> Request:
        source = [*ids, self.tokenizers.ids.source_eos]
        return Request([self.tokenizers.ids.bos], source, TIMES * len(source) + MORE, number)

    @property
    def _most(self) -> int:
        """Tokens of a source that are read at once."""
        limit = self.model.encoder.limit
        return self.longest if limit is None else min(self.longest, limit - 1)

    def _split(self, text: str) -> list[list[int]]:
        """One row of ids if that fits, else one a sentence, and a long sentence cut between words."""
        if not text.strip():
            return []
        encode = self.tokenizers.source.encode
        whole = encode([text])[0]
        if len(whole) <= self._most:
            return [whole]
        sentences = [sentence for sentence in SENTENCE.split(text) if sentence.strip()]
        encoded = zip(sentences, encode(sentences), strict=True)
        return [row for text, ids in encoded for row in ([ids] if len(ids) <= self._most else self._cut(text))]

    def _cut(self, sentence: str) -> Iterator[list[int]]:
        """As many words as fit, again and again; only a word that is too long by itself is cut inside."""
        row: list[int] = []
        for word in self.tokenizers.source.encode(sentence.split()):
            if row and len(row) + len(word) > self._most:
                yield row
                row = []
            row = row + word
            whole = len(row) - len(row) % self._most if len(row) > self._most else 0
            yield from (row[start : start + self._most] for start in range(0, whole, self._most))
            row = row[whole:]
        if row:
            yield row

    def _joined(self, text: str, found: list[list[Hypothesis]]) -> Translated:
        """The parts of a split text in a row: their best, their second best, …"""
        count = min(map(len, found))
        decode = self.tokenizers.target.decode
        texts = [" ".join(decode([part[n].tokens for part in found])) for n in range(count)]
        scores = [sum(part[n].score for part in found) / len(found) for n in range(count)]
        return Translated(text, texts, scores)
