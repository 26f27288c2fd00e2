"""What cannot be asked of a search is refused in a sentence, in the words of whoever asked."""

from typing import Any

import pytest
from chances import BEGIN, END, PAD, VOCABULARY, Table, language_model, translator, unchecked

from regard.decoding import checks
from regard.decoding.beam import Beam
from regard.decoding.engine import Engine
from regard.decoding.request import Request
from regard.decoding.resize import beam_keys, resized
from regard.decoding.sample import Greedy, Sample
from regard.errors import InputError

RANGES: list[tuple[Any, dict[str, Any], str]] = [
    (Beam, {"beam_size": 0}, "beam_size: wanted a whole number from 1 to 4,096, given 0"),
    (Beam, {"beam_size": 100_000}, "beam_size: wanted a whole number from 1 to 4,096, given 100000"),
    (Beam, {"beam_size": 2.5}, "beam_size: wanted a whole number from 1 to 4,096, given 2.5"),
    (Beam, {"n_best": 0}, "n_best: wanted a whole number of at least 1, given 0"),
    (Beam, {"n_best": 6}, "n_best: a beam of 5 has no 6 best; choose n_best up to beam_size"),
    (Beam, {"length_penalty": float("nan")}, "length_penalty: wanted a number, given nan"),
    (Greedy, {"min_length": -1}, "min_length: wanted a whole number of at least 0, given -1"),
    (Greedy, {"min_length": 2**63}, f"min_length: wanted a whole number from 0 to {2**63 - 1:,}, given {2**63}"),
    (Beam, {"no_repeat_ngram_size": 2**63}, f"no_repeat_ngram_size: wanted .* to {2**63 - 1:,}, given {2**63}"),
    (Greedy, {"repetition_penalty": 1e-40}, r"repetition_penalty: wanted a number from 0.001 to 1e\+06, given 1e-40"),
    (Sample, {"repetition_penalty": 1e308}, r"repetition_penalty: wanted a number from 0.001 to 1e\+06, given 1e\+308"),
    (Sample, {"temperature": 0.0}, "temperature: wanted a number above 0, given 0.0"),
    (Sample, {"top_p": float("inf")}, "top_p: wanted a number above 0, at most 1, given inf"),
    (Sample, {"top_p": 1.5}, "top_p: wanted a number above 0, at most 1, given 1.5"),
    (Sample, {"top_p": 0.0}, "top_p: wanted a number above 0, at most 1, given 0.0"),
    (Sample, {"top_k": True}, "top_k: wanted a whole number of at least 0, given True"),
]


@pytest.mark.parametrize(("search", "options", "said"), RANGES)
def test_options_out_of_range_are_named(search: Any, options: dict[str, Any], said: str) -> None:
    with unchecked(), pytest.raises(ValueError, match=f"^{said}$"):
        search(**options)


ASKED = {
    (100_000, 1): ("beam: wanted a whole number from 0 to 4,096, given 100000 (every", "--beam: wanted a whole number"),
    (-1, 1): ("beam: wanted a whole number from 0 to 4,096, given -1", "--beam: wanted"),
    (0, 0): ("n_best: wanted a whole number from 1 to 4,096, given 0", "--n-best: wanted"),
    (2, 3): ("n_best=3: a beam of 2 has no 3 best; say beam=3", "--n-best 3: a beam of 2 has no 3 best; say --beam 3"),
}


@pytest.mark.parametrize(("beam", "n_best"), ASKED)
def test_sizes_are_refused_to_both_kinds_of_user(beam: int, n_best: int) -> None:
    with unchecked(), pytest.raises(InputError) as refused:
        resized(Beam(), beam, n_best)
    call, flag = ASKED[beam, n_best]
    assert str(refused.value).startswith(call)
    assert refused.value.on_command_line.startswith(flag)
    if n_best == 1:
        with pytest.raises(InputError, match="^beam: wanted"):
            beam_keys({}, beam)


