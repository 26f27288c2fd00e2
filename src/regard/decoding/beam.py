"""Beam search."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.search import Hypothesis, Search, Writing, bar
from regard.recipe import Count, Number

BLOCK = 64


class Beam(Search):
    """Keeps the `size` likeliest beginnings, and ends when as many have ended.

    score = log P(y | x) / |y|^length [Wu et al. 2016 have a like rule]. All hypotheses of all
    sentences take each step together; what was read of a source is held once for all of them, and a
    sentence that is done leaves.
    """

    def __init__(
        self, *, size: Count = 5, length: float = 1.0, best: Count = 1, shortest: Number = 0, no_repeat: Number = 0
    ) -> None:
        if best > size:
            raise ValueError(f"best: a beam of {size} has no {best} best; choose best up to size")
        self.size, self.rows, self.length, self.best = size, size, length, best
        self.shortest, self.no_repeat = shortest, no_repeat

    def write(self, writing: Writing) -> list[list[Hypothesis]]:
        rows, size, device = len(writing.first), self.size, writing.first.device
        ended: list[list[Hypothesis]] = [[] for _ in range(rows)]
        alive = torch.arange(rows, device=device)
        scores = torch.full((rows, size), -torch.inf, device=device)
        scores[:, 0] = 0.0  # all beams begin alike: only one of them counts
        written = writing.first.new_zeros(rows * size, 0)
        given, memory = writing.first, writing.memory
        while len(alive):
            logits = writing.step(given, memory)
            if not written.shape[1]:
                memory.spread(size, rows)
                logits = logits.repeat_interleave(size, 0)
            bar(logits, written, writing.end, self.shortest, self.no_repeat)
            found = self._best(logits, scores)
            going = self._note(found, written, alive, writing, ended)
            back, scores, columns = found.going_on(going, writing.end, size)
            alive = alive[going]
            written = torch.cat([written[back], columns], 1)
            given = writing.named(columns)
            memory.reorder(back)
        return [sorted(found, key=lambda hypothesis: -hypothesis.score)[: self.best] for found in ended]

    def _best(self, logits: Float[Tensor, "R V"], scores: Float[Tensor, "B K"]) -> "Candidates":
        """The 2K best continuations of every sentence: enough, should K of them end here.

        A beam needs only its own K + 1 best: one of them may end, and no more than K can go on.
        """
        count = min(self.size + 1, logits.shape[1])
        best, columns = top(logits.log_softmax(-1), count)
        best = best.nan_to_num(-torch.inf, neginf=-torch.inf) + scores.view(-1, 1)  # nan: all words are barred
        totals, places = best.view(len(scores), -1).topk(2 * self.size)
        return Candidates(totals, places // count, columns.view(len(scores), -1).gather(1, places))

    def _note(
        self,
        found: "Candidates",
        written: Int[Tensor, "R T"],
        alive: Int[Tensor, "B"],
        writing: Writing,
        ended: list[list[Hypothesis]],
    ) -> Int[Tensor, "b"]:
        """Note the hypotheses that end among the K best, or must; say which sentences go on."""
        length, size = written.shape[1] + 1, self.size
        over = writing.limits[alive] <= length
        last = (found.columns[:, :size] == writing.end) | over[:, None]
        last &= found.scores[:, :size].isfinite()
        names, (rows, places) = alive.tolist(), last.nonzero(as_tuple=True)
        lines = writing.named(written[rows * size + found.parents[rows, places]]).tolist()
        words, chances = writing.named(found.columns[rows, places]).tolist(), found.scores[rows, places].tolist()
        for row, line, word, chance in zip(rows.tolist(), lines, words, chances, strict=True):
            tokens = line if word == writing.end else [*line, word]
            ended[names[row]].append(Hypothesis(tokens, chance, chance / length**self.length))
        done = torch.tensor([len(ended[name]) >= size for name in names], device=over.device)
        return (~(over | done)).nonzero().flatten()


@dataclass(frozen=True)
class Candidates:
    """What may come next in every sentence, the best first: after which beam, and which word."""

    scores: Float[Tensor, "B C"]
    parents: Int[Tensor, "B C"]
    columns: Int[Tensor, "B C"]

    def going_on(self, rows: Int[Tensor, "b"], end: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Of these sentences the K best that have not ended: which row each goes on from, its score and word."""
        ending = (self.columns[rows] == end).to(torch.uint8)
        chosen = ending.sort(dim=1, stable=True).indices[:, :size]
        parents, columns = self.parents[rows].gather(1, chosen), self.columns[rows].gather(1, chosen)
        back = (rows[:, None] * size + parents).flatten()
        return back, self.scores[rows].gather(1, chosen), columns.flatten()[:, None]


def top(logits: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """`logits.topk(count)`, faster: the largest of all lie in the blocks with the largest maxima."""
    rows, size = logits.shape
    blocks = size // BLOCK
    if blocks <= 2 * count:
        return logits.topk(count)
    best = logits[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK)).amax(-1).topk(count).indices
    places = (best[..., None] * BLOCK + torch.arange(BLOCK, device=logits.device)).flatten(1)
    if size % BLOCK:
        tail = torch.arange(blocks * BLOCK, size, device=logits.device).expand(rows, -1)
        places = torch.cat([places, tail], 1)
    found, chosen = logits.gather(1, places).topk(count)
    return found, places.gather(1, chosen)
