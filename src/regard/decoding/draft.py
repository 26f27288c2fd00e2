"""A smaller model that guesses what a larger one will write."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.choice import Choice
from regard.decoding.compiled.steps import CompiledSteps
from regard.decoding.reading import next_logits
from regard.decoding.sample import OneByOne, fallen
from regard.decoding.search import Active, beginnings
from regard.errors import FailedError
from regard.model.assembly import Writer
from regard.model.memory import Mark

FIRST, MOST = 4, 8  # tokens that are guessed: in the beginning, and at most


@dataclass(frozen=True)
class Draft:
    """A model over the same tokens; it looks back no further than `room`, and guesses `tokens` at a time.

    0 adapts: one more after a guess that was all right, else one less, or as many as were right if that is more. Time
    is not asked, so that the same seed writes the same text everywhere.
    """

    model: Writer
    tokens: int = 0
    room: int | None = None


class Guesser:
    """The draft of one text: what it has read, and how that is taken back."""

    def __init__(
        self, draft: Draft, steps: CompiledSteps, search: OneByOne, choice: Choice, device: torch.device
    ) -> None:
        self._steps, self._search, self._choice, self._device = steps, search, choice, device
        self._room = min((room for room in (draft.room, draft.model.limit) if room is not None), default=None)
        self._fixed, self._now = draft.tokens, draft.tokens or FIRST
        self._begin(0)

    def _begin(self, at: int) -> None:
        """With nothing but what stands in a text from here on."""
        self._memory, self._from, self._read = self._steps.model.start(rows=1), at, at
        self._marks: list[Mark | None] = []

    def guess(
        self, text: list[int], active: Active, written: Int[Tensor, "T"], most: int
    ) -> tuple[list[int], list[Tensor]]:
        """Tokens that may come next, at most so many, each with the chances it was drawn by; nothing after an end."""
        count = self._fit(len(text), min(most, self._now))
        guessed, chances = list[int](), list[Tensor]()
        self._marks = []
        while len(guessed) < count and not (guessed and bool(self._choice.is_stop[guessed[-1]])):
            self._marks.append(self._memory.mark(count - len(guessed)) if guessed else None)
            logits = self._next([*text, *guessed][self._read :])
            line = torch.cat([written, written.new_tensor(guessed)])
            found = self._search.chances(beginnings(active, line, []), logits, self._choice)
            if not bool(found.isfinite().all()):
                raise FailedError("the draft's scores are not numbers (NaN: its weights are damaged); leave it out")
            guessed.append(int(fallen(found, uniform(active, 1, self._device))))
            chances.append(found[0])
        return guessed, chances

    def _fit(self, length: int, count: int) -> int:
        """How many tokens it can guess. Where it cannot look back so far, it begins anew with the later half."""
        if self._room is None or length + count - self._from <= self._room:
            return count
        self._begin(max(0, length - max(1, self._room // 2)))
        return max(0, min(count, self._room - (length - self._from)))

    def _next(self, rest: list[int]) -> Float[Tensor, "1 V"]:
        """What may follow what has not been read yet, in the columns that the large model has."""
        self._read += len(rest)
        model = self._steps.model
        logits = next_logits(self._steps, torch.tensor([rest], device=self._device), self._memory, model.head)
        return F.pad(logits, (0, len(self._choice.is_stop) - logits.shape[1]), value=-torch.inf)

    def note(self, guessed: int, stood: int) -> None:
        """So many of the last guess stood: what was read of the others is dropped."""
        if not self._fixed and guessed:
            self._now = min(MOST, self._now + 1) if stood == guessed else max(1, stood, self._now - 1)
        read = stood + 1  # tokens are read when the next one is asked for
        if read < len(self._marks):
            mark = self._marks[read]
            assert mark is not None
            self._memory.back(mark)
            self._read -= len(self._marks) - read


def uniform(active: Active, count: int, device: torch.device) -> Float[Tensor, "n"]:
    """Numbers between 0 and 1 from the text's own source of chance; where nothing is left to it, zeros."""
    drawn = torch.zeros(count) if active.random is None else torch.rand(count, generator=active.random)
    return drawn.to(device)
