"""Runs that nobody meant to write: nothing in them is lost, waited for, or shown as it stands."""

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from spoken import WORDS, refused, regard

from regard.run import Run

ESCAPE = "\x1b[31m"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    words = ["training.steps=6", "training.checkpoints.save_every=2", "training.checkpoints.keep=2"]
    assert regard("train", *WORDS, *words, "--out", str(folder)).code == 0
    return folder


def noted(run: Path, **facts: Any) -> None:
    table = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(table | facts))


def test_damaged_checkpoints_cost_no_good_one(run: Path) -> None:
    """Those that are passed over are newer than what is saved next, and must not push it out."""
    for step in (20, 30):
        folder = run / "checkpoints" / f"step-{step}"
        folder.mkdir()
        (folder / "manifest.json").write_text("{}")
    done = regard("train", str(run), "--resume", "training.steps=8")
    assert done.code == 0, done.err
    assert (run / "last").read_text() == "step-8"
    assert (run / "checkpoints" / "step-8" / "weights.safetensors").is_file()
    assert regard("translate", str(run), "a b").code == 0


def test_what_is_called_a_checkpoint_and_is_none_stays_where_it_is(run: Path) -> None:
    (run / "checkpoints" / "step-3").write_text("mine")
    (run / "checkpoints" / "step-99").symlink_to(run)
    assert regard("train", str(run), "--resume", "training.steps=8").code == 0
    assert (run / "checkpoints" / "step-3").read_text() == "mine"
    assert Run.open(run).checkpoints()[0].step == 8


def test_a_pipe_in_place_of_a_file_is_not_waited_for(run: Path, tmp_path: Path) -> None:
    (run / "lock").unlink(missing_ok=True)
    os.mkfifo(run / "lock")
    assert regard("runs", str(run)).code == 0
    assert regard("runs", "show", str(run)).code == 0
    refused(3, "lock: not a plain file", "train", str(run), "--resume", "training.steps=8")
    new = tmp_path / "new"
    new.mkdir()
    os.mkfifo(new / "run.json")
    assert regard("train", *WORDS, "training.steps=1", "--out", str(new)).code == 0  # it is replaced, never read


@pytest.mark.parametrize(
    "entry",
    ['{"step": "x"}', '{"step": 2, "seconds": "x"}', '{"step": 2, "loss": 1' + "0" * 400 + "}", "[]", '{"step": null}'],
)
def test_lines_of_a_log_that_no_training_wrote_are_passed_over(run: Path, entry: str) -> None:
    with (run / "log.jsonl").open("a") as log:
        log.write(entry + "\n")
    assert regard("runs", "show", str(run), "--out", str(run.parent / "curve.png")).code == 0
    assert regard("train", str(run), "--resume", "training.steps=8").code == 0


@pytest.mark.parametrize(
    "facts",
    [
        *({"commands": [1, None, {}]}, {"parameters": 10**400}, {"steps": -1}, {"commands": "regard"}),
        *({"steps": True}, {"parameters": False}, {"steps": 2.0}),
    ],
    ids=str,
)
def test_facts_that_cannot_be_are_damage(run: Path, facts: dict[str, Any]) -> None:
    noted(run, **facts)
    refused(3, f"run.json: damaged: {next(iter(facts))} is", "runs", "show", str(run))


@pytest.mark.parametrize(
    "one",
    [
        {"scores": 3, "how": [], "on": "", "split": "test", "step": 6},
        {"scores": {"bleu": 10**400}, "how": [], "on": "", "split": "test", "step": 6},
        {"scores": {}, "how": 4, "on": "", "split": "test", "step": 6},
        {"scores": {}, "how": [None], "on": [], "split": "test", "step": 6},
        {},
    ],
    ids=str,
)
def test_evaluations_that_nobody_made_are_passed_over(run: Path, tmp_path: Path, one: dict[str, Any]) -> None:
    (run / "evaluation.json").write_text(json.dumps({"evaluations": [one]}))
    assert regard("runs", "show", str(run)).code == 0
    assert regard("pack", str(run), "--out", str(tmp_path / "packed")).code == 0


def test_names_give_no_orders_to_a_terminal(run: Path) -> None:
    odd = run.with_name(f"run{ESCAPE}")
    run.rename(odd)
    said = [regard("runs", "show", str(odd)), regard("pack", str(odd), "--out", str(odd.with_name(f"p{ESCAPE}")))]
    said += [regard("translate", str(odd.with_name(f"none{ESCAPE}")), "a"), regard("evaluate", str(odd))]
    assert not any("\x1b" in one.out + one.err for one in said)


