"""Which tokens are in question at a step, and which of them may not come next."""

from collections.abc import Collection

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.head import select_rows


class Choice:
    """A head, and the token that each column of its logits stands for: all of a vocabulary, or a shortlist.

    `stops` end a text, `forbidden` are never written: columns, as `is_stop` has one entry for every token.
    """

    def __init__(
        self, head: nn.Module, stop_tokens: Collection[int], forbidden: Collection[int], words: Tensor | None = None
    ) -> None:
        weight = next(iter(head.parameters()), None)
        device = torch.device("cpu") if weight is None else weight.device
        stops, never = (torch.tensor(sorted(ids), dtype=torch.long, device=device) for ids in (stop_tokens, forbidden))
        self.is_stop = torch.zeros(int(head.out_features), dtype=torch.bool, device=device)  # type: ignore[arg-type]
        self.is_stop[stops] = True
        self.words: Tensor | None = None
        self.head, self.stops, self.forbidden = head, stops, never
        if words is not None:
            self.words = torch.cat([words.to(device), stops]).unique()
            self.head = select_rows(head, self.words)
            self.stops = self.columns(stops)[0]
            self.forbidden = self.columns(never)[0]

    def tokens(self, columns: Int[Tensor, "*N"]) -> Int[Tensor, "*N"]:
        """The tokens that columns stand for."""
        return columns if self.words is None else self.words[columns]

    def columns(self, tokens: Int[Tensor, "N"]) -> tuple[Int[Tensor, "n"], Int[Tensor, "n"]]:
        """The columns of those tokens that have one, and which of the tokens these are."""
        if self.words is None:
            return tokens, torch.arange(len(tokens), device=tokens.device)
        places = torch.searchsorted(self.words, tokens).clamp(max=len(self.words) - 1)
        known = (self.words[places] == tokens).nonzero().flatten()
        return places[known], known


def forbid(
    logits: Float[Tensor, "R V"],
    written: Int[Tensor, "R T"],
    early: Int[Tensor, "E"] | None,
    choice: Choice,
    no_repeat_ngram_size: int,
) -> None:
    """Take away, in place, what must not come next: marks, repetitions, and the end in `early` rows.

    What was written stands at the right; negative ids before it fill up. Where nothing else is left, a line may
    end before its time.
    """
    logits.index_fill_(1, choice.forbidden, -torch.inf)
    size = no_repeat_ngram_size
    if size and written.shape[1] >= size:
        groups = written.unfold(1, size, 1)
        last = written[:, written.shape[1] - size + 1 :]
        repeated = (groups[:, :, :-1] == last[:, None]).all(-1) & (groups >= 0).all(-1)
        rows, places = repeated.nonzero(as_tuple=True)
        columns, known = choice.columns(groups[rows, places, -1])
        logits[rows[known], columns] = -torch.inf
    if early is not None and len(early) and len(choice.stops):
        logits[early[:, None], choice.stops] = -torch.inf
        if size:
            stuck = early[logits[early].isinf().all(-1)]
            logits[stuck, choice.stops[0]] = 0.0
