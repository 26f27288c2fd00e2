"""What can be combined with what: the exact set, and a readable sentence for everything refused."""

import re
from collections import Counter

import pytest

from regard.model.menu import MENU

from .pairs import PAIRS, Pair
from .small import Case, decoders, encoders, small, translators

# In a Transformer, encoder and decoder alike, an attention refuses these and nothing else.
REFUSED = {
    "none": {"rotary"},
    "additive": {"rotary"},
    "linear": {"window", "local_global", "rotary", "alibi"},
}


# How many kernels each has. An entry that is not listed here is walked all the same.
KNOWN = {"none": 1, "additive": 1, "dot": 3, "general": 3, "multihead": 3, "linear": 2}


def expected(pair: Pair) -> bool:
    return bool({pair.pattern, pair.positions} & REFUSED.get(pair.attention, set()))


def test_exactly_these_pairs_are_refused() -> None:
    wrong = [str(pair) for pair in PAIRS if (pair.refusal() is not None) != expected(pair)]
    assert not wrong


def test_every_combination_of_the_menu_is_walked() -> None:
    per_kernel = 2 * len(MENU.parts["pattern"]) * len(MENU.parts["positions"])
    walked = Counter(pair.attention for pair in PAIRS)
    assert set(walked) == set(MENU.parts["attention"])
    assert {kind: walked[kind] for kind in KNOWN} == {kind: n * per_kernel for kind, n in KNOWN.items()}
    assert len({str(pair) for pair in PAIRS}) == len(PAIRS)


def test_the_numbers_of_legal_pairs_are_known() -> None:
    pairs = [pair for pair in PAIRS if pair.attention in KNOWN]
    legal = Counter((pair.stack, pair.attention) for pair in pairs if pair.refusal() is None)
    one_stack = {"none": 16, "additive": 16, "dot": 60, "general": 60, "multihead": 60, "linear": 12}
    assert legal == {(stack, kind): n for stack in ("encoder", "decoder") for kind, n in one_stack.items()}
    assert (sum(legal.values()), len(pairs)) == (448, 520)


def test_a_convolution_takes_only_positions_that_are_embedded() -> None:
    refused = {str(case) for case in encoders() if case.refusal()}
    assert refused == {"encoder-convolution-positions.rotary", "encoder-convolution-positions.alibi"}


def test_a_recurrent_language_model_has_nothing_to_attend_to() -> None:
    refused = {str(case).removeprefix("decoder-") for case in decoders() if case.refusal()}
    looking = {f"recurrent-attention.{kind}" for kind in MENU.parts["attention"] if kind != "none"}
    assert {name for name in refused if "-feature." not in name} == looking | {
        "recurrent-context.every_step",
        "convolution-positions.rotary",
        "convolution-positions.alibi",
    }


def test_exactly_these_recurrent_decoders_of_a_source_are_refused() -> None:
    """With attention: a context at every step besides, and feeding back what is never made."""

    def wrong(case: Case) -> bool:
        words = str(case).split("-")[1:]
        attends = words[0] == "recurrent" and words[1] != "none"
        return attends and ("every_step" in words or {"luong_feeding", "concat"} <= set(words))

    cases = translators()
    assert [str(case) for case in cases if (case.refusal() is not None) != wrong(case)] == []
    new = set(MENU.parts["attention"]) - set(KNOWN)
    known = [case for case in cases if not new & set(str(case).split("-"))]
    assert sum(case.refusal() is None for case in known) == 189


@pytest.mark.parametrize("attention", sorted({pair.attention for pair in PAIRS if pair.positions == "rotary"}))
def test_rotary_refuses_an_odd_width_when_the_model_is_built(attention: str) -> None:
    rotary = small("decoder", "transformer", attention={"kind": attention}, positions=small("positions", "rotary"))
    case = Case(f"odd-{attention}", small("model", "language_model", width=15, decoder=rotary))
    assert re.match(r"model\.decoder\.positions: rotary turns pairs, and width 15", case.refusal() or "")


EVERYTHING = [*PAIRS, *encoders(), *decoders(), *translators()]


@pytest.mark.parametrize("sentence", sorted({case.refusal() for case in EVERYTHING if case.refusal()}))
def test_a_refusal_is_one_sentence_that_names_the_place(sentence: str) -> None:
    place, _, reason = sentence.partition(": ")
    assert re.fullmatch(r"model(\.[a-z_]+)+", place)
    assert place.split(".")[1] in ("encoder", "decoder")
    assert "\n" not in sentence
    assert 30 < len(reason) < 160
    assert "choose" in reason  # what to do instead
    assert not re.search(r"Traceback|Error|None|tensor|<class", reason)
