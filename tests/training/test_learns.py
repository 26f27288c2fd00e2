"""Models learn what they should, and the fixed vector fails where the notes say it does."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from toyruns import HEADS, Table, recipe, whole

from regard.tasks.translation.evaluation import TranslationScores
from regard.training.events import Step
from regard.training.train import training
from regard.verbs import evaluate

MUON, ADAMW = {"kind": "muon", "learning_rate": 0.04}, {"kind": "adamw", "learning_rate": 0.01}
LOOKING = HEADS | {"heads": 4}
RECURRENT = {"kind": "recurrent", "cell": "gru"}
CONVOLUTION = {"kind": "convolution", "layers": 2}
TRANSFORMER = {"kind": "transformer", "layers": 1, "attention": LOOKING}


@pytest.fixture(scope="module", autouse=True)
def one_thread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Small models learn no faster with more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
    torch.set_num_threads(threads)


def reversing(encoder: Table, decoder: Table, width: int, lengths: tuple[int, int], **said: Any) -> Table:
    """Letters to reverse, none of which in the test was seen in training."""
    shortest, longest = lengths
    data = {"min_length": shortest, "max_length": longest, "train": 6000, "valid": 2, "test": 200}
    schedule = {"kind": "warmup_stable_decay", "warmup_steps": 20, "decay_share": 0.7}
    usual = {"batch_tokens": 1024, "label_smoothing": 0.0, "validate_every": 1000, "schedule": schedule}
    table = recipe(data=data | said.pop("data", {}), **usual, **said)
    return table | {"model": {"kind": "seq2seq", "width": width, "encoder": encoder, "decoder": decoder}}


def learnt(table: Table, folder: Path) -> TranslationScores:
    whole(table, folder)
    found = evaluate(folder)
    assert isinstance(found, TranslationScores)
    return found


def exact(found: TranslationScores, least: int, most: int) -> float:
    """The share of sources of these lengths that are right to the letter."""
    rows = zip(found.sources, found.translations, found.references, strict=True)
    chosen = [one == other for source, one, other in rows if least <= len(source.split()) <= most]
    assert len(chosen) >= 20
    return sum(chosen) / len(chosen)


def test_convolution_learns_to_reverse(tmp_path: Path) -> None:
    table = reversing(CONVOLUTION, CONVOLUTION, 48, (4, 6), steps=250, optimizer=ADAMW)
    assert learnt(table, tmp_path / "run").exact >= 0.95


def test_a_transformer_learns_to_reverse_and_with_muon_before_adamw(tmp_path: Path) -> None:
    table = reversing(TRANSFORMER, TRANSFORMER | {"cross": LOOKING}, 48, (4, 7), steps=150, optimizer=MUON)
    losses = [event.loss for event in whole(table, tmp_path / "muon") if isinstance(event, Step)]
    assert evaluate(tmp_path / "muon").exact >= 0.95
    table["training"]["optimizer"] = {"kind": "adamw", "learning_rate": 0.004}
    steps = (event for event in training(table, out=tmp_path / "adamw") if isinstance(event, Step))
    others = [event.loss for event in islice(steps, 100)]
    assert losses[0] == others[0]
    assert sum(others[90:]) < sum(others[:10])
    assert sum(losses[90:100]) <= sum(others[90:])


SHORT, LONG = (3, 6), (10, 11)


def test_a_fixed_vector_learns_short_and_fails_long_and_attention_keeps(tmp_path: Path) -> None:
    """Same data, same width: whatever does not fit into one vector is lost [N2:83, N4:28]."""
    looking, fixed = (
        learnt(
            reversing(
                RECURRENT,
                RECURRENT | {"attention": attention},
                64,
                (3, 11),
                steps=steps,
                optimizer=MUON,
                data={"letters": 4},
            ),
            tmp_path / attention,
        )
        for attention, steps in (("additive", 180), ("none", 250))
    )
    assert looking.exact >= 0.95
    assert exact(looking, *SHORT) >= 0.95
    assert exact(looking, *LONG) >= 0.9
    assert exact(fixed, *SHORT) >= 0.9
    assert exact(fixed, *LONG) <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["recurrent", "convolution", "transformer"])
def test_numbers_are_learnt(stack: str, tmp_path: Path) -> None:
    """German units before tens: siebenundvierzig is forty-seven."""
    turning = TRANSFORMER | {"layers": 2, "positions": "rotary"}
    encoder = {"recurrent": RECURRENT, "convolution": CONVOLUTION, "transformer": turning}[stack]
    looks = {"recurrent": {"attention": "additive"}, "convolution": {}, "transformer": {"cross": LOOKING}}[stack]
    table = reversing(encoder, encoder | looks, 96, (1, 1), steps=1100, optimizer=MUON)
    table["data"] = {"kind": "numbers", "source": "de", "target": "en", "upto": 9999, "train": 8000, "test": 300}
    table["tokenizer"] = {"kind": "bpe", "vocab_size": 400}
    assert learnt(table, tmp_path / "run").exact >= 0.95
