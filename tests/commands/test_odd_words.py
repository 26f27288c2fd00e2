"""Odd types and odd names on the command line: one line and the right code, and no name is read as an order."""

import json
import shlex
import shutil
from pathlib import Path

import pytest
from spoken import TOY, WORDS, Done, refused, regard

ODD = {
    "a number for a file": (2, ["train", "gru-additive", "data.train=2024"], "given 2024"),
    "a truth for a file": (2, ["train", "gru-additive", "data.train=true"], "given true"),
    "a list for a file": (3, ["train", "gru-additive", 'data.train=["a"]'], "a.source: no such file"),
    "a table for a file": (2, ["train", "gru-additive", "data.train={a=1}"], "data.train"),
    "a huge seed": (2, ["train", *WORDS, "training.seed=99999999999999999999999"], "training.seed: wanted"),
    "a negative seed": (2, ["train", *WORDS, "training.seed=-1"], "training.seed: wanted"),
    "a huge batch": (2, ["train", *WORDS, "task.batch_tokens=1e20"], "task.batch_tokens: wanted"),
    "no number": (2, ["train", *WORDS, "training.ema=nan"], "training.ema"),
    "a word for steps": (2, ["train", *WORDS, "training.steps=many"], "training.steps: wanted"),
    "no equals sign": (2, ["train", "gru-additive", "training.steps"], "wanted key.key=value"),
    "brackets for a recipe": (2, ["describe", "[bold]x[/]"], "[bold]x[/]: no such recipe"),
    "brackets for a key": (2, ["describe", "gpt2", "model.[red]=1"], "model.[red]"),
    "brackets for a slot": (2, ["menu", "[/x]"], "[/x]: no such slot\nthe slots are task,"),
    "brackets for a run": (3, ["evaluate", "r[/x]"], "r[/x]"),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_words_are_answered_in_a_line_or_two(odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, words, said = ODD[odd]
    monkeypatch.chdir(tmp_path)
    refused(code, said, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_beam_that_fits_no_memory_is_refused(trained: tuple[Path, Done]) -> None:
    for verb in (["translate", str(trained[0]), "a b"], ["evaluate", str(trained[0])]):
        refused(3, "--beam: wanted a whole number from 0 to 4,096, given 100000", *verb, "--beam", "100000")


def test_a_slot_that_is_not_there_is_answered_with_all_there_are() -> None:
    slots = [slot["name"] for slot in json.loads(regard("menu", "--json").out)["slots"]]
    done = regard("menu", "foo")
    assert done.err == f"regard: foo: no such slot\nthe slots are {', '.join(slots)}\n"


def test_the_menu_of_training_is_in_words() -> None:
    shown = regard("menu", "training").out
    for raw in ("Annotated", "Literal", "Part[", "<class", "typing.", "FieldInfo", "Doc("):
        assert raw not in shown
    assert "steps  a whole number ≥ 0 and ≤ 1000000000000; default 0" in shown


@pytest.mark.parametrize("name", ["r[/x]", "[bold]r", "r :smile: [red]"])
def test_names_with_brackets_are_names(name: str, tmp_path: Path, trained: tuple[Path, Done]) -> None:
    folder = tmp_path / name
    shutil.copytree(trained[0], folder)
    for words in (["translate", str(folder), "[bold] a"], ["runs", "show", str(folder)], ["describe", str(folder)]):
        done = regard(*words)
        assert (done.code, done.err) == (0, ""), done
    assert name.replace(" ", "") in "".join(regard("runs", "show", str(folder)).out.split())
    scored = regard("evaluate", str(folder))
    assert scored.code == 0
    assert f"Look at {folder}/" in scored.out
    packed = regard("pack", str(folder), "--out", f"{folder}-packed")
    assert packed.out.startswith(f"{folder}-packed: step ")
    assert regard("runs", "remove", str(folder), "--yes").out.startswith(f"removed {folder}, ")


def test_a_run_with_brackets_in_its_name_is_trained_and_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "a[/b]"
    steps = ["training.steps=2", "training.checkpoints.validate_every=2"]
    done = regard("train", *WORDS, *steps, "--out", str(folder))
    assert (done.code, done.err) == (0, "")
    assert f"in {folder}" in done.out
    assert f"regard evaluate {shlex.quote(str(folder))}" in done.out
    assert regard("train", str(folder), "--resume", "training.steps=3").code == 0


def test_no_text_of_a_command_is_written_in_markup() -> None:
    """Names of files and what models write may look like markup; so none is read, and styles are given beside texts."""
    for file in (Path(__file__).parents[2] / "src" / "regard" / "commands").glob("*.py"):
        assert "[/]" not in file.read_text(), f"{file.name}: say line(…, (text, 'bold')) instead"


def test_data_with_brackets_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"[bold] {word} [/x]\t:smile: {word}\n" for word in "abcdefgh" * 20)
    Path("d[x].tsv").write_text(rows)
    words = [word for word in WORDS if word not in TOY]
    columns = ["data.train=d[x].tsv", "data.source=1", "data.target=2"]
    done = regard("train", *words, *columns, "training.steps=2", "--out", "run")
    assert (done.code, done.err) == (0, ""), done
    done = regard("translate", "run", "[bold] a [/x]", "--attention")
    assert (done.code, done.err) in ((0, ""), (0, "text 1: the translation was cut off at its length limit\n"))


@pytest.mark.parametrize("device", ["meta", "privateuseone", "xpu"])
def test_a_device_that_computes_nothing_is_refused(device: str, trained: tuple[Path, Done], tmp_path: Path) -> None:
    refused(3, f"'{device}': no such device here", "translate", str(trained[0]), "a", "--device", device)
    said = f"training.machine.device: '{device}' is not there"
    refused(2, said, "train", *WORDS, f"training.machine.device={device}", "--out", str(tmp_path / "new"))
