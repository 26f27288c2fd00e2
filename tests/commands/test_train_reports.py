"""What regard train says of its data and writes into its log; files that go meanwhile are not missed."""

import json
from pathlib import Path

import pytest
from spoken import TOY, WORDS, regard

from regard.commands.reporter import Reporter
from regard.training.events import Ended, Started, Validated
from regard.training.train import training

QUICK = [word for word in WORDS if word not in TOY]


@pytest.fixture
def faulty(tmp_path: Path) -> list[str]:
    """Forty good pairs, one too long, one half empty, one that is no pair; of the held-out ones one too long."""
    good = [f"a {letter}\t{letter} a" for letter in "abcdefghijklmnopqrst"] * 2
    lines = [*good[:4], "a b c d e f\ta", "a\t", "no tab", *good[4:]]
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "valid.tsv").write_text("a z\tz a\nx y z x y z\tx\n")
    files = [f"data.{split}={tmp_path / split}.tsv" for split in ("train", "valid")]
    return [*QUICK, *files, "task.max_length=4", "training.steps=1", "--out", str(tmp_path / "run")]


def test_what_was_left_out_is_printed_with_its_lines(faulty: list[str]) -> None:
    done = regard("train", *faulty)
    assert (done.code, done.err) == (0, "")
    wrong = "3 dropped: 1 empty (line 6), 1 with too few or too many columns (line 7), 1 over 4 tokens (line 5)"
    assert f"train: 43 read from train.tsv, {wrong}; 40 left; 100 % of sources are one sentence\n" in done.out
    assert "valid: 2 read from valid.tsv, 1 dropped: 1 over 4 tokens (line 2); 1 left; scores of so few" in done.out
    assert done.out.index("dropped") < done.out.index("parameters, training for")


def test_and_the_same_for_machines(faulty: list[str]) -> None:
    done = regard("train", *faulty, "--json")
    assert (done.code, done.err) == (0, "")
    first = next(event for event in map(json.loads, done.lines) if event["event"] != "at")
    places = {"empty": "line 6", "with too few or too many columns": "line 7", "over 4 tokens": "line 5"}
    left_out = {why: {"count": 1, "first": [place]} for why, place in places.items()}
    splits = first["splits"]
    assert (first["event"], list(splits)) == ("prepared", ["train", "valid", "test"])
    assert splits["train"].items() >= {"read": 43, "kept": 40, "left_out": left_out, "files": ["train.tsv"]}.items()
    assert splits["valid"]["left_out"] == {"over 4 tokens": {"count": 1, "first": ["line 2"]}}
    assert (splits["valid"]["kept"], splits["test"]["kept"]) == (1, 0)
    log = (Path(faulty[-1]) / "log.jsonl").read_text().splitlines()
    assert json.loads(log[0]) == {"step": 0, "data": splits, "seconds": 0.0}  # and in the log, before everything


def test_the_log_weighs_steps_by_their_predictions_and_has_the_last_ones(tmp_path: Path) -> None:
    """Not by tokens of both sides: a German number is one word, an English one may be many."""
    words = [*QUICK, "data.kind=numbers", "data.upto=9999", "data.train=200", "data.valid=5", "task.batch_tokens=64"]
    words += ["training.steps=23", "training.checkpoints.validate_every=99"]
    done = regard("train", *words, "--out", str(tmp_path / "run"), "--json")
    steps = [event for event in map(json.loads, done.lines) if event["event"] == "step"]
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    entries = [entry for entry in log if "loss" in entry]
    assert [entry["step"] for entry in entries] == [10, 20, 23]
    for entry, (first, last) in zip(entries, ((0, 10), (10, 20), (20, 23)), strict=True):
        some = steps[first:last]
        predictions = sum(step["predictions"] for step in some)
        mean = sum(step["loss"] * step["predictions"] for step in some) / predictions
        assert entry["loss"] == pytest.approx(mean, rel=1e-12)
        assert len({step["predictions"] for step in some}) > 1  # or weights would not matter
        assert all(step["size"] > step["predictions"] for step in some)
    plain = sum(step["loss"] for step in steps[:10]) / 10
    both = sum(step["loss"] * step["size"] for step in steps[:10]) / sum(step["size"] for step in steps[:10])
    for other in (plain, both):
        assert entries[0]["loss"] != pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("change", ["deleted", "changed"])
def test_files_that_go_while_it_trains_are_not_missed(change: str, tmp_path: Path) -> None:
    """Validations go on, and it ends as it would have ended."""
    ends, lines = [], [f"a {one}\t{one} a" for one in "abcdefghijklmnopqrstuvwxyz"] * 3
    for name in ("calm", change):
        file = tmp_path / "mine.tsv"
        file.write_text("\n".join(lines) + "\n")
        more = [f"data.train={file}", "data.valid_share=0.2", "training.steps=6"]
        words = [*QUICK, *more, "training.checkpoints.validate_every=2"]
        seen = []
        for event in training(words[0], *words[1:], out=tmp_path / name):
            seen.append(event)
            if name != "calm" and isinstance(event, Started):
                file.unlink() if change == "deleted" else file.write_text("x\ty\n")
        assert isinstance(seen[-1], Ended)
        assert seen[-1].why == "done"
        ends.append([event.scores for event in seen if isinstance(event, Validated)])
        assert len(ends[-1]) == 3
        assert set(ends[-1][0]) == {"loss", "bleu", "chrf"}
    assert ends[0] == ends[1]


def test_one_step_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter() as report:
        report(Started(Path("runs/x"), 0, 1, 4, 300, "tokens"))
    assert "300 parameters, training for 1 step (0.2 epochs), in runs/x" in capsys.readouterr().out
