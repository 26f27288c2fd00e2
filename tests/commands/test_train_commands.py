"""Train, evaluate, translate: from the command line, as a user meets them."""

import hashlib
import io
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch

from regard.commands import main
from regard.data.menu import SLOTS
from regard.data.tokens import LEAST
from regard.recipe import recipes
from regard.recipe.read import read
from regard.runs import FILES, Run
from regard.runs import run as runs
from regard.tasks.translation import Translation
from regard.tasks.translator import Translated, Translator

TOY = ["data.kind=toy", "data.letters=6", "data.longest=4", "data.train=200", "data.valid=5", "data.test=30"]
SMALL = ["tokens.kind=words", "model.width=16", "training.batch_tokens=256", "training.keep=9"]
RATE = ["training.optimizer.rate=0.02", "training.schedule.kind=constant"]
WORDS = ["gru-additive", *TOY, *SMALL, *RATE, "model.encoder.dropout=0.0", "model.decoder.dropout=0.0"]


ADAMW = {"kind": "adamw", "rate": 0.02, "beta1": 0.9, "beta2": 0.98, "decay": 0.0001}


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def regard(*words: str, given: bytes = b"") -> Done:
    """The command in this process: only what is imported once is spared."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["regard", *words])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return Done(code or 0, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Shape checks off where many steps are taken."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    steps = ["training.steps=60", "training.validate_every=20"]
    return folder, regard("train", *WORDS, *steps, "--out", str(folder))


@pytest.fixture
def run(trained: tuple[Path, Done], tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return Path(shutil.copytree(trained[0], tmp_path / "run"))


def end(folder: Path) -> list[str]:
    """The last checkpoint, to the bit."""
    newest = Run.open(folder).checkpoints()[0].folder
    return [newest.name, *(hashlib.sha256((newest / name).read_bytes()).hexdigest() for name in FILES)]


# --- train ----------------------------------------------------------------------------------------------------------


def test_train_tells_what_happens_and_what_to_do_next(trained: tuple[Path, Done]) -> None:
    folder, done = trained
    assert done.code == 0, done.err
    assert done.err == ""
    assert re.match(r"\d+(\.\d+)?k parameters, training for 60 steps \(\d+\.\d epochs\), in", done.out)
    assert re.search(r"step 20  validation: loss \d\.\d+  bleu \S+  chrf \S+  best so far", done.out)
    assert re.search(r"step 60/60  loss \d\.\d{3}  [\d,]+ tokens/s  0:00 left", done.out)
    assert re.search(r"step 60  done after 0:\d\d", done.out)
    assert f"Next: regard evaluate {folder}\n" in done.out
    assert f"regard translate {folder} 'your text'\n" in done.out
    assert "\x1b" not in done.out  # no colours and no live line, away from a terminal
    kept = {path.name for path in folder.iterdir()}
    assert {"recipe.toml", "tokens.json", "facts.json", "log.jsonl", "checkpoints", "best", "last"} <= kept
    endings = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert endings == {"", ".toml", ".json", ".jsonl", ".safetensors"}


def test_a_run_has_its_whole_recipe(trained: tuple[Path, Done]) -> None:
    recipe = Run.open(trained[0]).recipe
    assert recipe["model"]["source_vocab_size"] == recipe["model"]["target_vocab_size"] == LEAST + 6
    assert recipe["training"]["optimizer"] == ADAMW
    assert recipe["model"]["decoder"]["attention"]["kind"] == "additive"


def test_train_for_machines_is_a_json_line_an_event(tmp_path: Path) -> None:
    done = regard("train", *WORDS, "training.steps=3", "--out", str(tmp_path / "run"), "--json")
    assert (done.code, done.err) == (0, "")
    events = [json.loads(line) for line in done.lines]
    assert [event["event"] for event in events] == ["started", "step", "step", "step", "validated", "saved", "ended"]
    assert events[0]["folder"] == str(tmp_path / "run")
    assert events[-1] == {"event": "ended", "step": 3, "why": "done"}


def test_train_without_a_place_makes_one_and_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("gru-additive", "gru-additive-2"):
        assert f"regard evaluate runs/{name}" in regard("train", *WORDS, "training.steps=1").out
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["gru-additive", "gru-additive-2"]


def test_a_finished_run_resumed_is_finished(run: Path) -> None:
    before = end(run)
    done = regard("train", str(run), "--resume")
    assert (done.code, done.err) == (0, "")
    assert "going on at step 60 of 60 steps" in done.out
    assert end(run) == before


def test_a_damaged_checkpoint_is_told_and_made_good(run: Path) -> None:
    before = end(run)
    newest = run / "checkpoints" / "step-60" / "weights.safetensors"
    newest.write_bytes(newest.read_bytes()[:100])
    done = regard("train", str(run), "--resume")
    assert done.code == 0
    assert f"{newest}: damaged: not what was written; falling back to the checkpoint before it\n" in done.out
    assert "going on at step 40 of 60 steps" in done.out
    assert end(run) == before


def wait_for(there: Path, text: str, process: subprocess.Popen[str]) -> None:
    for _ in range(6000):
        if there.is_file() and text in there.read_text():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError(f"{there} never said {text}")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_from_outside_it_saves_says_how_to_go_on_and_ends_the_same(
    number: signal.Signals, tmp_path: Path
) -> None:
    """A real process: it has five seconds."""
    words = [*WORDS, "model.decoder.attention.kind=none", "training.steps=300", "training.batch_tokens=48"]
    words += ["training.validate_every=150", "model.decoder.dropout=0.1"]
    command = [sys.executable, "-m", "regard", "train", *words, "--out", str(tmp_path / "cut")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        wait_for(tmp_path / "cut" / "log.jsonl", '"step": 20', process)
        process.send_signal(number)
        out, err = process.communicate(timeout=5)
    assert process.returncode == 130
    assert err == ""
    assert f"Stopped; all is saved. Go on: regard train {tmp_path / 'cut'} --resume\n" in out
    stopped = Run.open(tmp_path / "cut").checkpoints()[0].step
    assert 20 <= stopped < 300
    torch.set_num_threads(1)
    again = regard("train", str(tmp_path / "cut"), "--resume")
    assert again.code == 0, again.err
    assert f"going on at step {stopped} of 300 steps" in again.out
    assert regard("train", *words, "--out", str(tmp_path / "calm")).code == 0
    assert end(tmp_path / "cut") == end(tmp_path / "calm")


def test_interrupted_before_there_is_anything_to_save_it_says_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translation, "prepare", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    done = regard("train", *WORDS, "--out", str(tmp_path / "run"))
    assert done.code == 130
    assert "Traceback" not in done.err
    assert not (tmp_path / "run").exists()


SEQ2SEQ = [name for name in recipes() if read(name)["model"]["kind"] == "seq2seq"]
SIZES = {"layers": 1, "hidden": 16, "width": 16}


def smaller(table: dict[str, Any], place: str = "model") -> list[str]:
    """Overrides that make every size of a recipe small."""
    inner = [
        word for key, value in table.items() if isinstance(value, dict) for word in smaller(value, f"{place}.{key}")
    ]
    return [f"{place}.{key}={SIZES[key]}" for key in table if key in SIZES] + inner


def test_there_are_recipes_to_train() -> None:
    assert {"gru-additive", "conv-seq2seq", "transformer-base", "seq2seq-lstm", "lstm-general"} <= set(SEQ2SEQ)


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_every_recipe_that_translates_trains_and_translates(name: str, tmp_path: Path) -> None:
    words = [*TOY, "tokens.kind=words", *smaller(read(name)["model"]), "training.steps=2", "training.batch_tokens=256"]
    done = regard("train", name, *words, "--out", str(tmp_path / "run"))
    assert done.code == 0, done.err
    assert "step 2  done" in done.out
    assert len(regard("translate", str(tmp_path / "run"), "a b", "c", "--beam", "2").lines) == 2


# --- evaluate -------------------------------------------------------------------------------------------------------


def test_evaluate_shows_scores_signatures_and_lengths(trained: tuple[Path, Done], run: Path) -> None:
    done = regard("evaluate", str(run))
    assert (done.code, done.err) == (0, "")
    for said in ("pairs", "perplexity", "exact match", "BLEU, lower case", "chrF", "nrefs:1|", "version:2", "1–5"):
        assert said in done.out
    assert (run / "bleu-by-length.png").read_bytes()[:4] == b"\x89PNG"
    assert len((run / "translations.txt").read_text().splitlines()) == 30


def test_evaluate_for_machines(trained: tuple[Path, Done], tmp_path: Path) -> None:
    before = sorted(trained[0].iterdir())
    done = regard("evaluate", str(trained[0]), "--json", "--beam", "1", "--out", str(tmp_path / "new"))
    found = json.loads(done.out)
    assert found["pairs"] == 30
    assert found["by_length"][0]["count"] == 30
    assert "nrefs:1" in found["signatures"]["bleu"]
    assert {"bleu", "chrf", "tokenised", "exact", "loss", "perplexity", "seconds"} <= set(found)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["bleu-by-length.png", "translations.txt"]
    assert sorted(trained[0].iterdir()) == before


def test_runs_are_scored_side_by_side(run: Path, trained: tuple[Path, Done], tmp_path: Path) -> None:
    out = ["--against", str(trained[0]), "--out", str(tmp_path / "new")]
    done = regard("evaluate", str(run), *out)
    assert (done.code, done.err) == (0, "")
    (line,) = (line for line in done.lines if line.startswith("BLEU, 1–5 words"))
    assert line.split()[-1] == line.split()[-2]  # the same run twice
    both = json.loads(regard("evaluate", str(run), *out, "--json").out)
    (other,) = both["against"].values()
    assert other["bleu"] == both["bleu"]


def test_evaluate_on_other_files(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.letters").write_text("a b\nc d\n")
    (tmp_path / "mine.reverse").write_text("b a\nd c\n")
    done = regard("evaluate", str(run), "--on", str(tmp_path / "mine"), "--json")
    assert json.loads(done.out)["pairs"] == 2


def test_a_damaged_best_is_told_beside_the_scores(run: Path) -> None:
    best = run / "checkpoints" / (run / "best").read_text() / "weights.safetensors"
    best.write_bytes(best.read_bytes()[:-1])
    for words in (["evaluate", str(run)], ["translate", str(run), "a b"]):
        done = regard(*words, "--json")
        assert done.code == 0
        assert "damaged: not what was written; falling back" in done.err
        json.loads(done.out)


# --- translate ------------------------------------------------------------------------------------------------------


def test_texts_files_and_pipes_are_translated_alike_and_in_order(trained: tuple[Path, Done], tmp_path: Path) -> None:
    run = str(trained[0])
    texts = ["a b c", "f", "d e", "b a c"]
    spoken = regard("translate", run, *texts)
    assert (spoken.code, spoken.err) == (0, "")
    assert len(spoken.lines) == 4
    assert regard("translate", run, *reversed(texts)).lines == spoken.lines[::-1]
    (tmp_path / "texts").write_bytes("\r\n".join(texts).encode())
    assert regard("translate", run, "--file", str(tmp_path / "texts")).lines == spoken.lines
    assert regard("translate", run, given="\n".join(texts).encode()).lines == spoken.lines
    assert [regard("translate", run, text).lines[0] for text in texts] == spoken.lines


def test_empty_lines_are_kept(trained: tuple[Path, Done]) -> None:
    done = regard("translate", str(trained[0]), given=b"\na b\n\n \nc\n\n")
    full = regard("translate", str(trained[0]), "a b", "c").lines
    assert done.out.split("\n") == ["", full[0], "", "", full[1], "", ""]
    assert regard("translate", str(trained[0]), "").out == "\n"
    assert regard("translate", str(trained[0]), given=b"").out == ""


def test_translations_for_machines(trained: tuple[Path, Done]) -> None:
    done = regard("translate", str(trained[0]), "a b", "", "--json", "--n-best", "3")
    rows = [json.loads(line) for line in done.lines]
    assert [row["source"] for row in rows] == ["a b", ""]
    assert rows[1]["translations"] == [{"text": "", "score": 0.0}]
    scores = [found["score"] for found in rows[0]["translations"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert len({found["text"] for found in rows[0]["translations"]}) == 3


def test_the_n_best_are_shown_with_their_scores(trained: tuple[Path, Done]) -> None:
    run = str(trained[0])
    lines = regard("translate", run, "a b", "c", "--n-best", "2", "--beam", "4").lines
    assert len(lines) == 4
    rows = [line.split("\t") for line in lines]
    assert [float(row[0]) for row in rows[:2]] == sorted((float(row[0]) for row in rows[:2]), reverse=True)
    assert rows[0][1] == regard("translate", run, "a b", "--beam", "4").lines[0]


def test_attention_is_drawn_and_counted(trained: tuple[Path, Done]) -> None:
    run = str(trained[0])
    plain = regard("translate", run, "a b c").lines
    drawn = regard("translate", run, "a b c", "--attention").lines
    assert drawn[0] == plain[0]
    assert any(shade in "".join(drawn) for shade in "░▒▓█")
    seen = json.loads(regard("translate", run, "a b c", "--attention", "--json").out)["attention"]
    assert seen["source"] == ["a", "b", "c", "<end>"]
    assert seen["target"][-1] == "<end>"
    assert [len(row) for row in seen["weights"]] == [4] * len(seen["target"])
    assert [sum(row) for row in seen["weights"]] == pytest.approx([1.0] * len(seen["target"]), abs=1e-4)


def test_any_character_and_any_length_is_taken(trained: tuple[Path, Done]) -> None:
    texts = ["한국어 😀 �", "a. " * 400, "a" * 3000, "a\tb", "<end> <pad>"]
    done = regard("translate", str(trained[0]), "--beam", "1", given="\n".join(texts).encode())
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == len(texts)


def test_whatever_a_model_writes_is_one_line_and_no_order_to_the_terminal(
    trained: tuple[Path, Done], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = "".join(map(chr, [*range(0x21), *range(0x7F, 0xA1), 0x2028, 0x2029, 0x3000])) + "한"
    monkeypatch.setattr(Translator, "translate", lambda _, texts, how: [Translated(t, [written], [0.0]) for t in texts])
    kept = "\xa0\u3000한"
    assert regard("translate", str(run), "a", "b").out == 2 * (" " * 66 + kept[0] + "  " + kept[1:] + "\n")
    assert json.loads(regard("translate", str(run), "a", "--json").out)["translations"][0]["text"] == written
    regard("evaluate", str(run))
    assert len((run / "translations.txt").read_text().splitlines()) == 30


# --- data -----------------------------------------------------------------------------------------------------------


def test_data_list_names_what_there_is() -> None:
    done = regard("data", "list")
    assert (done.code, done.err) == (0, "")
    assert all(kind in done.out for kind in SLOTS[0].entries)
    assert "homeassistant" in done.out
    found = json.loads(regard("data", "list", "--json").out)
    assert set(found["built_in"]) == set(SLOTS[0].entries)
    assert found["registry"]["homeassistant"]["licence"]


# --- what is refused ------------------------------------------------------------------------------------------------


def refused(code: int, said: str, *words: str, given: bytes = b"") -> None:
    """One line or two, the right exit code, no stack trace, nothing on standard output."""
    done = regard(*words, given=given)
    assert (done.code, done.out) == (code, ""), done.err
    assert said in done.err
    assert done.err.startswith("regard: ")
    assert 1 <= len(done.err.splitlines()) <= 2
    assert "Traceback" not in done.err


SENTENCES = [f"ein Satz mit der Zahl {number}" for number in range(40)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for side in ("de", "en"):
        (tmp_path / f"text.{side}").write_text("\n".join(SENTENCES) + "\n")
    return tmp_path


def from_files(folder: Path, *more: str) -> list[str]:
    out = ["training.steps=1", "tokens.kind=words", "model.width=16", "--out", str(folder / "run")]
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
    refused(3, "are not UTF-8 text in the form asked for; is it text?", *from_files(files))
    assert not (files / "run").exists()


def test_a_vocabulary_larger_than_the_text_is_refused(files: Path) -> None:
    words = from_files(files, "tokens.size=5000")
    words[words.index("tokens.kind=words")] = "tokens.joint=true"
    refused(2, "tokens.size: the text gives a vocabulary of", *words)
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
        (["training.stps=3"], "training.stps: unknown; did you mean 'steps'?"),
        (["trainin.steps=3"], "trainin: unknown; did you mean 'training'?"),
        (["training.steps=many"], "training.steps: wanted a valid integer, given 'many'"),
        (["training.epochs=0"], "training: epochs and steps are both 0; say how long to train"),
        (["data.lettrs=3"], "data.lettrs: unknown; did you mean 'letters'?"),
        (["data.letters=99"], "data: letters: 99 is more than the 52 there are"),
        (["decoding.size=0"], "decoding.size"),
        (["training.best_by=f1"], "training.best_by: there is loss, bleu, chrf"),
        (["training.longest"], "wanted key.key=value"),
    ],
)
def test_slips_in_a_recipe_are_told_by_key(words: list[str], said: str, tmp_path: Path) -> None:
    refused(2, said, "train", *WORDS, *words, "--out", str(tmp_path / "run"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_told(tmp_path: Path) -> None:
    refused(2, "training.device: 'cuda' is not there; say auto or cpu", "train", *WORDS, "training.device=cuda")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(find_spec("tensorboard") is not None, reason="it is installed")
def test_a_missing_tensorboard_is_told_before_anything_is_written(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    refused(2, "training.tensorboard: not installed", "train", *WORDS, "training.tensorboard=true", *out)
    assert list(tmp_path.iterdir()) == []


def test_recipes_that_cannot_be_trained_are_told(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    refused(2, "data: missing; say what to learn from", "train", "gru-additive", *out)
    refused(2, "model.kind: language_model cannot be trained yet", "train", "gpt-char", *TOY, *out)
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
        patch.setattr(runs, "save_file", full)
        done = regard("train", str(run), "--resume")
        assert done.code == 1
        assert done.err.splitlines() == [
            f"regard: {run}: the disk is full; what was saved before is whole. Make room, then go on with --resume"
        ]
    assert Run.open(run).checkpoints()[0].step == 40
    assert regard("train", str(run), "--resume").code == 0
    assert end(run) == before


def full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_what_is_not_a_number_is_told_with_its_remedy(tmp_path: Path) -> None:
    """A rate no model survives."""
    done = regard("train", *WORDS, "training.optimizer.rate=1e30", "training.steps=9", "--out", str(tmp_path / "run"))
    assert done.code == 1
    first, second = done.err.splitlines()
    assert re.match(r"regard: step \d: the loss is \S+ and its gradient (nan|inf); nothing was changed by this", first)
    assert "lower training.optimizer.rate" in second
    assert Run.open(tmp_path / "run").checkpoints()


@pytest.mark.parametrize("verb", ["evaluate", "translate"])
def test_damaged_runs_are_refused(verb: str, run: Path, tmp_path: Path) -> None:
    text = ["a"] if verb == "translate" else []
    tokens = (run / "tokens.json").read_text()
    (run / "tokens.json").write_text('{"both": {}}')
    refused(3, "not a vocabulary", verb, str(run), *text)
    (run / "tokens.json").write_text(tokens)
    recipe = (run / "recipe.toml").read_text()
    (run / "recipe.toml").write_text(recipe.replace("width = 16", "width = 24"))
    refused(3, "they do not belong together", verb, str(run), *text)
    (run / "recipe.toml").write_text(recipe)
    for checkpoint in Run.open(run).checkpoints():
        (checkpoint.folder / "manifest.json").write_text("{}")
    done = regard(verb, str(run), *text)
    assert done.code == 3
    assert "no whole checkpoint in it" in done.err.splitlines()[-1]


def test_weights_that_are_a_pickle_are_refused_and_not_opened(run: Path, tmp_path: Path) -> None:
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
        refused(3, f"{FILES[0]}: not a safetensors file", *words)
    assert not (tmp_path / "sprung").exists()


def test_what_cannot_be_read_or_written_is_told(run: Path, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes("a b\nä\n".encode("latin-1"))
    refused(3, "latin: line 2: not UTF-8", "translate", str(run), "--file", str(tmp_path / "latin"))
    refused(3, "the pipe: line 1: not UTF-8", "translate", str(run), given=b"\xff\xfe\n")
    refused(3, "No such file", "translate", str(run), "--file", str(tmp_path / "none"))
    refused(3, "none.letters: no such file", "evaluate", str(run), "--on", str(tmp_path / "none"))
    refused(1, "latin: File exists", "evaluate", str(run), "--out", str(tmp_path / "latin"))


def test_a_model_without_attention_has_none_to_draw(tmp_path: Path) -> None:
    words = ["seq2seq-lstm", *TOY, *SMALL, "training.steps=1", "model.encoder.layers=1", "model.decoder.layers=1"]
    assert regard("train", *words, "--out", str(tmp_path / "run")).code == 0
    refused(3, "this model has no attention to the source", "translate", str(tmp_path / "run"), "a", "--attention")
