"""A run is used from anywhere, without its data and its optimizer's state; old and changed ones are refused."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from spoken import TOY, WORDS, Done, refused, regard

from regard.disk import checksum
from regard.errors import InputError, RecipeError
from regard.run import STATE, WEIGHTS, Run
from regard.trained import open_run
from regard.verbs import align, translate

PAIRS = [(f"a b {letter}", f"{letter} b a") for letter in "abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Trained on files named from their own folder; then files and state are deleted and the run is elsewhere."""
    home = tmp_path_factory.mktemp("home")
    (home / "mine.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS * 3))
    words = [word for word in WORDS if word not in TOY]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        steps = ["data.train=mine.tsv", "data.valid_share=0.2", "training.steps=20"]
        assert regard("train", *words, *steps, "--out", "run").code == 0
        before = regard("translate", "run", "a b c", "b").lines
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "other"
    shutil.move(home / "run", elsewhere)
    shutil.rmtree(home)
    for checkpoint in Run.open(elsewhere).checkpoints():
        (checkpoint.folder / STATE).unlink()
    return elsewhere, before


@pytest.fixture
def there(moved: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder it is in now, and we with it."""
    monkeypatch.chdir(moved[0].parent)
    return moved[0]


def test_it_translates_as_it_did_at_home(moved: tuple[Path, list[str]], there: Path) -> None:
    for more in ([], ["--shortlist"], ["--int8", "--beam", "1"]):
        done = regard("translate", "other", "a b c", "b", *more)
        assert (done.code, done.err) == (0, "")
        assert more or done.lines == moved[1]
    drawn = regard("translate", "other", "a b c", "--attention")
    assert (drawn.code, drawn.lines[0]) == (0, moved[1][0])


def test_it_is_evaluated_on_other_files_and_says_what_is_missing_of_its_own(there: Path, tmp_path: Path) -> None:
    (tmp_path / "new.tsv").write_text("a b c\tc b a\nb\tb\n")
    done = regard("evaluate", "other", "--on", str(tmp_path / "new.tsv"), "--out", str(tmp_path), "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["pairs"] == 2
    refused(3, "mine.tsv: no such file", "evaluate", "other")


def test_it_is_described(there: Path) -> None:
    done = regard("describe", "other")
    assert (done.code, done.err) == (0, "")
    best = int((there / "best").read_text().removeprefix("step-"))
    assert f"a run for translation, best at step {best}  loss" in done.out
    found = json.loads(regard("describe", "other", "--json").out)
    assert (found["run"]["task"], found["run"]["step"]) == ("translation", best)
    assert found["run"]["data"]["train"].endswith("mine.tsv")
    assert set(found["run"]["scores"]) == {"loss", "bleu", "chrf"}
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in open_run(there).model.parameters())
    assert found["parameters"] == size


def test_it_cannot_be_gone_on_with_and_says_why(there: Path) -> None:
    """Its optimizer's state is missing, which is said before anybody asks for its data."""
    refused(3, "other: weights without the state of training (state.safetensors); begin", "train", "other", "--resume")


def test_without_its_state_a_run_is_used_but_not_gone_on_with(run: Path) -> None:
    before = regard("translate", str(run), "a b").out
    for checkpoint in Run.open(run).checkpoints():
        (checkpoint.folder / STATE).unlink()
    assert regard("translate", str(run), "a b").out == before
    refused(3, f"begin a new run from its weights: from={run}", "train", str(run), "--resume")


def test_the_same_in_python(there: Path, moved: tuple[Path, list[str]]) -> None:
    trained = open_run("other")
    assert [found.text for found in translate(trained, ["a b c", "b"])] == moved[1]
    assert translate("other", "a b c")[0].text == moved[1][0]
    assert [len(found.texts) for found in translate(trained, ["a b c"], beam=4, n_best=3)] == [3]
    seen = align(trained, "b a")
    assert (seen.source, seen.target[-1]) == (["b", "a", "<eos>"], "<eos>")
    assert align(trained, "a", "b a").target == ["b", "a", "<eos>"]


@pytest.mark.parametrize(
    "override",
    ["model.width=8", "model.kind=language_model", "tokenizer.kind=bpe", "data.kind=toy", "task.max_length=3"],
)
def test_what_a_model_is_cannot_be_changed(override: str, there: Path) -> None:
    key = override.partition("=")[0]
    with pytest.raises(RecipeError, match=rf"^{key}: cannot be changed once a run is trained; what can is decoding, "):
        open_run("other", override)
    assert open_run("other", "decoding.beam_size=2", "task.shortlist=true").answerer.search.beam_size == 2


VERBS = [["evaluate"], ["translate", "a"], ["describe"], ["train", "--resume"]]

OLD = "{}: a run from before runs had a format number (no run.json); use it with the Regard that made it, or train it"


def spoken(verb: list[str], folder: Path) -> list[str]:
    return [verb[0], str(folder), *verb[1:]]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_run_from_before_the_format_number_is_refused_with_what_to_do(verb: list[str], run: Path) -> None:
    (run / "run.json").rename(run / "facts.json")
    refused(3, OLD.format(run), *spoken(verb, run))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_and_not_for_the_old_names_of_its_keys(verb: list[str], run: Path) -> None:
    (run / "run.json").rename(run / "facts.json")
    recipe = (run / "recipe.toml").read_text().replace("[tokenizer]", "[tokens]")
    (run / "recipe.toml").write_text(recipe.replace("vocab_size", "vocabulary").replace("label_smoothing", "smoothing"))
    refused(3, OLD.format(run), *spoken(verb, run))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_run_of_a_later_format_is_refused(verb: list[str], run: Path) -> None:
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | {"format": 99}))
    refused(3, f"{run}: a run of format 99, and this Regard knows 1", *spoken(verb, run))


def spoil(folder: Path) -> None:
    """Weights that are no numbers, in checkpoints that are whole."""
    for checkpoint in Run.open(folder).checkpoints():
        file, manifest = checkpoint.folder / WEIGHTS, checkpoint.folder / "manifest.json"
        save_file({name: torch.full_like(tensor, torch.nan) for name, tensor in load_file(file).items()}, file)
        table = json.loads(manifest.read_text())
        table["sha256"][WEIGHTS] = checksum(file)
        manifest.write_text(json.dumps(table))


NO_NUMBERS = [
    ["evaluate"],
    ["evaluate", "--beam", "1"],
    ["translate", "a b"],
    ["translate", "a b", "--beam", "5"],
    ["translate", "a b", "--attention"],
    ["translate", "a b", "--int8"],
]


@pytest.mark.parametrize("words", NO_NUMBERS, ids="".join)
def test_weights_that_are_no_numbers_are_refused_by_name(words: list[str], run: Path) -> None:
    spoil(run)
    step = (run / "best").read_text().removeprefix("step-")
    named = (
        f"{run}: decoder.attention.key.bias holds no numbers (NaN or infinite) at step {step}: the training diverged"
    )
    refused(3, named, words[0], str(run), *words[1:])
    with pytest.raises(InputError, match="holds no numbers"):
        align(run, "a b")


def test_a_run_says_which_files_its_task_keeps(trained: tuple[Path, Done]) -> None:
    facts = json.loads((trained[0] / "run.json").read_text())
    assert facts["files"] == ["shortlist.safetensors", "tokenizer.json", "translation.json"]
    assert all((trained[0] / name).is_file() for name in facts["files"])
