"""regard look: pictures, numbers and heads of runs of every kind, and what it refuses."""

import json
import os
import re
from pathlib import Path

import pytest
from spoken import SMALL, TOY, Done, refused, regard

LAST = ["training.steps=2", "training.checkpoints.validate_every=2", "-q"]
TEXT = "".join(f"The fox number {n} says {n * n}: yes, no and perhaps.\n" for n in range(80))
LANGUAGE = """
[task]
kind = "language"
context = 32
batch_tokens = 128
[data]
train = "{text}"
[tokenizer]
kind = "characters"
[model]
kind = "language_model"
width = 16
decoder = { kind = "transformer", layers = 1, attention = { heads = 2 } }
[training]
steps = 2
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A Transformer, a fixed vector, and a language model, hardly trained."""
    folder = tmp_path_factory.mktemp("looked")
    heads = ["model.encoder.layers=1", "model.decoder.layers=1", "model.encoder.attention.heads=2"]
    heads += ["model.decoder.attention.heads=2", "model.decoder.cross.heads=2"]
    (folder / "text.txt").write_text(TEXT)
    (folder / "fox.toml").write_text(LANGUAGE.replace("{text}", str(folder / "text.txt")))
    made = {
        "transformer": ["transformer-tiny", *TOY, *SMALL, *heads],
        "fixed": ["gru-additive", *TOY, *SMALL, "model.decoder.attention.kind=none"],
        "language": [str(folder / "fox.toml")],
    }
    for name, words in made.items():
        done = regard("train", *words, *LAST, "--out", str(folder / name))
        assert done.code == 0, done.err
    return {name: str(folder / name) for name in made}


def test_an_alignment_is_shown_and_drawn(trained: tuple[Path, Done], tmp_path: Path) -> None:
    run = str(trained[0])
    done = regard("look", run, "a b c")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "alignment"
    assert any(shade in done.out for shade in "░▒▓█")
    assert "weights exact to" in done.out
    assert f"written: {regard('translate', run, 'a b c').lines[0]}" in done.out
    for name in ("x.png", "x.svg", "x.csv", "x.json"):
        done = regard("look", run, "a b c", "--out", str(tmp_path / name))
        assert done.lines == [f"Look at {tmp_path / name}."]
        assert (tmp_path / name).stat().st_size > 100
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["task"] == "translation"
    assert found["sides"]["source"]["words"] == ["a", "b", "c", "<eos>"]
    given = regard("look", run, "a b c", "--target", "c b", "--json")
    assert json.loads(given.out)["sides"]["outputs"]["words"] == ["c", "b", "<eos>"]
    assert json.loads(regard("look", run, "--json", given=b"a b c\n").out)["read"] == "a b c"


def test_heads_are_measured(runs: dict[str, str], tmp_path: Path) -> None:
    run = runs["transformer"]
    done = regard("look", run, "a b c", "--heads")
    assert done.code == 0
    assert done.lines[0].split() == ["head", "role", "share", "bits", "away", "loss", "changed", "most", "alike"]
    assert len([line for line in done.lines if line.startswith(("encoder.", "masked.", "cross."))]) == 6
    found = json.loads(regard("look", run, "a b c", "--heads", "--json").out)
    assert {head["name"] for head in found["heads"]} >= {"encoder.0.0", "masked.0.1", "cross.0.1"}
    assert regard("look", run, "a b c", "--heads", "-o", str(tmp_path / "h.csv")).code == 0
    refused(3, "numbers about heads are written as .csv or .json", "look", run, "a", "--heads", "-o", "x.png")


def test_a_head_is_switched_off(runs: dict[str, str]) -> None:
    run = runs["transformer"]
    done = regard("look", run, "a b c", "--off", "cross.0.1", "--off", "masked.0")
    assert done.lines[0] == "off: cross.0.1, masked.0"
    assert done.lines[1].endswith(" nats per token")
    assert re.fullmatch(
        r"another token becomes the likeliest at \d+ of \d+ steps, given the same beginning", done.lines[2]
    )
    changes = [line for line in done.lines if line.startswith("these: ")]
    assert bool(changes) == (" at 0 of " not in done.lines[2])
    assert done.lines[-1].startswith(("without: ", "the answer stays: "))
    found = json.loads(regard("look", run, "a b c", "--off", "cross", "--json").out)["without"]
    assert set(found) == {"heads", "loss", "changed", "tokens", "answer", "changes"}


