"""What one more token costs after a short and after a long past."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import torch

from regard.allocator import keep_memory
from regard.model.assembly import LanguageModel
from regard.model.build import build

# One of every kind of memory; positions that have no end.
DECODERS = {
    "lstm": ("lstm-lm",),
    "convolution": ("conv-lm",),
    "window": ("gpt-window",),
    "local+global": ("gpt-local-global",),
    "linear": ("gpt-linear",),
    "full": ("gpt-char", "model.decoder.positions=rotary"),
}
LETTERS = 65  # that the models choose among, as those of plays


@dataclass
class StepCost:
    """One decoder at one position: seconds of each step, bytes of its memory."""

    name: str
    position: int
    nbytes: int
    seconds: list[float] = field(default_factory=list)

    @property
    def middle(self) -> float:
        return median(self.seconds)


def bench_steps(positions: Sequence[int] = (100, 1000, 10000), repeats: int = 60) -> Iterator[list[StepCost]]:
    """For each decoder the steps that follow each position, taken in turn."""
    keep_memory()
    token = torch.zeros(1, 1, dtype=torch.long)
    for name, recipe in DECODERS.items():
        model = build(*recipe, f"model.vocab_size={LETTERS}").eval()
        assert isinstance(model, LanguageModel)
        with torch.inference_mode():
            pasts = [model.start(rows=1) for _ in positions]
            for past, position in zip(pasts, positions, strict=True):
                model.step(torch.zeros(1, position, dtype=torch.long), past)
                model.step(token, past)
            steps = [StepCost(name, position, past.nbytes) for position, past in zip(positions, pasts, strict=True)]
            for _ in range(repeats):
                for step, past in zip(steps, pasts, strict=True):
                    start = time.perf_counter()
                    model.step(token, past)
                    step.seconds.append(time.perf_counter() - start)
        yield steps
