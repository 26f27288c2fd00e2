"""The benchmarks measure what they say; how fast is no test's business."""

import json
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from drawn import SMALL, drawn

from regard.commands import app
from regard.errors import FailedError, RecipeError
from regard.measuring.attention import CASES, Case, Row, Setting, bench_attention, exponents, prepare
from regard.measuring.memory import peak
from regard.measuring.sizes import DecodingWork, GptShape, TrainingWork
from regard.measuring.steps import DECODERS, bench_steps
from regard.measuring.workers import ProcessWorker, Turns, take_turns
from regard.measuring.works import decoding_work, gpt_step_work, id_pairs, training_step_work

TINY = Setting(heads=2, width=8, window=5, first=2)
SAME = [("full naive", "full flash"), ("window naive", "window"), ("local+global naive", "local+global"),
        ("linear naive", "linear"), ("dot naive", "dot flash"), ("general naive", "general flash")]  # fmt: skip


def case(name: str) -> Case:
    return next(each for each in CASES if each.name == name)


@pytest.mark.parametrize(("naive", "fast"), SAME)
def test_the_fast_case_gives_what_the_naive_one_gives(naive: str, fast: str) -> None:
    results = []
    for name in (naive, fast):
        torch.manual_seed(0)
        results.append(prepare(case(name), TINY, 300, True)())
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-4)


def test_every_case_is_measured_at_every_length_it_can_afford() -> None:
    rows = list(bench_attention([8, 16], setting=TINY, repeats=2, memory=False))
    assert {(row.name, row.length) for row in rows} == {(each.name, n) for each in CASES for n in (8, 16)}
    assert all(len(row.forward) == len(row.both) == 2 for row in rows)


def test_growth_is_the_power_of_the_length() -> None:
    rows = [Row("x", n, [n**2 * 1e-6], [n * 1e-6], 100) for n in (256, 512, 1024)]
    assert [power for _, power in exponents(rows, "forward")] == pytest.approx([2, 2])
    assert [power for _, power in exponents(rows, "both")] == pytest.approx([1, 1])
    assert [power for _, power in exponents(rows, "peak")] == pytest.approx([0, 0])


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_peak_memory_sees_what_is_taken() -> None:
    small = peak(_take, (1,), (1,))
    large = peak(_take, (64,), (1,))
    assert 60 * 2**20 < large - small < 80 * 2**20


def _take(mebibytes: int) -> object:
    return lambda: torch.ones(mebibytes * 2**18).sum()


def test_ratios_are_taken_round_by_round() -> None:
    ours, theirs = Turns("a", [1.0, 2.0, 4.0], 0, [1, 1, 1]), Turns("b", [2.0, 2.0, 12.0], 0, [1, 1, 1])
    assert ours.ratio(theirs) == (2.0, 1.0, 3.0)


def test_rates_count_the_work_done() -> None:
    ours, theirs = Turns("a", [1.0, 2.0], 0, [10, 20]), Turns("b", [1.0, 1.0], 0, [2, 5])
    assert ours.rate == 10.0
    assert ours.ratio(theirs) == (3.5, 2.0, 5.0)


def test_memory_stays_for_all_but_full_attention() -> None:
    for steps in bench_steps((520, 1200), repeats=1):  # beyond two windows, which is as far as a window grows
        grown = steps[1].nbytes > steps[0].nbytes
        assert grown == (steps[0].name == "full")
    assert "full" in DECODERS


def test_a_training_step_is_timed_beside_a_matrix_product(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = "--layers 1 --heads 2 --width 16 --length 8 --batch 2 --rounds 2 --json"
    app(["bench", "gpt", *sizes.split()], standalone_mode=False)
    turns = json.loads(capsys.readouterr().out)
    assert [turn["name"] for turn in turns] == ["regard", "matrix product"]
    assert all(len(turn["seconds"]) == 2 for turn in turns)


WRONG = {
    "gpt --width 50 --heads 3": "--width 50: not a multiple of --heads 3; say 51",
    "steps --positions -5": "--positions -5: wanted numbers",
    "steps --positions many": "--positions many: wanted numbers",
    "attention --lengths 0,16": "--lengths 0,16: wanted numbers",
}


@pytest.mark.parametrize(("said", "told"), WRONG.items())
def test_a_wrong_number_is_told_by_its_own_flag(said: str, told: str) -> None:
    with pytest.raises(RecipeError, match=told):
        app(["bench", *said.split()], standalone_mode=False)


def test_a_worker_that_fails_is_told_in_a_sentence_and_all_end() -> None:
    workers = [ProcessWorker("good", partial, (int, 7)), ProcessWorker("bad", partial, (divmod, 1, 0))]
    with pytest.raises(FailedError, match="^bad: ZeroDivisionError: .*by zero$"):
        take_turns([*workers], 1, lambda _: None)
    assert not any(worker._child.is_alive() for worker in workers)


def test_turns_are_told_round_by_round_and_warm_rounds_are_not_counted() -> None:
    said: list[str] = []
    (turns,) = take_turns([ProcessWorker("one", partial, (int, 7))], 2, said.append, warm=2)
    assert turns.work == [7, 7]
    assert len(turns.seconds) == 2
    assert [text.split(":")[0] for text in said] == ["round 1 of 2", "round 2 of 2"]


def test_what_a_worker_prints_stays_out_of_the_figures(capfd: pytest.CaptureFixture[str]) -> None:
    take_turns([ProcessWorker("loud", partial, (print, "hello"))], 1, lambda _: None)
    assert capfd.readouterr().out == ""


def test_training_says_how_many_real_tokens_it_saw() -> None:
    pairs = drawn(40)
    every = sum(len(source) + len(target) + 2 for source, target in pairs.pairs)
    assert 0 < training_step_work(pairs, SMALL, TrainingWork(steps=3, tokens=60))() < every


@pytest.mark.parametrize("beam", [1, 3])
def test_decoding_writes_as_much_as_it_is_told(beam: int) -> None:
    pairs, work = drawn(20), DecodingWork(beam, 6, 6, 8)
    assert decoding_work(pairs, SMALL, work)() == 20 * 6
    assert decoding_work(pairs, SMALL, work, True)() == 20 * 6
    assert decoding_work(pairs, SMALL, work, True, drawn(40))() == 20 * 6


def test_a_gpt_step_counts_its_batch() -> None:
    assert gpt_step_work(GptShape(1, 2, 16, 8, 3, 10))() == 8 * 3


def test_ids_are_those_of_both_files_without_bos_or_eos(tmp_path: Path) -> None:
    for language, word in (("de", "Haus"), ("en", "house")):
        (tmp_path / f"some.{language}").write_text(
            "".join(f"{word} {n} {n * n}\n" for n in range(300)), encoding="utf-8"
        )
    train, test = id_pairs(str(tmp_path / "some"), "", ("de", "en"), 300)
    assert train.vocab_size == test.vocab_size == 300
    assert len(train.pairs) + len(test.pairs) == 300 > len(train.pairs) > len(test.pairs) > 0
    found = {word for pair in train.pairs for side in pair for word in side}
    assert found.isdisjoint({train.pad, train.bos, train.eos})
    assert train.longest == max(len(side) for pair in train.pairs for side in pair) + 1


def test_other_toolkits_stay_out_of_the_package() -> None:
    assert find_spec("regard.measuring.peers") is None
    assert find_spec("regard.benchmarks") is None