def test_a_card_keeps_a_strangers_words_within_their_lines(run: Path, tmp_path: Path) -> None:
    commands = [f"regard train {ESCAPE}\u202e\n# owned", "```", "regard '````' x"]
    noted(run, commands=commands, made=f"then{ESCAPE}\n# owned", versions={f"torch{ESCAPE}\n# owned": f"{ESCAPE}2"})
    assert regard("pack", str(run), "--out", str(tmp_path / "packed")).code == 0
    card = (tmp_path / "packed" / "README.md").read_text()
    assert not {"\x1b", "\u202e"} & set(card)
    assert not any(line.startswith("# owned") for line in card.splitlines())
    made = card.partition("## Made\n\n")[2].splitlines()
    assert made[0] == made[4] == "`````"  # no command closes the block


def test_a_packed_run_knows_no_path_of_where_it_began(run: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    words = ["training.steps=2", "training.optimizer.learning_rate=0.001"]
    assert regard("train", f"from={run}", *words, "--out", str(begun)).code == 0
    Run.open(begun).keep_scores({"bleu": 1.0}, step=1, on=str(tmp_path / "old.tsv"))
    Run.open(begun).keep_scores({"bleu": 2.0}, step=Run.open(begun).checkpoints()[0].step, on=str(tmp_path / "new.tsv"))
    assert regard("pack", str(begun), "--out", str(tmp_path / "packed")).code == 0
    texts = [path.read_text() for path in (tmp_path / "packed").glob("*") if path.suffix in (".json", ".toml", ".md")]
    assert not any(str(tmp_path) in text for text in texts)
    kept = json.loads((tmp_path / "packed" / "evaluation.json").read_text())["evaluations"]
    assert [one["on"] for one in kept] == ["new.tsv"]  # of the weights that are handed on, and of no others
    assert torch.is_tensor(Run.open(tmp_path / "packed").checkpoints()[0].weights()["head.weight"])


def test_no_link_leads_out_of_a_run(run: Path, tmp_path: Path) -> None:
    """Nothing is read, written or deleted behind one, wherever it stands."""
    other = tmp_path / "other"
    shutil.copytree(run / "checkpoints", other)
    (other / "precious.part").mkdir()
    (other / "mine").write_text("mine")
    before = sorted(path.name for path in other.rglob("*"))
    (run / "log.jsonl").unlink()
    (run / "log.jsonl").symlink_to(other / "mine")
    assert regard("train", str(run), "--resume", "training.steps=8").code != 0
    assert (other / "mine").read_text() == "mine"
    (run / "log.jsonl").unlink()
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").symlink_to(other)
    for words in (["translate", str(run), "a b"], ["train", str(run), "--resume", "training.steps=8"]):
        refused(3, "checkpoints: a link", *words)
    assert "damaged" in regard("runs", str(run)).out
    assert sorted(path.name for path in other.rglob("*")) == before


def test_a_checkpoint_whose_files_are_links_is_passed_over(run: Path, tmp_path: Path) -> None:
    newest = Run.open(run).checkpoints()[0].folder
    for name in ("weights.safetensors", "manifest.json"):
        shutil.move(newest / name, tmp_path / name)
        (newest / name).symlink_to(tmp_path / name)
    (run / "best").unlink()
    done = regard("translate", str(run), "a b")
    assert done.code == 0
    assert "a link, no plain file; falling back" in " ".join(done.err.split())


@pytest.mark.parametrize("name", ["weights.safetensors", "manifest.json"])
def test_pipes_among_the_tensors_are_not_waited_for(run: Path, name: str) -> None:
    for checkpoint in Run.open(run).checkpoints():
        (checkpoint.folder / name).unlink()
        os.mkfifo(checkpoint.folder / name)
    assert regard("translate", str(run), "a b").code == 3


def test_a_log_of_one_endless_line_takes_no_memory(run: Path) -> None:
    with (run / "log.jsonl").open("a") as log:
        log.write('{"step": 6, "x": "' + "y" * (1 << 24))
    assert all("x" not in entry for entry in Run.open(run).history())
    os.truncate(run / "log.jsonl", 1 << 34)  # a hole: nothing is written
    assert "damaged" in regard("runs", str(run)).out


STRANGE = f"[/x][bold]{ESCAPE}\x9b"


def test_nothing_from_outside_is_taken_for_markup_or_an_order(run: Path, tmp_path: Path) -> None:
    """A run, its recipe, its words and its data may be called anything."""
    odd = run.with_name(f"[x]{STRANGE}".replace("/", ""))
    run.rename(odd)
    table = tomllib.loads((odd / "recipe.toml").read_text()) | {"name": STRANGE, "about": STRANGE}
    (odd / "recipe.toml").write_text(tomli_w.dumps(table))
    noted(odd, commands=[STRANGE], made=STRANGE, versions={STRANGE: STRANGE})
    (tmp_path / "data.tsv").write_text(f"{STRANGE}\t{STRANGE}\na b\tc d\n")
    said = [
        regard("runs", str(odd.parent)),
        regard("runs", "show", str(odd)),
        regard("describe", str(odd)),
        regard("evaluate", str(odd)),
        regard("evaluate", str(odd), "--on", str(tmp_path / "data.tsv")),
        regard("translate", str(odd), "--attention", f"a {STRANGE} b"),
        regard("train", str(odd), f"model.{STRANGE}=1", "--out", str(tmp_path / "new")),
        regard("train", f"{STRANGE}", "--out", str(tmp_path / "new")),
        regard("train", *WORDS, f"data.train={tmp_path}/{STRANGE}", "data.kind=files", "--out", str(tmp_path / "new")),
        regard("menu", STRANGE),
        regard("pack", str(odd), "--out", str(tmp_path / f"packed{ESCAPE}")),
    ]
    for one in said:
        assert "Traceback" not in one.err
        assert "a bug in" not in one.err
        assert not {"\x1b", "\x9b"} & set(one.out + one.err)
    assert [one.code for one in said[:6]] == [0] * 6, [one.err for one in said[:6]]


def test_halves_of_characters_are_kept_as_they_are(run: Path, tmp_path: Path) -> None:
    noted(run, made="\ud800", more="\udce9")
    one = {"scores": {"bleu": 1.0}, "how": [], "on": "\ud800", "split": "test", "step": 6}
    (run / "evaluation.json").write_text(json.dumps({"evaluations": [one]}))
    assert regard("evaluate", str(run)).code == 0
    assert regard("pack", str(run), "--out", str(tmp_path / "packed")).code == 0
    assert regard("train", str(run), "--resume", "training.steps=8").code == 0
    assert json.loads((run / "run.json").read_text())["made"] == "\ud800"


def test_files_of_a_run_are_read_once_and_bounded_together(run: Path) -> None:
    files = json.loads((run / "run.json").read_text())["files"]
    noted(run, files=[*files, files[0]])
    refused(3, "names of files that are none", "translate", str(run), "a")
    for name in ("one", "two"):
        with (run / name).open("wb") as file:
            file.truncate(200 << 20)
    noted(run, files=[*files, "one", "two"])
    refused(3, "two: larger than it should be", "translate", str(run), "a")


@pytest.mark.parametrize("name", ["run.json", "evaluation.json", "tokenizer.json"])
def test_a_file_of_empty_tables_is_not_made_into_tables(name: str, run: Path) -> None:
    """Each takes thirty times the memory of what is written."""
    whole = json.loads((run / name).read_text()) if (run / name).exists() else {}
    (run / name).write_text(json.dumps(whole | {"more": 0})[:-2] + "[" + "{}," * 3_000_000 + "{}]}")
    assert regard("runs", "show", str(run)).code == (3 if name == "run.json" else 0)
    done = regard("translate", str(run), "a")
    assert done.code == (0 if name == "evaluation.json" else 3)


def test_a_log_of_strange_lines_is_passed_over_as_it_is_read(run: Path) -> None:
    kept = len(Run.open(run).history())
    with (run / "log.jsonl").open("a") as log:
        log.write('{"step": 1, "more": {}}\n{"step": 1, "more": [1]}\n{"step": 3, "data": {}}\n')
        log.write('{"step": 0, "data": [' + "{}," * 70_000 + "{}]}\n")
    assert len(Run.open(run).history()) == kept
    with (run / "log.jsonl").open("a") as log:
        log.write('{"step": 1}\n' * 600_000)
    assert len(Run.open(run).history()) < 500_001
