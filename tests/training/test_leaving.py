"""A step that is left in the middle has not begun: what comes after it is the same to the bit."""

from itertools import count
from pathlib import Path

import pytest
import torch
from toyruns import Table
from toyruns import recipe as translating

from regard.listener import SILENT
from regard.model.build import build
from regard.model.weights import named
from regard.recipe import Recipe
from regard.training.learner import Learner
from regard.training.leaving import LeftError
from regard.training.menu import MENU
from regard.training.parallel import Processes

TEXT = "".join(f"The {n % 7}th fox says {n * n}: yes or no?\n" for n in range(200))
DECODERS = {
    "carried": {"kind": "recurrent", "cell": "lstm", "layers": 2, "dropout": 0.2},
    "transformer": {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 2}, "dropout": 0.2},
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def writing(folder: Path, stack: str) -> Table:
    (folder / "text.txt").write_text(TEXT)
    return {
        "task": {"kind": "language", "context": 12, "batch_tokens": 60, "carry_state": stack == "carried"},
        "data": {"train": str(folder / "text.txt"), "valid_share": 0.1},
        "tokenizer": {"kind": "characters"},
        "model": {"kind": "language_model", "width": 16, "decoder": DECODERS[stack]},
        "training": {"steps": 3, "accumulate": 2, "ema": 0.9},
    }


def learner(table: Table) -> Learner:
    checked = Recipe.check(table, MENU)
    settings, task = checked.wants("training").build(), checked.wants("task").build(None)
    task.prepare(SILENT)
    torch.manual_seed(0)
    return Learner(build(checked.sized(task.sizes(), MENU)), task, settings, Processes(0, 1, torch.device("cpu")))


def all_of(made: Learner) -> dict[str, torch.Tensor]:
    kept = {name: held.detach().clone() for name, held in named(made.model).items()}
    return kept | {f"state/{name}": held.clone() for name, held in made.state().items()}


@pytest.mark.parametrize("stack", ["carried", "transformer", "translation"])
def test_left_anywhere_it_is_as_if_it_had_not_begun(stack: str, tmp_path: Path) -> None:
    table = translating("gru-additive") if stack == "translation" else writing(tmp_path, stack)
    calm, left = learner(table), learner(table)
    for number in range(3):
        asked = count()
        calm.step(number, lambda asked=asked: next(asked) < 0)
        places = next(asked)
        assert places >= 20
        before = all_of(left)
        for place in {0, 1, places // 3, places // 2, places - 2, places - 1}:
            asked = count()
            with pytest.raises(LeftError):
                left.step(number, lambda asked=asked, place=place: next(asked) == place)
            assert all(parameter.grad is None for parameter in left.model.parameters())
            now = all_of(left)
            assert all(torch.equal(held, now[name]) for name, held in before.items())
        left.step(number)
        wanted, found = all_of(calm), all_of(left)
        assert wanted.keys() == found.keys()
        assert all(torch.equal(held, found[name]) for name, held in wanted.items())


def test_it_asks_on_the_way_back_too(tmp_path: Path) -> None:
    """The way back is two thirds of a step."""
    made = learner(writing(tmp_path, "transformer"))
    asked = count()
    made.step(0, lambda: next(asked) < 0)
    parameters = sum(1 for _ in made.model.parameters())
    assert next(asked) > 2 * parameters  # once for every gradient of both pieces, and more on the way there


def test_what_is_closed_asks_no_more(tmp_path: Path) -> None:
    made = learner(writing(tmp_path, "transformer"))
    made.close()
    made.step(0, lambda: True)
