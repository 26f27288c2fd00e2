"""A text does not depend on its company: alone or beside others, by machine code or by torch, it is the same."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from contracts.small import unchecked

from regard.decoding.beam import Beam
from regard.decoding.compiled import product
from regard.decoding.compiled import steps as chosen
from regard.decoding.compiled.machine_code import Code
from regard.decoding.engine import Engine
from regard.decoding.request import Hypothesis, Request
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.model.build import build
from regard.model.quantize import quantize

WORDS, WIDTH = 50, 80  # a whole block of columns that share a scale, and a part of one
LAST, STEP = 1e-4, 0.05  # of log P: of its last places, and where these round what comes into a product to another step
SEARCHES: dict[str, Search] = {"greedy": Greedy(), "sample": Sample(seed=3), "beam": Beam(beam_size=2)}


class Given:
    """Machine code that is there, or not."""

    def __init__(self, code: Code | None) -> None:
        self.get = lambda: code


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with unchecked():
        yield


@cache
def model(kind: str, eight: bool) -> Any:
    stack = {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 2}}
    sizes = {"vocab_size": WORDS} if kind == "language_model" else dict.fromkeys(SIDES, WORDS)
    both = {} if kind == "language_model" else {"encoder": stack}
    torch.manual_seed(5)
    made = build({"model": {"kind": kind, "width": WIDTH, "tie_embeddings": "none", "decoder": stack, **both, **sizes}})
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    if eight:
        quantize(made)
    return made.eval().requires_grad_(False)


SIDES = "source_vocab_size", "target_vocab_size"


def requests(kind: str) -> list[Request]:
    maker = torch.Generator().manual_seed(2)

    def some(number: int) -> list[int]:
        return torch.randint(3, WORDS, (1 + number % 5,), generator=maker).tolist()

    return [
        Request([1, *some(number)], some(number + 2) if kind == "seq2seq" else None, 8, number=number)
        for number in range(17)
    ]


def written(kind: str, eight: bool, search: Search, together: int) -> list[Hypothesis]:
    """So many texts at a time."""
    asked, found = requests(kind), list[Hypothesis]()
    for first in range(0, len(asked), together):
        rows = together * search.hypotheses
        engine = Engine(model(kind, eight), search, stop_tokens={2}, forbidden={0, 1}, rows=rows)
        found += [best for best, *_ in engine.write(asked[first : first + together])]
    return found


def near(found: list[Hypothesis], wanted: list[Hypothesis], off: float) -> None:
    assert [each.tokens for each in found] == [each.tokens for each in wanted]
    assert [each.log_prob for each in found] == pytest.approx([each.log_prob for each in wanted], abs=off)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("eight", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("kind", ["language_model", "seq2seq"])
def test_a_text_is_the_same_in_any_company(
    code: Code, kind: str, eight: bool, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = dict[bool, list[Hypothesis]]()
    for compiled in (False, True):
        for module in (chosen, product):
            monkeypatch.setattr(module, "MACHINE_CODE", Given(code if compiled else None))
        alone[compiled] = written(kind, eight, search, 1)
        for together in (3, 4, 17):
            near(written(kind, eight, search, together), alone[compiled], STEP if eight and not compiled else LAST)
    if kind == "language_model" or not eight:  # other models in eight bits: torch has seven bits for their weights
        near(alone[True], alone[False], STEP if eight else LAST)
