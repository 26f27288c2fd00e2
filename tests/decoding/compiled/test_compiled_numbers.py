"""The compiled step gives torch's numbers: for every covered part of the menu, all sizes, rows that come and go."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from compiled import Compiled, close, covered
from contracts.pairs import of
from contracts.small import Case, answerers, decoders, every, small, some, tokens, unchecked, varied
from contracts.test_joining import beams_come_and_go, come_and_go
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.compiled.machine_code import Code


@pytest.fixture(autouse=True)
def _bulk() -> Iterator[None]:
    with torch.inference_mode(), unchecked():
        yield


def of_transformers(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.table["decoder"]["kind"] == "transformer"]


def coverable(case: Case) -> bool:
    """What the machine code is made for: all of the menu's Transformer decoders with these attentions and MLPs."""
    decoder = case.table["decoder"]
    cross = decoder["cross"]["kind"] if case.table["kind"] == "seq2seq" else "multihead"
    return decoder["attention"]["kind"] == cross == "multihead"


LANGUAGE_MODELS = of_transformers([*decoders(), *varied("decoder", "language_model")])
TRANSLATORS = of_transformers([*answerers(), *varied("decoder", "seq2seq")])


@every([*LANGUAGE_MODELS, *TRANSLATORS])
def test_what_is_covered(case: Case) -> None:
    assert covered(case.build()) == coverable(case)


@every([case for case in [*LANGUAGE_MODELS, *TRANSLATORS] if coverable(case)])
def test_rows_come_and_go_as_each_would_alone(case: Case, code: Code, threads: int) -> None:
    """Every row's states are those of torch's pass over all of it at once; any step may be torch's."""
    model = Compiled(code, case.build())
    come_and_go(model, at_once=case.table["kind"] == "language_model")
    assert model.taken > 8


@every([pair for pair in of("decoder") if pair.attention == "multihead" and pair.kernel == "auto"])
def test_every_pattern_with_all_positions(case: Case, code: Code) -> None:
    come_and_go(Compiled(code, case.build()))


@every([case for case in [*of("decoder"), *TRANSLATORS] if coverable(case)])
@pytest.mark.parametrize("early", [True, False], ids=["spread then join", "join then spread"])
def test_hypotheses_come_and_go(case: Case, code: Code, early: bool) -> None:
    model = Compiled(code, case.build())
    beams_come_and_go(model, early)
    assert model.taken > 4


@pytest.mark.parametrize("width", [1, 2, 3, 11])
@pytest.mark.parametrize("first", [0, 1, 4, 8])
def test_any_window(width: int, first: int, code: Code) -> None:
    kind = {"kind": "local_global", "first": first} if first else {"kind": "window"}
    pattern = small("pattern", width=width, **kind)
    decoder = small("decoder", "transformer", pattern=pattern, positions=small("positions", "alibi"))
    model = Case(f"{width}-{first}", small("model", "language_model", decoder=decoder)).build()
    come_and_go(Compiled(code, model))
    beams_come_and_go(Compiled(code, model), early=True)


@some
@given(data=st.data())
def test_any_sizes(code: Code, data: Any) -> None:
    """Heads, widths and words of awkward sizes; prompts and steps of any number; logits too."""
    prime = st.sampled_from([1, 2, 3, 5, 7, 11, 13, 17])
    groups, shared, half = (
        data.draw(st.sampled_from([1, 2, 3])),
        data.draw(st.sampled_from([1, 2, 3])),
        data.draw(prime),
    )
    attention = small("attention", "multihead", heads=groups * shared, kv_heads=groups, head_width=2 * half)
    mlp = data.draw(st.sampled_from([{"kind": "relu"}, {"kind": "gelu", "approximate": "tanh"}, {"kind": "swiglu"}]))
    decoder = small(
        "decoder",
        "transformer",
        layers=data.draw(st.integers(1, 3)),
        attention=attention,
        positions=small("positions", data.draw(st.sampled_from(["rotary", "alibi", "sinusoidal"]))),
        mlp=mlp | {"hidden": data.draw(st.sampled_from([1, 31, 33, 67, 130]))},
    )
    wide = {"width": 2 * data.draw(st.sampled_from([5, 17, 31, 37, 67])), "vocab_size": data.draw(prime) * 13}
    model = Case("sizes", small("model", "language_model", decoder=decoder, **wide)).build(seed=1)
    rows = data.draw(st.integers(1, 5) | st.sampled_from([6, 7, 8, 15, 16, 17, 33, 47, 64, 65, 129, 150]))
    prompt, sizes = data.draw(st.integers(1, 70)), data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    steps = sum(sizes)
    told = tokens(rows, prompt + steps, seed=2, vocabulary=13)
    memory, stepper = model.start(rows=rows), Compiled(code, model).stepper
    model.step(told[:, :prompt], memory)
    wanted = model(told)
    for size in sizes:
        logits = stepper.step(told[:, prompt : prompt + size], memory, model.head)
        assert logits is not None
        close(logits, wanted[:, prompt : prompt + size].flatten(0, 1))
        prompt += size


@pytest.mark.parametrize("positions", ["rotary", "alibi", "learned"])
@pytest.mark.parametrize(("width", "first"), [(0, 0), (1, 0), (3, 0), (4, 2), (11, 4)])
def test_several_positions_of_a_row_at_once(positions: str, width: int, first: int, code: Code, threads: int) -> None:
    """As a draft's guesses are read: and what was wrong of them is dropped again."""
    kind = {"kind": "local_global", "first": first} if first else {"kind": "window"}
    pattern = small("pattern", width=width, **kind) if width else small("pattern", "causal")
    decoder = small("decoder", "transformer", pattern=pattern, positions=small("positions", positions))
    plain = Case("several", small("model", "language_model", decoder=decoder)).build()
    model, told = Compiled(code, plain), tokens(2, 40, seed=3)
    wanted, memory, at = plain.states(told), plain.start(rows=2), 5
    model.step(told[:, :at], memory)
    for size, dropped in ((1, 0), (3, 2), (2, 0), (4, 3), (1, 1), (5, 0), (3, 1), (4, 0), (4, 2)):
        mark = memory.mark(size + dropped)
        guess = torch.cat([told[:, at : at + size], tokens(2, dropped, seed=at)], 1)
        close(model.step(guess, memory)[:, :size], wanted[:, at : at + size])
        again = memory.back(mark, size)
        if again:
            model.step(told[:, at : at + size], memory)
        at += size
    assert model.taken >= 4 if width in (0, 11) else model.taken > 0
