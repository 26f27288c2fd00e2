"""The benchmarks measure what they say; how fast is no test's business."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard.bench.attention import CASES, Case, Row, Setting, bench_attention, exponents, prepare
from regard.bench.memory import peak
from regard.bench.peer_marian import prepare_marian_decoding, prepare_marian_training
from regard.bench.peer_torch import prepare_torch_training
from regard.bench.peers import Corpus, Decoding, Shape, Training
from regard.bench.steps import DECODERS, bench_steps
from regard.bench.translation import prepare_regard_decoding, prepare_regard_training
from regard.bench.workers import Turns
from regard.commands import app

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
    for steps in bench_steps((20, 600), repeats=1):
        grown = steps[1].nbytes > steps[0].nbytes
        assert grown == (steps[0].name == "full")
    assert "full" in DECODERS


def test_a_training_step_is_timed_beside_a_matrix_product(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = "--layers 1 --heads 2 --width 16 --length 8 --batch 2 --rounds 2 --json"
    app(["bench", "gpt", *sizes.split()], standalone_mode=False)
    turns = json.loads(capsys.readouterr().out)
    assert [turn["name"] for turn in turns] == ["regard", "matrix product"]
    assert all(len(turn["seconds"]) == 2 for turn in turns)


def test_a_folder_without_the_peer_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no model\.py there"):
        app(["bench", "gpt", "--nanogpt", str(tmp_path)], standalone_mode=False)


SMALL = Shape(layers=1, heads=2, width=16, hidden=32)


def drawn(count: int) -> Corpus:
    """Sentences of 1 to 9 words."""
    lengths = [(1 + i % 9, 1 + i * 7 % 9) for i in range(count)]
    return Corpus([(list(range(3, 3 + a)), list(range(3, 3 + b))) for a, b in lengths], 400, 0, 1, 2)


@pytest.mark.parametrize("prepare_peer", [prepare_regard_training, prepare_torch_training, prepare_marian_training])
def test_training_peers_say_how_many_real_tokens_they_saw(prepare_peer: Callable[..., Callable[[], int]]) -> None:
    corpus, training = drawn(40), Training(steps=3, tokens=60)
    every = sum(len(source) + len(target) + 2 for source, target in corpus.pairs)
    assert 0 < prepare_peer(corpus, SMALL, training)() < every


@pytest.mark.parametrize("beam", [1, 3])
def test_decoding_peers_all_write_equally_much(beam: int) -> None:
    corpus, decoding = drawn(20), Decoding(beam, 6, 6, 8)
    assert prepare_regard_decoding(corpus, SMALL, decoding)() == 20 * 6
    assert prepare_regard_decoding(corpus, SMALL, decoding, True)() == 20 * 6
    assert prepare_regard_decoding(corpus, SMALL, decoding, True, drawn(40))() == 20 * 6
    assert prepare_marian_decoding(corpus, SMALL, decoding)() == 20 * 6


def test_an_unknown_peer_is_told() -> None:
    with pytest.raises(ValueError, match="there is torch"):
        app(["bench", "training", "--peers", "fairseq"], standalone_mode=False)