def test_a_language_model_is_looked_at(runs: dict[str, str], tmp_path: Path) -> None:
    run = runs["language"]
    assert "masked.0.1" in regard("look", run, "The fox", "--view", "heads").out
    done = regard(
        "look", run, "The fox", "--view", "masked.0.1", "--subwords", "--rows", "2:5", "-o", str(tmp_path / "x.csv")
    )
    assert done.code == 0
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 4
    done = regard("look", run, "The fox", "--view", "masked.0.1", "--rows", "6:99")
    assert "--rows 6:99: there are 8 rows, so 6:8 is shown" in done.err  # seven letters, and what begins them
    hint = "--heads says what each of 2 heads does, --view masked.0.0 shows one"
    assert hint in regard("look", run, "The fox").out
    assert hint not in regard("look", run, "The fox", "--view", "masked").out
    found = json.loads(regard("look", run, "The", "--tokens", "4", "--json").out)
    assert len(found["sides"]["inputs"]["tokens"]) == 1 + 3 + 4
    assert json.loads(regard("look", run, "--tokens", "4", "--json").out)["read"] == ""
    refused(3, "and the model takes in 32 at most; shorten it", "look", run, "The fox says " * 9)
    refused(3, "a language model reads one text", "look", run, "a", "--target", "b")


def test_a_run_without_attention_is_shown_by_influence(runs: dict[str, str]) -> None:
    done = regard("look", runs["fixed"], "a b c")
    assert done.code == 0
    assert done.lines[0] == "this model has no attention; what counted is told by gradients (influence.source)"
    refused(
        3, "this model has no attention, so no heads; --view influence.source", "look", runs["fixed"], "a", "--heads"
    )
    refused(3, "this model has no attention; influence.source", "look", runs["fixed"], "a", "--view", "heads")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["a", "--view", "cross.0.7"], 3, "cross.0.7: cross.0 has 2 heads, counted from 0"),
        (["a", "--view", "nonsense"], 3, "nonsense: nothing here has this name; there are encoder.0.0"),
        (["a", "--out", "x.txt"], 3, "x.txt: what was looked at is written as .png, .svg, .pdf, .csv, .json or .html"),
        (["a", "--rows", "x"], 3, "rows: wanted START:STOP"),
        (["a", "--off", "cross.9"], 3, "cross.9: cross has 1 layer, counted from 0"),
        (["a", "--tokens", "3"], 3, "a translator writes as much as the text asks for; leave out --tokens"),
        (["a", "--tokens", "-1"], 2, "--tokens"),
        (["  "], 3, "nothing to look at: the text is empty"),
        (["a", "--heads", "--off", "cross"], 3, "--off and --heads: ask for one of them at a time"),
        (["a", "--off", "cross", "-o", "x.json"], 3, "--off and --out: what is written without a head is said here"),
        (["a", "--file", "b"], 3, "say what to look at in one way, not in two"),
        (["--file", "nowhere"], 3, "nowhere: no such file"),
        (["a", "b"], 2, "unexpected extra argument"),
    ],
)
def test_what_cannot_be_done_is_said(runs: dict[str, str], words: list[str], code: int, said: str) -> None:
    refused(code, said, "look", runs["transformer"], *words)


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever may do everything is refused nothing")
def test_where_nothing_can_be_written_it_is_said(runs: dict[str, str], tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    refused(3, "nothing can be written there", "look", runs["transformer"], "a", "-o", str(tmp_path / "x.png"))


@pytest.mark.parametrize("name", ["x.png", "x.json"])
def test_below_a_file_nothing_can_be_written(tmp_path: Path, name: str) -> None:
    """Said before anything is loaded: there is not even a run."""
    (tmp_path / "file").write_text("")
    refused(3, "nothing can be written there", "look", "nowhere", "a", "-o", str(tmp_path / "file" / "deep" / name))
    refused(3, "/proc/x.png: nothing can be written there", "look", "nowhere", "a", "-o", "/proc/x.png")
    refused(3, "nowhere: not a run folder", "look", "nowhere", "a")
