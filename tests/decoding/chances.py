"""Something to search in: tables that can be searched to the end, and small models of every kind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import jaxtyping
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor, nn

from regard.decoding.engine import Engine
from regard.decoding.request import Hypothesis, Request
from regard.decoding.search import Search
from regard.model.assembly import Writer
from regard.model.build import build
from regard.model.mask import Mask
from regard.model.memory import Held, Memory
from regard.model.stack import Decoder, Encoded

PAD, BEGIN, END = 0, 1, 2
VOCABULARY = 6  # the three marks, and three words
LONGEST = 4
IMPOSSIBLE = -1e30  # a product with minus infinity would be no number
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


class Itself(nn.Linear):
    """A head whose logits are what it is given."""

    def __init__(self, size: int, dtype: torch.dtype) -> None:
        super().__init__(size, size, bias=False, dtype=dtype)
        self.requires_grad_(False).weight.copy_(torch.eye(size))

    def forward(self, x: Tensor) -> Tensor:
        return x.masked_fill(x == x.new_tensor(IMPOSSIBLE), -torch.inf)


class Looked(Decoder):
    """Keeps the beginning of a line as a number in base V, once a row, and the sentence once for all its rows."""

    def __init__(self, table: "Table") -> None:
        super().__init__()
        self.table, self.out_width = table, table.logits.shape[2]

    def start(self, encoded: Encoded | None, rows: int) -> Memory:
        raise AssertionError("a table begins by itself")

    def forward(self, x: Tensor, encoded: Encoded | None, mask: Mask, memory: Memory | None = None) -> Tensor:
        assert memory is not None
        self.table.asked.append(len(x))
        self.table.memory = memory
        (held,), (source,) = memory.held(), memory.cross
        for tokens in x.long().unbind(1):
            held.replace(held.held[0] * self.out_width + tokens[:, 0])
        memory.advance(x.shape[1])
        logits = self.table.logits[source.held[0].repeat_interleave(memory.share), held.held[0]][:, None]
        return logits.clamp(min=IMPOSSIBLE)


class Table(Writer):
    """Logits for every beginning of every sentence, random ones or those that are given: a model like any other.

    Its source is one token: the sentence.
    """

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits
        self.asked: list[int] = []  # how many rows took each step
        self.memory: Memory | None = None
        self.decoder = Looked(self)
        self.target = torch.nn.Unflatten(1, (-1, 1))
        self.head = Itself(logits.shape[2], logits.dtype)

    def example(self, rows: int, length: int) -> tuple[Tensor, ...]:
        return (torch.zeros(rows, 1, dtype=torch.long),)

    def start(self, source: Tensor | None = None, lengths: Tensor | None = None, *, rows: int = 1) -> Memory:
        assert source is not None
        code = Held(torch.zeros(len(source), dtype=torch.long))
        return Memory(len(source), [code], cross=[Held(source[:, 0])], source_lengths=lengths)

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

    def write(
        self,
        search: Search,
        limits: Sequence[int],
        sentences: Sequence[int] | None = None,
        words: Tensor | None = None,
        rows: int = 1000,
        numbers: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]:
        """What a search finds for every sentence."""
        chosen = range(len(limits)) if sentences is None else sentences
        each = zip(chosen, limits, numbers or chosen, strict=True)
        requests = [Request([BEGIN], [at], limit, number) for at, limit, number in each]
        return write(self, search, requests, words, rows)

    def log_prob(self, sentence: int, tokens: list[int], limit: int, words: Tensor | None = None) -> float:
        """By the definition: Σ_t log P(y_t | y_<t), the end too if there was room for it; marks have no chance."""
        line = tokens if len(tokens) == limit else [*tokens, END]
        logits = torch.stack([self.after(sentence, line[:at]) for at in range(len(line))])
        return float(allowed(logits, words).log_softmax(-1)[range(len(line)), line].sum())

    def everything(self, sentence: int, limit: int) -> list[tuple[list[int], float]]:
        """All that can be written, the likeliest first."""
        lines = [(line, self.log_prob(sentence, line, limit)) for line in lines_of(limit)]
        return sorted(lines, key=lambda line: -line[1])


def write(
    model: Writer, search: Search, requests: Sequence[Request], words: Tensor | None = None, rows: int = 1000
) -> list[list[Hypothesis]]:
    """What a search finds for every request, all of them in one batch if there are `rows` enough."""
    shortlist = None if words is None else lambda _: words
    engine = Engine(model, search, stop_tokens={END}, forbidden={PAD, BEGIN}, rows=rows, shortlist=shortlist)
    return engine.write(requests)


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


def asked(rows: Sequence[list[int]], limits: Sequence[int]) -> list[Request]:
    """To translate these."""
    numbered = enumerate(zip(rows, limits, strict=True))
    return [Request([BEGIN], row, limit, number) for number, (row, limit) in numbered]


def at_once(model: Any, row: list[int], line: list[int]) -> Tensor:
    """Log chances of what comes after every beginning of a line, without a memory."""
    source, target = torch.tensor([row]), torch.tensor([[BEGIN, *line]])
    with unchecked():
        return allowed(model(source, target)[0]).log_softmax(-1)


def log_prob(model: Any, row: list[int], tokens: list[int], limit: int) -> float:
    """By teacher forcing."""
    line = tokens if len(tokens) == limit else [*tokens, END]
    return float(at_once(model, row, line)[range(len(line)), line].sum())


def lines(found: list[list[Hypothesis]]) -> list[list[list[int]]]:
    return [[hypothesis.tokens for hypothesis in each] for each in found]
