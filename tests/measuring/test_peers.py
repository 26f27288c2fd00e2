"""Other toolkits do the same work as Regard in `benchmarks/`; those not installed are skipped, and told."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from drawn import SMALL, drawn

import gpt
import training
from peers.installed import NEEDS, chosen, installed
from peers.shared import bucketed
from regard.errors import InputError, RecipeError
from regard.measuring.sizes import DecodingWork, IdPairs, TrainingWork


def trainer(name: str) -> Callable[..., Callable[[], int]]:
    from peers.joeynmt import prepare_joeynmt_training
    from peers.marian import prepare_marian_training
    from peers.nn_transformer import prepare_torch_training

    known = {"torch": prepare_torch_training, "marian": prepare_marian_training, "joeynmt": prepare_joeynmt_training}
    return known[name]


def decoder(name: str) -> Callable[..., Callable[[], int]]:
    from peers.ctranslate2 import prepare_ctranslate2_decoding
    from peers.joeynmt import prepare_joeynmt_decoding
    from peers.marian import prepare_marian_decoding

    if name == "ctranslate2":
        return lambda *given: prepare_ctranslate2_decoding(*given, "float32")
    return {"marian": prepare_marian_decoding, "joeynmt": prepare_joeynmt_decoding}[name]


def need(name: str) -> None:
    if not installed(name):
        pytest.skip(f"{name} is not installed")


@pytest.mark.filterwarnings("ignore")  # what a peer warns of is its own affair
@pytest.mark.parametrize("name", ["torch", "marian", "joeynmt"])
def test_training_peers_say_how_many_real_tokens_they_saw(name: str) -> None:
    need(name)
    pairs = drawn(40)
    every = sum(len(source) + len(target) + 2 for source, target in pairs.pairs)
    assert 0 < trainer(name)(pairs, SMALL, TrainingWork(steps=3, tokens=60))() < every


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", ["marian", "ctranslate2", "joeynmt"])
def test_decoding_peers_all_write_equally_much(name: str, beam: int) -> None:
    need(name)
    assert decoder(name)(drawn(20), SMALL, DecodingWork(beam, 6, 6, 8))() == 20 * 6


def test_batches_hold_every_pair_once_and_keep_to_their_size() -> None:
    pairs = drawn(40)
    count = next(n for n in range(1, 41) if _too_many(pairs, n + 1))
    batches = bucketed(pairs, TrainingWork(count, 60))
    assert sum(len(batch.source) for batch in batches) == 40
    assert all(len(batch.source) * max(batch.source.shape[1], batch.target.shape[1] - 1) <= 60 for batch in batches)


def _too_many(pairs: IdPairs, steps: int) -> bool:
    try:
        return not bucketed(pairs, TrainingWork(steps, 60))
    except InputError as error:
        return f"--steps {steps}" in str(error)


def test_a_peer_that_is_not_installed_is_told_with_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDS, "joeynmt", ("no_such_module", "joeynmt==2.3.0"))
    with pytest.raises(RecipeError, match="--peers joeynmt: no_such_module is not installed here; pip install joeynmt"):
        chosen("torch,joeynmt", training.PEERS)
    assert "joeynmt" not in chosen("", training.PEERS)
    assert "torch" in chosen("", training.PEERS)


def test_an_unknown_peer_is_told() -> None:
    with pytest.raises(RecipeError, match="--peers fairseq: there is torch"):
        chosen("fairseq", training.PEERS)


def test_wrong_usage_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["training.py", "--peers", "fairseq"])
    with pytest.raises(SystemExit) as ended:
        training.run(training.main)
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_without_nanogpt_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"no model\.py there; git clone"):
        gpt.main(tmp_path)


@pytest.mark.slow
def test_regard_and_a_peer_take_turns(capsys: pytest.CaptureFixture[str]) -> None:
    training.main(vocab_size=300, steps=1, tokens=64, rounds=1, peers="torch", json=True)
    turns = json.loads(capsys.readouterr().out)
    assert [turn["name"] for turn in turns] == ["regard", "nn.Transformer", "matrix product"]
    assert all(len(turn["seconds"]) == 1 and turn["rate"] > 0 for turn in turns)