def test_a_beam_of_one_keeps_what_greedy_search_was_told() -> None:
    with unchecked():
        search = resized(Greedy(repetition_penalty=1.5, min_length=2), 1)
    assert str(search) == "greedy, repetition_penalty 1.5, min_length 2"
    assert beam_keys({"repetition_penalty": 1.5, "length_penalty": 2.0}, 1)[1:] == ["decoding.repetition_penalty=1.5"]


def test_a_beam_whose_scores_fill_the_memory_is_refused_with_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "memory_here", lambda: 2 * 100 * checks.COPIES * 4 * VOCABULARY)
    monkeypatch.setattr(checks, "LITTLE", 0)
    marks: dict[str, Any] = {"stop_tokens": {END}, "forbidden": {PAD, BEGIN}}
    Engine(Table.random(1), Beam(beam_size=100), **marks)
    with pytest.raises(InputError, match=rf"^decoding.beam_size: 101 hypotheses over {VOCABULARY} words .*100 fit$"):
        Engine(Table.random(1), Beam(beam_size=101), **marks)


def test_threads_share_the_memory_for_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "memory_here", lambda: 2 * 100 * checks.COPIES * 4 * VOCABULARY)
    monkeypatch.setattr(checks, "LITTLE", 0)
    monkeypatch.setattr("regard.decoding.engine.workers", lambda *_: 3)
    engine = Engine(Table.random(1), Beam(beam_size=34), stop_tokens={END}, forbidden={PAD, BEGIN})
    with pytest.raises(InputError, match=r"^decoding.beam_size: 34 hypotheses .* at most 33 fit$"):
        engine.generate([Request([BEGIN], None, 3)])


def test_a_wide_beam_ends_before_what_it_remembers_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Beam(beam_size=400, min_length=30)
    engine = Engine(language_model(), search, stop_tokens={END}, forbidden={PAD, BEGIN})
    monkeypatch.setattr(checks, "memory_here", lambda: 2**20)
    with pytest.raises(InputError, match=r"^decoding.beam_size: what 400 hypotheses have read and written takes"):
        list(engine.generate([Request([BEGIN], None, 30)]))


@pytest.mark.parametrize("token", [-1, 999])
@pytest.mark.parametrize("name", ["stop_tokens", "forbidden", "prompt", "source"])
def test_tokens_that_are_not_there_are_named(name: str, token: int) -> None:
    model = translator("transformer")
    marks = {"stop_tokens": {END}, "forbidden": {PAD, BEGIN}}
    asked = {"prompt": [BEGIN], "source": [3, END]}
    for table in (marks, asked):
        if name in table:
            table[name] = [*table[name], token]
    with pytest.raises(InputError, match=rf"^{name}: there is no token {token}; ids go from 0 to "):
        Engine(model, Greedy(), **marks).write([Request(asked["prompt"], asked["source"], 3)])


def test_an_empty_source_is_refused() -> None:
    with pytest.raises(InputError, match="^source: there must be a token to read"):
        Request([BEGIN], [], 3)


def test_all_that_is_asked_may_be_nothing() -> None:
    engine = Engine(translator("transformer"), Beam(), stop_tokens={END}, forbidden={PAD, BEGIN})
    assert engine.write([]) == []


def test_ids_go_up_to_the_size_and_no_further() -> None:
    checks.check_tokens("source", [0, 7], 8)
    checks.check_tokens("source", [], 8)
    for odd in (8, -1):
        with pytest.raises(InputError, match=f"source: there is no token {odd}; ids go from 0 to 7"):
            checks.check_tokens("source", [3, odd], 8)


@pytest.mark.parametrize("penalty", [1e308, -1e5, 101.0, float("nan")])
def test_a_penalty_is_within_reason(penalty: float) -> None:
    with pytest.raises(ValueError, match="length_penalty: wanted a number"):
        Beam(length_penalty=penalty)
