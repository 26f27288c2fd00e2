"""Something to search in: tables that can be searched to the end, and small models of every kind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import jaxtyping
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

from regard.decoding.search import Hypothesis, Writing
from regard.model.build import build
from regard.model.memory import Held, Memory

PAD, BEGIN, END = 0, 1, 2
VOCABULARY = 6  # the three marks, and three words
LONGEST = 4
some = settings(deadline=None, max_examples=25, derandomize=True, suppress_health_check=list(HealthCheck))
few = settings(some, max_examples=5)


@contextmanager
def unchecked() -> Iterator[None]:
    """Shape checks off where the same model runs again and again: they take most of the time."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


class Table:
    """Logits for every beginning of every sentence, random ones or those that are given.

    A beginning is a number in base V; it is kept once a row, and the sentence once for all its rows.
    """

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits
        self.asked: list[int] = []  # how many rows took each step

    @classmethod
    def random(cls, seed: int, sentences: int = 1, vocabulary: int = VOCABULARY) -> "Table":
        source = torch.Generator().manual_seed(seed)
        return cls(1.5 * torch.randn(sentences, vocabulary**LONGEST, vocabulary, generator=source))

    @classmethod
    def constant(cls, *chances: Sequence[float]) -> "Table":
        """Every sentence says the same at every step."""
        return cls(torch.tensor(chances).log()[:, None].repeat(1, len(chances[0]) ** LONGEST, 1))

    def after(self, sentence: int, beginning: Sequence[int]) -> Tensor:
        code = BEGIN
        for token in beginning:
            code = code * self.logits.shape[2] + token
        return self.logits[sentence, code]

    def writing(
        self, limits: Sequence[int], sentences: Sequence[int] | None = None, words: Tensor | None = None
    ) -> Writing:
        chosen = torch.tensor(range(len(limits)) if sentences is None else sentences)
        memory = Memory(code=Held(torch.zeros(len(chosen), dtype=torch.long)), cross=Held(chosen))

        def step(tokens: Tensor, memory: Memory) -> Tensor:
            self.asked.append(len(tokens))
            (held,), (source,) = memory.held("code"), memory.held("cross")
            held.replace(held.held[0] * self.logits.shape[2] + tokens[:, 0], steps=1)
            logits = self.logits[source.held[0].repeat_interleave(memory.share), held.held[0]]
            return logits if words is None else logits[:, words]

        first = torch.full((len(chosen), 1), BEGIN)
        return Writing(step, memory, first, torch.tensor(limits), END, words)

    def log_chance(self, sentence: int, tokens: list[int], limit: int, words: Tensor | None = None) -> float:
        """By the definition: Σ_t log P(y_t | y_<t), the end too if there was room for it; marks have no chance."""
        line = tokens if len(tokens) == limit else [*tokens, END]
        logits = torch.stack([self.after(sentence, line[:at]) for at in range(len(line))])
        return float(allowed(logits, words).log_softmax(-1)[range(len(line)), line].sum())

    def everything(self, sentence: int, limit: int) -> list[tuple[list[int], float]]:
        """All that can be written, the likeliest first."""
        lines = [(line, self.log_chance(sentence, line, limit)) for line in lines_of(limit)]
        return sorted(lines, key=lambda line: -line[1])


def allowed(logits: Tensor, words: Tensor | None = None) -> Tensor:
    """What neither marks nor words outside a list take part in."""
    barred = torch.zeros(logits.shape[-1], dtype=torch.bool)
    if words is not None:
        barred[:] = True
        barred[words] = False
    barred[:END] = True
    return logits.masked_fill(barred, -torch.inf)


def lines_of(limit: int, words: Sequence[int] = range(END + 1, VOCABULARY)) -> Iterator[list[int]]:
    """Every line of words up to a length."""
    yield []
    if limit:
        yield from ([word, *rest] for word in words for rest in lines_of(limit - 1, words))


def steps(tokens: list[int], limit: int) -> int:
    """How many steps it took to write this: one more for the end, if there was room."""
    return min(len(tokens) + 1, limit)


def repeats(tokens: list[int], size: int) -> bool:
    """Whether some words come twice in the same order."""
    groups = [tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1)]
    return len(groups) > len(set(groups))


TRANSFORMER = {"kind": "transformer", "layers": 2}
DECODERS: dict[str, dict[str, Any]] = {
    "fixed": {"kind": "recurrent", "context": "every_step"},
    "additive": {"kind": "recurrent", "cell": {"kind": "lstm"}, "attention": {"kind": "additive"}},
    "luong": {"kind": "recurrent", "attention": {"kind": "general"}, "order": "luong_feeding"},
    "convolution": {"kind": "convolution", "layers": 2},
    "transformer": TRANSFORMER | {"attention": {"kind": "multihead", "heads": 2}},
    "window": TRANSFORMER
    | {"pattern": {"kind": "local_global", "width": 2, "first": 1}, "positions": {"kind": "rotary"}},
    "linear": TRANSFORMER | {"attention": {"kind": "linear"}, "cross": {"kind": "linear"}},
}
WIDTH, WORDS = 16, 11


@cache
def translator(kind: str, seed: int = 3) -> Any:
    """A small model with strong opinions, so that what it writes is neither empty nor endless."""
    torch.manual_seed(seed)
    sizes = {"source_vocab_size": 13, "target_vocab_size": WORDS, "width": WIDTH}
    stacks = {"encoder": {"kind": "recurrent"}, "decoder": DECODERS[kind]}
    return _opinionated(build({"model": {"kind": "seq2seq"} | sizes | stacks}))


@cache
def language_model(seed: int = 3) -> Any:
    torch.manual_seed(seed)
    sizes = {"vocab_size": WORDS, "width": WIDTH}
    return _opinionated(
        build({"model": {"kind": "language_model", "decoder": TRANSFORMER, "tie_embeddings": "none"} | sizes})
    )


def _opinionated(model: Any) -> Any:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        model.head.weight.mul_(2)
        if model.head.bias is not None:
            model.head.bias[END] += 1
    return model.eval().requires_grad_(False)


def sources(seed: int, count: int, longest: int = 7) -> list[list[int]]:
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (count,), generator=random).tolist()
    return [torch.randint(13, (length,), generator=random).tolist() for length in lengths]


def padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows]), torch.tensor([len(row) for row in rows])


def translating(model: Any, rows: list[list[int]], limits: Sequence[int]) -> Writing:
    def step(tokens: Tensor, memory: Memory) -> Tensor:
        logits: Tensor = model.head(model.step(tokens, memory)[:, -1])
        return logits

    first = torch.full((len(rows), 1), BEGIN)
    return Writing(step, model.start(*padded(rows)), first, torch.tensor(limits), END)


def at_once(model: Any, row: list[int], line: list[int]) -> Tensor:
    """Log chances of what comes after every beginning of a line, without a memory."""
    source, target = torch.tensor([row]), torch.tensor([[BEGIN, *line]])
    with unchecked():
        return allowed(model(source, target)[0]).log_softmax(-1)


def log_chance(model: Any, row: list[int], tokens: list[int], limit: int) -> float:
    """By teacher forcing."""
    line = tokens if len(tokens) == limit else [*tokens, END]
    return float(at_once(model, row, line)[range(len(line)), line].sum())


def lines(found: list[list[Hypothesis]]) -> list[list[list[int]]]:
    return [[hypothesis.tokens for hypothesis in each] for each in found]
