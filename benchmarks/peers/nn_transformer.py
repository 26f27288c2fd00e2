"""`nn.Transformer` as a peer: what one gets by wiring torch's own parts together with care."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from peers.shared import PeerBatch, bucketed, train
from regard.measuring.sizes import IdPairs, TrainingWork, TransformerShape
from regard.model.positions.sinusoidal import encode


class TorchTranslator(nn.Module):
    """Logits of the next target token; source, target and head share one table."""

    def __init__(self, pairs: IdPairs, shape: TransformerShape) -> None:
        super().__init__()
        self.pad, self.scale = pairs.pad, shape.width**0.5
        self.table = nn.Embedding(pairs.vocab_size, shape.width)
        nn.init.normal_(self.table.weight, std=shape.width**-0.5)
        self.body = nn.Transformer(
            shape.width, shape.heads, shape.layers, shape.layers, shape.hidden, dropout=0.0, batch_first=True
        )
        self.register_buffer("waves", encode(torch.arange(pairs.longest + 1), shape.width), persistent=False)
        self.waves: Tensor

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        blank = source == self.pad
        # Padded targets need no mask: they come last, and the loss leaves them out.
        states: Tensor = self.body(
            self._embed(source),
            self._embed(target),
            tgt_mask=torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1),
            src_key_padding_mask=blank,
            memory_key_padding_mask=blank,
            tgt_is_causal=True,
        )
        return F.linear(states, self.table.weight)

    def _embed(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.table(tokens) * self.scale + self.waves[: tokens.shape[1]]
        return embedded


def prepare_torch_training(pairs: IdPairs, shape: TransformerShape, work: TrainingWork) -> Callable[[], int]:
    torch.manual_seed(work.seed)
    model = TorchTranslator(pairs, shape)

    def loss(batch: PeerBatch) -> Tensor:
        logits = model(batch.source, batch.target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=pairs.pad)

    return train(model, loss, bucketed(pairs, work))
