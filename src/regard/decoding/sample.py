"""One row, one hypothesis: the likeliest word at every step, or one drawn by chance."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.search import Hypothesis, Search, Writing, bar
from regard.recipe import Number, Positive

Choose = Callable[[Float[Tensor, "R V"], list[int]], Int[Tensor, "R"]]


class OneByOne(Search, ABC):
    """Rows write one word at a time; a row that has ended leaves."""

    def __init__(self, shortest: int, no_repeat: int) -> None:
        self.shortest, self.no_repeat = shortest, no_repeat

    @abstractmethod
    def chooser(self, writing: Writing) -> Choose:
        """The next word of every row, given the logits and which of the rows are still writing."""

    def write(self, writing: Writing) -> list[list[Hypothesis]]:
        rows, choose = len(writing.first), self.chooser(writing)
        ended: list[list[Hypothesis]] = [[] for _ in range(rows)]
        alive = torch.arange(rows, device=writing.first.device)
        chances = torch.zeros(rows, device=writing.first.device)
        written = writing.first.new_zeros(rows, 0)
        given = writing.first
        while len(alive):
            logits = writing.step(given, writing.memory)
            bar(logits, written, writing.end, self.shortest, self.no_repeat)
            columns = choose(logits, alive.tolist())
            chances = chances + logits.log_softmax(-1).gather(1, columns[:, None]).squeeze(1)
            given = writing.named(columns)[:, None]
            written = torch.cat([written, columns[:, None]], 1)
            over = (columns == writing.end) | (writing.limits[alive] <= written.shape[1])
            for row in over.nonzero().flatten().tolist():
                line = written[row, :-1] if int(columns[row]) == writing.end else written[row]
                chance = float(chances[row])
                ended[int(alive[row])].append(
                    Hypothesis(writing.named(line).tolist(), chance, chance / written.shape[1])
                )
            if over.any():
                kept = (~over).nonzero().flatten()
                alive, chances, written, given = alive[kept], chances[kept], written[kept], given[kept]
                writing.memory.reorder(kept)
        return ended


class Greedy(OneByOne):
    """The likeliest word at every step."""

    def __init__(self, *, shortest: Number = 0, no_repeat: Number = 0) -> None:
        super().__init__(shortest, no_repeat)

    def chooser(self, writing: Writing) -> Choose:
        return lambda logits, _: logits.argmax(-1)


class Sample(OneByOne):
    """A word drawn by its chance: sharper below `temperature` 1, among the `top_k` or the `top_p` share only.

    p ∝ exp(logit / temperature). Row r draws from a source of its own, so that it writes the same in any batch.
    """

    def __init__(
        self,
        *,
        temperature: Positive = 1.0,
        top_k: Number = 0,
        top_p: Positive = 1.0,
        seed: Number = 1,
        shortest: Number = 0,
        no_repeat: Number = 0,
    ) -> None:
        super().__init__(shortest, no_repeat)
        self.temperature, self.top_k, self.top_p, self.seed = temperature, top_k, top_p, seed

    def chooser(self, writing: Writing) -> Choose:
        numbers = writing.numbers or range(len(writing.first))
        seeds = [(self.seed * 1_000_003 + number) % 2**32 for number in numbers]  # torch looks at 32 bits
        sources = [torch.Generator().manual_seed(seed) for seed in seeds]
        return lambda logits, rows: self._draw(logits, [sources[row] for row in rows])

    def _draw(self, logits: Float[Tensor, "R V"], sources: list[torch.Generator]) -> Int[Tensor, "R"]:
        chances = self.narrow(logits)
        drawn = torch.stack([torch.rand((), generator=source) for source in sources]).to(logits.device)
        summed = chances.cumsum(-1)
        place = torch.searchsorted(summed, (drawn[:, None] * summed[:, -1:]).contiguous(), right=True).squeeze(1)
        last = chances.shape[1] - 1 - (chances.flip(-1) > 0).to(torch.uint8).argmax(-1)
        return place.minimum(last)  # rounding must not choose what has no chance

    def narrow(self, logits: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        """Chances after temperature, top-k and top-p."""
        logits = logits.float()  # half precision cannot sum so many small chances
        below = logits - logits.amax(-1, keepdim=True)  # so that no temperature is too low
        chances = (below / self.temperature).softmax(-1)
        if self.top_k and self.top_k < chances.shape[1]:
            least = chances.topk(self.top_k).values[:, -1:]
            chances = chances.masked_fill(chances < least, 0.0)
        if self.top_p < 1:
            ranked, places = chances.sort(descending=True)
            before = ranked.cumsum(-1) - ranked
            limit = self.top_p * chances.sum(-1, keepdim=True)
            chances = chances.masked_fill((before >= limit).gather(1, places.argsort(1)), 0.0)
        return chances
