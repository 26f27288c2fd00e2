"""From a sentence to its translation: any number, any length; order and empty lines are kept."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from torch import Tensor

from regard.datasets.sentences import USUAL
from regard.decoding.engine import Engine
from regard.decoding.job import StoppedError
from regard.decoding.request import Finished, Hypothesis, Request
from regard.decoding.resize import resized
from regard.decoding.search import Search
from regard.looking.alignment import Alignment, align, beside, check_drawable
from regard.markup import Answer
from regard.model.assembly import Seq2Seq
from regard.model.mode import evaluating
from regard.tasks.translation.pieces import Cutter, Piece
from regard.tasks.translation.shortlist import Shortlist
from regard.tasks.translation.tokenizers import TokenizerPair

ROWS = 320  # rows that take a step at once: sentences times hypotheses
TIMES, MORE = 2, 10  # a translation may have so many times the tokens of its source, and so many more
PARTS = 1_000_003  # between the numbers of the parts of a text


@dataclass(frozen=True)
class Part:
    """A piece of a text that was read at once, and the best that was written for it, in ids."""

    source: list[int]
    target: list[int]


@dataclass(frozen=True)
class Translated(Answer):
    """One text and its translations, the best first. The score of a text in several pieces is the mean of theirs."""

    heads = ("source", "translation", " score")

    source: str
    texts: list[str]
    scores: list[float]
    cut_short: bool = False
    """Whether the best ended, somewhere, because it may not become longer."""
    parts: list[Part] = field(default_factory=list, repr=False, compare=False)
    """The pieces it was translated in."""

    @property
    def text(self) -> str:
        """The best."""
        return self.texts[0]

    def rows(self) -> list[tuple[str, ...]]:
        """A row for each translation."""
        pairs = zip(self.texts, self.scores, strict=True)
        return [("" if place else self.source, text, f"{score:.3f}") for place, (text, score) in enumerate(pairs)]


@dataclass(frozen=True)
class Translator:
    """A trained model with its tokenizers, ready to translate. Sources longer than `longest` tokens are split, and
    with `split` all that have several sentences, by the rules of their `language`."""

    model: Seq2Seq
    tokenizers: TokenizerPair
    longest: int
    search: Search
    shortlist: Shortlist | None = None
    rows: int = ROWS
    split: bool = False
    language: str = USUAL

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
        parts = [self.cutter.cut(text) for text in texts]
        owner = [number for number, rows in enumerate(parts) for _ in rows]
        waiting = [len(rows) for rows in parts]
        stops = list(accumulate(waiting))
        written: list[list[Hypothesis]] = [[] for _ in owner]
        for number, rows in enumerate(parts):
            if not rows:
                yield number, Translated(texts[number], [""], [0.0])
        requests = [
            self._request(piece.ids, first + number + PARTS * part)
            for number, rows in enumerate(parts)
            for part, piece in enumerate(rows)
        ]
        for event in self._finished(requests, stopped):
            written[event.place] = event.hypotheses
            number = owner[event.place]
            waiting[number] -= 1
            if not waiting[number]:
                found = written[stops[number] - len(parts[number]) : stops[number]]
                yield number, self._joined(texts[number], parts[number], found)

    def _finished(self, requests: list[Request], stopped: Callable[[], bool]) -> Iterator[Finished]:
        """What is written, in the mode of answering, whatever mode the model was left in."""
        try:
            with evaluating(self.model):
                for event in self._engine.generate(requests, stopped):
                    if isinstance(event, Finished):
                        yield event
        except StoppedError:
            return

    def go_on(self, source: list[int], target: list[int]) -> list[int]:
        """What the model writes for a source if a target begins so: all of it, its beginning too."""
        asked, ids = self._request(source, 0), self.tokenizers.ids
        left = asked.max_new_tokens - len(target)
        limit = self.model.decoder.limit
        if left < 1 or (limit is not None and len(target) + 2 > limit) or ids.eos in target:
            return target[: target.index(ids.eos)] if ids.eos in target else target
        (found,) = self._finished([replace(asked, prompt=[ids.bos, *target], max_new_tokens=left)], lambda: False)
        return [*target, *found.hypotheses[0].tokens]

    def align(self, source: str, target: str) -> Alignment:
        """Let the model write `target` for `source` once more, and see where it looks."""
        two = self.tokenizers
        return self._aligned(Part(two.source.encode([source])[0], two.target.encode([target])[0]))

    def look(self, found: Translated) -> Alignment:
        """Where the model looked while it wrote the best: in every piece at that piece alone."""
        check_drawable(sum(len(part.source) for part in found.parts), sum(len(part.target) for part in found.parts))
        return beside([self._aligned(part) for part in found.parts])

    def _aligned(self, part: Part) -> Alignment:
        two, ids = self.tokenizers, self.tokenizers.ids
        asked = [*part.source, ids.source_eos]
        with evaluating(self.model):
            weights = align(self.model, asked, [ids.bos, *part.target])
        return Alignment(two.source.tokens(asked), two.target.tokens([*part.target, ids.eos]), weights)

    @cached_property
    def _engine(self) -> Engine:
        """One for all texts: what it knows of the model serves the next, too."""
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
        )

    def _request(self, ids: list[int], number: int) -> Request:
        source = [*ids, self.tokenizers.ids.source_eos]
        return Request([self.tokenizers.ids.bos], source, TIMES * len(source) + MORE, number)

    @cached_property
    def cutter(self) -> Cutter:
        """What cuts texts into pieces that the model can read."""
        limit = self.model.encoder.limit
        most = self.longest if limit is None else min(self.longest, limit - 1)
        return Cutter(self.tokenizers.source, most, self.language, self.split)

    def _joined(self, text: str, pieces: list[Piece], found: list[list[Hypothesis]]) -> Translated:
        """The pieces of a text in a row, with the white space they had: their best, their second best, …"""
        count = min(map(len, found))
        decode = self.tokenizers.target.decode
        said = [decode([part[n].tokens for part in found]) for n in range(count)]
        texts = ["".join(piece.gap + one for piece, one in zip(pieces, some, strict=True)) for some in said]
        scores = [sum(part[n].score for part in found) / len(found) for n in range(count)]
        parts = [Part(piece.ids, part[0].tokens) for piece, part in zip(pieces, found, strict=True)]
        return Translated(text, texts, scores, not all(part[0].ended for part in found), parts)
