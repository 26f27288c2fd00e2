"""What is refused, and how: one line or two, an exit code, nothing written."""

import hashlib
import json
import pickle
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from spoken import FILES, TOY, WORDS, end, refused, regard

from regard.disk import tensors as disk_tensors
from regard.run import Run

SENTENCES = [f"ein Satz mit der Zahl {number}" for number in range(40)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for side in ("de", "en"):
        (tmp_path / f"text.{side}").write_text("\n".join(SENTENCES) + "\n")
    return tmp_path


def from_files(folder: Path, *more: str) -> list[str]:
    out = ["training.steps=1", "tokenizer.kind=words", "model.width=16", "--out", str(folder / "run")]
    return ["train", "gru-additive", f"data.train={folder}/text", "data.source=de", "data.target=en", *more, *out]


def test_good_files_are_trained_on(files: Path) -> None:
    """Or the refusals below would show nothing."""
    assert regard(*from_files(files, "data.valid_share=0.1")).code == 0


def test_files_of_different_length_are_refused(files: Path) -> None:
    (files / "text.en").write_text("\n".join(SENTENCES[:30]) + "\n")
    refused(3, "has 30 lines and", *from_files(files))
    assert not (files / "run").exists()


@pytest.mark.parametrize("content", [b"", b"\n\n\n"])
def test_empty_files_are_refused(files: Path, content: bytes) -> None:
    for side in ("de", "en"):
        (files / f"text.{side}").write_bytes(content)
    refused(3, "no sentence pair in it", *from_files(files))
    assert not (files / "run").exists()


def test_binary_rubbish_is_refused(files: Path) -> None:
    rubbish = bytes(range(256)) * 64
    for side in ("de", "en"):
        (files / f"text.{side}").write_bytes(rubbish)
    refused(3, "text.de: not text: there are bytes in it that no text has", *from_files(files))
    assert not (files / "run").exists()


def test_a_vocabulary_larger_than_the_text_is_refused(files: Path) -> None:
    words = from_files(files, "tokenizer.vocab_size=5000")
    words[words.index("tokenizer.kind=words")] = "tokenizer.joint=true"
    refused(2, "tokenizer.vocab_size: the text gives a vocabulary of", *words)
    assert not (files / "run").exists()


def test_missing_files_are_refused(tmp_path: Path) -> None:
    refused(3, "text.de: no such file", *from_files(tmp_path))


@pytest.mark.parametrize("verb", ["evaluate", "translate", "resume"])
@pytest.mark.parametrize("there", [True, False])
def test_what_is_not_a_run_is_refused(verb: str, there: bool, tmp_path: Path) -> None:
    folder = tmp_path if there else tmp_path / "none"
    words = ["train", str(folder), "--resume"] if verb == "resume" else [verb, str(folder)]
    refused(3, "run" if verb == "resume" else "not a run folder", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["training.stps=3"], "training.stps: unknown; did you mean training.steps?"),
        (["trainin.steps=3"], "trainin.steps: unknown; did you mean training.steps?"),
        (["training.steps=many"], "training.steps: wanted a whole number ≥ 0 and ≤ 1000000000000, given 'many'"),
        (["training.epochs=0"], "training: epochs and steps are both 0; say how long to train"),
        (["data.lettrs=3"], "data.lettrs: unknown; did you mean data.letters?"),
        (["data.letters=99"], "data: letters: 99 is more than the 52 there are"),
        (["decoding.beam_size=0"], "decoding.beam_size"),
        (["training.checkpoints.best_by=f1"], "training.checkpoints.best_by: there is loss, bleu, chrf"),
        (["task.max_length"], "wanted key.key=value"),
        (["training.longest=9"], "training.longest: unknown; it is called task.max_length now"),
        (["training.smoothing=0"], "training.smoothing: unknown; it is called task.label_smoothing now"),
        (["tokens.kind=words"], "tokens: unknown; it is called tokenizer now"),
        (["training.schedule.kind=decay"], "no schedule is called 'decay'; it is called 'warmup_stable_decay' now"),
    ],
)
def test_slips_in_a_recipe_are_told_by_key(words: list[str], said: str, tmp_path: Path) -> None:
    refused(2, said, "train", *WORDS, *words, "--out", str(tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_told_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where it was to go nor where it would go by itself."""
    monkeypatch.chdir(tmp_path)
    for out in (["--out", str(tmp_path / "run")], []):
        words = ["train", *WORDS, "training.machine.device=cuda", *out]
        refused(2, "training.machine.device: 'cuda' is not there; say auto or cpu", *words)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(find_spec("tensorboard") is not None, reason="it is installed")
def test_a_missing_tensorboard_is_told_before_anything_is_written(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    refused(
        2,
        "training.checkpoints.tensorboard: not installed",
        "train",
        *WORDS,
        "training.checkpoints.tensorboard=true",
        *out,
    )
    assert list(tmp_path.iterdir()) == []


def test_recipes_that_cannot_be_trained_are_told(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    refused(2, "data: missing; say what to learn from", "train", "gru-additive", *out)
    (tmp_path / "model.toml").write_text('model = "image_classifier"\n')
    refused(2, "task: missing", "train", str(tmp_path / "model.toml"), *TOY, *out)
    (tmp_path / "model.toml").unlink()
    refused(2, "data: missing; say what to learn from: data.train=FOLDER", "train", "vit-tiny", *out)
    refused(2, "data: missing; say what to learn from", "train", "gpt2", *out)
    refused(2, "no such recipe or file", "train", "gru-aditive", *out)
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_neither_written_over_nor_changed_under_way(run: Path) -> None:
    before = end(run)
    refused(3, "there is a run already; go on with --resume", "train", *WORDS, "--out", str(run))
    refused(3, "there is a run already; go on with --resume", "train", str(run))
    refused(2, "training.seed: the run in", "train", str(run), "training.seed=5", "--resume")
    assert end(run) == before


def test_a_full_disk_is_told_and_costs_nothing(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = end(run)
    shutil.rmtree(run / "checkpoints" / "step-60")
    with monkeypatch.context() as patch:
        patch.setattr(disk_tensors, "save_file", full)
        done = regard("train", str(run), "--resume")
        assert done.code == 1
        assert done.err.splitlines() == [
            f"regard: {run}: the disk is full; what was saved before is whole. "
            "Make room, then try again, a training with --resume"
        ]
    assert Run.open(run).checkpoints()[0].step == 40
    assert regard("train", str(run), "--resume").code == 0
    assert end(run) == before


def full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_what_is_not_a_number_is_told_with_its_remedy(tmp_path: Path) -> None:
    """A rate no model survives."""
    done = regard(
        "train", *WORDS, "training.optimizer.learning_rate=1e30", "training.steps=9", "--out", str(tmp_path / "run")
    )
    assert done.code == 1
    first, second = done.err.splitlines()
    assert re.match(
        r"regard: step \d: the loss is \S+ and its gradient \w+: the run diverged; nothing good was saved before$",
        first,
    )
    assert "lower training.optimizer.learning_rate" in second
    assert not Run.open(tmp_path / "run").checkpoints()


@pytest.mark.parametrize("verb", ["evaluate", "translate"])
def test_damaged_runs_are_refused(verb: str, run: Path, tmp_path: Path) -> None:
    text = ["a"] if verb == "translate" else []
    kept = (run / "tokenizer.json").read_text()
    (run / "tokenizer.json").write_text('{"both": {}}')
    refused(3, "tokenizer.json: not a tokenizer", verb, str(run), *text)
    (run / "tokenizer.json").unlink()
    refused(3, "tokenizer.json: no such file", verb, str(run), *text)
    (run / "tokenizer.json").write_text(kept)
    recipe = (run / "recipe.toml").read_text()
    (run / "recipe.toml").write_text(recipe.replace("width = 16", "width = 24"))
    refused(3, "they do not belong together", verb, str(run), *text)
    (run / "recipe.toml").write_text(recipe)
    for checkpoint in Run.open(run).checkpoints():
        (checkpoint.folder / "manifest.json").write_text("{}")
    done = regard(verb, str(run), *text)
    assert done.code == 3
    assert "no whole checkpoint in it" in done.err.splitlines()[-1]


def test_weights_that_are_a_pickle_are_passed_over_and_not_opened(run: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "sprung",)

    (run / "best").unlink()
    newest = Run.open(run).checkpoints()[0].folder
    (newest / FILES[0]).write_bytes(pickle.dumps(Trap()))
    manifest = json.loads((newest / "manifest.json").read_text())
    manifest["sha256"][FILES[0]] = hashlib.sha256((newest / FILES[0]).read_bytes()).hexdigest()
    (newest / "manifest.json").write_text(json.dumps(manifest))
    for words in (["evaluate", str(run)], ["translate", str(run), "a"], ["train", str(run), "--resume"]):
        done = regard(*words)
        assert done.code == 0, done
        told = f"{FILES[0]}: damaged: not what was written; falling back to the checkpoint before it"
        assert told in done.out + done.err
    assert not (tmp_path / "sprung").exists()


def test_what_cannot_be_read_or_written_is_told(run: Path, tmp_path: Path) -> None:
    refused(3, "none: no such file", "translate", str(run), "--file", str(tmp_path / "none"))
    refused(3, "none.letters: no such file", "evaluate", str(run), "--on", str(tmp_path / "none"))
