"""A saved state is held against what this training would save, before a fused step trusts its shapes."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from spoken import WORDS, regard
from torch import Tensor

from regard.disk import checksum
from regard.run import STATE, Run

Tensors = dict[str, Tensor]


def first(state: Tensors, ending: str) -> str:
    return next(name for name in sorted(state) if name.endswith(ending))


def changed(run: Path, change: Callable[[Tensors], None]) -> None:
    """A stranger's state, with a manifest that says it is what was written."""
    folder = Run.open(run).checkpoints()[0].folder
    state = load_file(folder / STATE)
    old = checksum(folder / STATE)
    change(state)
    save_file(state, folder / STATE)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(old, checksum(folder / STATE)))


def larger(state: Tensors) -> None:
    name = first(state, "/exp_avg")
    state[name] = torch.zeros(10**6)


def smaller(state: Tensors) -> None:
    state[first(state, "/exp_avg_sq")] = torch.zeros(1)


def other_type(state: Tensors) -> None:
    name = first(state, "/exp_avg")
    state[name] = state[name].to(torch.int8)


def strange(state: Tensors) -> None:
    state["optimizer/7/nobody/exp_avg"] = torch.zeros(3)


def short_name(state: Tensors) -> None:
    state["optimizer/"] = torch.zeros(3)


def halved(state: Tensors) -> None:
    del state[first(state, "/exp_avg_sq")]


def no_number(state: Tensors) -> None:
    state[first(state, "/exp_avg")].fill_(float("nan"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state") / "run"
    assert regard("train", *WORDS, "training.steps=4", "--out", str(folder)).code == 0
    return folder


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (larger, "is float32 [1000000], and must be float32 ["),
        (smaller, "is float32 [1], and must be float32 ["),
        (other_type, "is int8 ["),
        (strange, "'optimizer/7/nobody/exp_avg' belongs to nothing here"),
        (short_name, "'optimizer/' belongs to nothing here"),
        (halved, "/exp_avg_sq is missing"),
        (no_number, "there is no number any more in optimizer/0/"),
    ],
)
def test_a_state_of_another_form_is_refused(
    trained: Path, tmp_path: Path, change: Callable[[Tensors], None], said: str
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for path in sorted(trained.rglob("*")):
        copy = run / path.relative_to(trained)
        copy.mkdir() if path.is_dir() else copy.write_bytes(path.read_bytes())
    changed(run, change)
    done = regard("train", str(run), "--resume", "training.steps=6")
    assert done.code == 3, done.err
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert Run.open(run).checkpoints()[0].step == 4


def test_the_state_it_saved_itself_is_taken(trained: Path, tmp_path: Path) -> None:
    """Also before the first step, when no optimizer has one, and with averages beside it."""
    ema = ["training.ema=0.9", "training.optimizer.kind=muon"]
    for name, words in {"plain": [], "averages and muon": ema}.items():
        run = str(tmp_path / name)
        assert regard("train", *WORDS, *words, "training.steps=2", "--out", run).code == 0
        assert regard("train", run, "--resume", "training.steps=3").code == 0


def test_weights_beside_their_averages_must_all_be_there(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert regard("train", *WORDS, "training.steps=2", "training.ema=0.9", "--out", str(run)).code == 0

    def one_less(state: Tensors) -> None:
        del state[next(name for name in sorted(state) if name.startswith("weights/"))]

    changed(run, one_less)
    done = regard("train", str(run), "--resume", "training.steps=3")
    assert done.code == 3
    assert "is missing" in done.err
