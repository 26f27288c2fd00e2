"""Translation: pairs in, a loss to learn from, BLEU to judge by."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batches import Batch, Batches
from regard.data.corpus import Vocabulary, encode
from regard.data.pairs import Pairs
from regard.data.shortlist import shortlist
from regard.data.tokens import Cutter
from regard.decoding.sample import Greedy
from regard.errors import InputError
from regard.model.assembly import Assembly, Seq2Seq
from regard.tasks.loss import cross_entropy
from regard.tasks.scores import score
from regard.tasks.task import Loss, Task
from regard.tasks.translator import StoppedError, Translator

SCORED = 1000  # held-out pairs translated at each validation


class Translation(Task):
    """Sentence pairs, learnt word by word with the right beginning given (teacher forcing)."""

    metrics = {"loss": -1, "bleu": 1, "chrf": 1}  # noqa: RUF012

    def __init__(self, pairs: Pairs, vocabulary: Vocabulary, longest: int) -> None:
        self.pairs, self.vocabulary = pairs, vocabulary
        self.corpus = encode(pairs, vocabulary, "train", longest)
        if not len(self.corpus):
            raise InputError(f"no training pair has at most {longest} tokens a side; raise training.longest")
        self.held = encode(pairs, vocabulary, "valid", longest)
        scored = list(islice(pairs.read("valid"), SCORED))
        self.read = sorted(scored, key=lambda pair: -len(pair[0]))  # like lengths are translated together

    @classmethod
    def prepare(cls, pairs: Pairs, cutter: Cutter, longest: int, tokens: dict[str, Any] | None = None) -> "Translation":
        """With a vocabulary learnt now, or the one a run has kept."""
        vocabulary = Vocabulary.learn(pairs, cutter) if tokens is None else Vocabulary.open(tokens)
        return cls(pairs, vocabulary, longest)

    def sizes(self) -> dict[str, int]:
        return {
            "source_vocab_size": len(self.vocabulary.source),
            "target_vocab_size": len(self.vocabulary.target),
        }

    def tokens(self) -> dict[str, Any]:
        return self.vocabulary.table()

    def facts(self) -> dict[str, Any]:
        return {
            "task": "translation",
            "data": self.pairs.fingerprint(),
            "pairs": len(self.corpus),
            "longest": int(self.corpus.source.lengths().max()),
        }

    def extras(self) -> dict[str, dict[str, Tensor]]:
        words = shortlist(self.corpus, len(self.vocabulary.source), len(self.vocabulary.target))
        return {"shortlist.safetensors": {"words": torch.from_numpy(words)}}

    def batches(self, tokens: int, seed: int) -> Batches:
        return Batches(self.corpus, tokens, seed)

    def loss(self, model: Assembly, batch: Batch, smoothing: int | float = 0.0, sampling: int | float = 0.0) -> Loss:
        assert isinstance(model, Seq2Seq)
        return translation_loss(model, batch, smoothing, sampling)

    def validate(self, model: Assembly, stopped: Callable[[], bool]) -> dict[str, float] | None:
        assert isinstance(model, Seq2Seq)
        scores = {"loss": held_loss(model, Batches(self.held, 4096, 0), stopped)} if len(self.held) else {}
        translator = Translator(model, self.vocabulary, self.facts()["longest"], stopped=stopped)
        try:
            texts = [found.text for found in translator.translate([source for source, _ in self.read], Greedy())]
        except StoppedError:
            return None
        if self.read:
            found = score(texts, [target for _, target in self.read])
            scores |= {"bleu": found.bleu, "chrf": found.chrf}
        return None if stopped() else scores


@torch.inference_mode()
def held_loss(model: Seq2Seq, batches: Batches, stopped: Callable[[], bool] = lambda: False) -> float:
    """The mean −log p of every word of held-out targets, given the right words before it."""
    total, count = 0.0, 0
    for batch in batches.in_order():
        if stopped():
            break
        total += float(translation_loss(model, batch.to(next(model.parameters()).device)).plain)
        count += batch.targets
    return total / max(count, 1)


def translation_loss(model: Seq2Seq, batch: Batch, smoothing: int | float = 0.0, sampling: int | float = 0.0) -> Loss:
    """Padding is dropped before the head: no logits are made for it."""
    given = _sampled(model, batch, sampling) if sampling else batch.given
    states = model.states(batch.source, given, batch.source_lengths)
    real = torch.arange(given.shape[1], device=states.device) < batch.lengths[:, None]
    return Loss(*cross_entropy(states[real], model.head, batch.wanted[real], smoothing))


@torch.no_grad()
def _sampled(model: Seq2Seq, batch: Batch, share: int | float) -> Int[Tensor, "B T"]:
    """Scheduled sampling in two passes: some given words become what the model would have said there."""
    said = model(batch.source, batch.given, batch.source_lengths).argmax(-1)
    said = torch.cat([batch.given[:, :1], said[:, :-1]], 1)
    drawn = torch.rand(batch.given.shape, device=said.device) < share
    return torch.where(drawn, said, batch.given)
