"""regard evaluate: what was scored, how, beside what; and nothing of it is lost."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from spoken import TOY, WORDS, Done, refused, regard

from regard.errors import InputError
from regard.run import Run
from regard.tasks.translation import Translator
from regard.verbs import evaluate


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learnt other data with other tokens."""
    folder = tmp_path_factory.mktemp("others") / "other"
    words = [word for word in WORDS if word not in ("data.letters=6", "tokenizer.kind=words")]
    assert (
        regard(
            "train", *words, "data.letters=8", "tokenizer.kind=characters", "training.steps=3", "--out", str(folder)
        ).code
        == 0
    )
    return folder


def test_what_was_scored_is_said_to_people_and_machines(run: Path) -> None:
    done = regard("evaluate", str(run), "--int8")
    step = (run / "best").read_text().removeprefix("step-")
    assert done.lines[0] == "30 pairs of the test split of toys data (letters → reverse)"
    assert done.lines[1] == f"answered by step {step}: beam of 5, int8"
    assert max(len(line) for line in done.lines if not line.startswith("Look at")) <= 80
    found = json.loads(regard("evaluate", str(run), "decoding.kind=greedy", "--json").out)
    assert found["scored"]["data_hash"] == json.loads((run / "run.json").read_text())["data"]
    assert {key: found["scored"][key] for key in ("split", "step", "how")} == {
        "split": "test",
        "step": int(step),
        "how": "greedy",
    }
    assert found["bits_per_byte"] > 0


def test_bits_per_byte_are_the_loss_of_all_tokens_over_all_bytes(run: Path) -> None:
    """Toy words have one letter and one space but the last: as many bytes with the line end as twice the words."""
    found = json.loads(regard("evaluate", str(run), "--json").out)
    words = [len(line.split()) for line in _targets(run)]
    nats = found["loss"] * (sum(words) + len(words))
    assert found["bits_per_byte"] == pytest.approx(nats / (sum(2 * n for n in words) * 0.6931471805599453))


def _targets(run: Path) -> list[str]:
    from regard.trained import open_run

    return [target for _, target in open_run(run).task.data.read("test")]


def test_scores_are_kept_in_the_run_and_shown_by_it(run: Path) -> None:
    regard("evaluate", str(run), "--beam", "1")
    (kept,) = Run.open(run).scores()
    assert (kept["on"], kept["split"], kept["how"]) == ("", "test", ["beam=1"])
    assert set(kept["scores"]) == {"loss", "bleu", "chrf"}
    assert json.loads(regard("runs", "show", str(run), "--json").out)["evaluations"] == [kept]


@pytest.fixture
def closed(run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that nobody may write to, not even root."""

    real = os.open

    def refuse(path: Any, *given: Any, **named: Any) -> int:
        if str(path).endswith(".part"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *given, **named)

    monkeypatch.setattr(os, "open", refuse)
    return run


def test_a_run_that_may_not_be_written_to_is_scored_all_the_same(closed: Path) -> None:
    before = sorted(path.name for path in closed.iterdir())
    done = regard("evaluate", str(closed))
    assert done.code == 0
    assert "chrF" in done.out
    assert f"{closed}: nothing can be kept there (Permission denied); --out names another place\n" == done.err
    assert sorted(path.name for path in closed.iterdir()) == before


def test_a_place_that_cannot_be_written_to_loses_no_score(trained: tuple[Path, Done], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = regard("evaluate", str(trained[0]), "--json", "--out", str(tmp_path / "file" / "below"))
    assert done.code == 0
    assert json.loads(done.out)["pairs"] == 30
    assert "nothing can be kept there" in done.err
    assert len(done.err.splitlines()) == 1


def test_links_in_a_run_are_replaced_and_never_followed(run: Path, tmp_path: Path) -> None:
    names = ("translations.csv", "bleu-by-length.png", "evaluation.json")
    for name in names:
        for link in (name, f"{name}.part"):
            (tmp_path / f"mine-{link}").write_text("mine")
            (run / link).symlink_to(tmp_path / f"mine-{link}")
    assert regard("evaluate", str(run)).code == 0
    assert {path.read_text() for path in tmp_path.glob("mine-*")} == {"mine"}
    assert not any((run / name).is_symlink() for name in names)


def test_runs_with_other_data_and_tokens_are_compared_by_bytes_and_with_a_warning(
    run: Path, other: Path, tmp_path: Path
) -> None:
    done = regard("evaluate", str(run), "--against", str(other), "--out", str(tmp_path / "new"))
    assert done.code == 0
    assert f"{run} and {other} learnt from different data; both are scored on those of {run}" in done.err
    assert "they have other vocabularies: bits per byte compare them" in done.err
    (head,) = (line for line in done.lines if line.split() == ["run", "other"])
    rows = done.lines[done.lines.index(head) :]
    assert any(line.startswith("bits per byte") for line in rows)
    assert not any(line.startswith("perplexity") for line in rows)
    both = json.loads(regard("evaluate", str(run), "--against", str(other), "--out", str(tmp_path), "--json").out)
    assert (list(both["against"]), len(both["warnings"])) == (["other"], 2)
    assert both["against"]["other"]["scored"]["data_hash"] == both["scored"]["data_hash"]


def test_two_runs_may_follow_one_flag(run: Path, trained: tuple[Path, Done], other: Path, tmp_path: Path) -> None:
    words = ["evaluate", str(run), "--out", str(tmp_path)]
    done = regard(*words, "--against", str(trained[0]), str(other))
    assert any(line.split() == ["run", "toy", "other"] for line in done.lines)
    refused(3, f"to compare them say --against {other}", *words, str(other))


def test_runs_of_other_tasks_are_refused(run: Path, other: Path) -> None:
    from regard.trained import open_run
    from regard.verbs import compare

    one, two = open_run(run), open_run(other)
    object.__setattr__(two.recipe, "task", two.recipe.wants("task").model_copy(update={"kind": "painting"}))
    with pytest.raises(InputError, match="cannot be compared: the task of one is translation, of the other painting"):
        compare([one, two])


def test_the_beam_is_said_once(run: Path) -> None:
    refused(2, "the beam is said twice", "evaluate", str(run), "decoding.beam_size=3", "--beam", "2")
    found = regard("evaluate", str(run), "decoding.length_penalty=0.5", "--beam", "2", "--json")
    assert json.loads(found.out)["scored"]["how"] == "beam of 2, length_penalty 0.5"


def test_scores_have_the_same_digits_everywhere(run: Path) -> None:
    done = regard("evaluate", str(run))
    rows = [line.split() for line in done.lines]
    digits = {
        len(row[-1].partition(".")[2]) for row in rows if row and row[0] in ("BLEU", "chrF") and row[-1][0].isdigit()
    }
    digits |= {len(cell.partition(".")[2]) for row in rows if row[:1] == ["1–10"] for cell in row[2:4] if cell != "–"}
    assert digits == {2}


def test_bytes_are_bytes_and_not_letters(run: Path, tmp_path: Path) -> None:
    """Every letter of this target has three of them."""
    (tmp_path / "far.tsv").write_text("a b\t한국\n", encoding="utf-8")
    found = json.loads(regard("evaluate", str(run), "--on", str(tmp_path / "far.tsv"), "--json").out)
    tokens = found["loss"] * (len("한국".encode()) + 2)  # spelt byte by byte, a space before and an end behind
    assert found["bits_per_byte"] == pytest.approx(tokens / ((6 + 1) * 0.6931471805599453), rel=1e-5)


def test_keys_of_decoding_are_heard(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    stream = Translator.stream

    def noted(self: Translator, *given: Any, **named: Any) -> Any:
        seen.append(self.search)
        return stream(self, *given, **named)

    monkeypatch.setattr(Translator, "stream", noted)
    greedy = ["--set", "decoding.kind=greedy"]
    assert regard("evaluate", str(run), *greedy, "--quiet").code == 0
    longer = ["--beam", "3", "--set", "decoding.length_penalty=0.25"]
    for verb in (["evaluate", str(run)], ["translate", str(run), "a"]):
        assert regard(*verb, *longer).code == 0
    assert type(seen[0]).__name__ == "Greedy"
    assert [(one.beam_size, one.length_penalty) for one in seen[1:]] == [(3, 0.25)] * 2


def test_data_it_was_trained_on_are_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"a {one}\t{one} a\n" for one in "abcdefghijklmnopqrstuvwxyz"]
    Path("mine.tsv").write_text("".join(lines[:20]))
    Path("other.tsv").write_text("".join(lines[20:]))
    Path("link.tsv").symlink_to("mine.tsv")
    Path("copy.tsv").write_text("".join(lines[:20]))
    words = [word for word in WORDS if word not in TOY]
    assert regard("train", *words, "data.train=mine.tsv", "training.steps=1", "--out", "run").code == 0
    # A copy cannot be told from other data by its path, so nothing is said of either.
    for name, learnt in (("mine.tsv", True), ("link.tsv", True), ("copy.tsv", None), ("other.tsv", None)):
        done = regard("evaluate", "run", "--on", name)
        assert ("which it was trained on" in done.lines[0]) == bool(learnt)
        found = json.loads(regard("evaluate", "run", "--on", name, "--json").out)["scored"]
        assert (found["split"], found["learnt"]) == (None, learnt)
        scored = evaluate("run", on=name).scored
        assert scored is not None
        assert (scored.split, scored.learnt) == (None, learnt)
    kept = [(one["split"], one["learnt"]) for one in Run.open(Path("run")).scores()]
    assert sorted(learnt for _, learnt in kept if learnt is not None) == [True, True]
    assert len(kept) == 4
    assert regard("runs", "show", "run").out.count("(trained on)") == 2
    assert regard("train", *words, "data.train=other.tsv", "training.steps=1", "--out", "another").code == 0
    beside = regard("evaluate", "run", "--against", "another", "--on", "other.tsv", "--json")
    assert "another was trained on other.tsv (source → target)" in json.loads(beside.out)["warnings"]
    trained = evaluate("run", split="train").scored
    assert trained is not None
    assert (trained.split, trained.learnt) == ("train", True)
    with pytest.raises(InputError, match="other files are scored whole"):
        evaluate("run", on="other.tsv", split="valid")
    Path("mine.tsv").rename("moved.tsv")
    gone = evaluate("run", on="moved.tsv").scored
    assert gone is not None
    assert gone.learnt is None


def test_data_that_changed_since_are_said(tmp_path: Path) -> None:
    file = tmp_path / "mine.tsv"
    lines = [f"a {one}\t{one} a\n" for one in "abcdefghijklmnopqrstuvwxyz"] * 3
    file.write_text("".join(lines))
    words = [word for word in WORDS if word not in TOY]
    more = [f"data.train={file}", "data.valid_share=0.3", "training.steps=1", "--out", str(tmp_path / "run")]
    assert regard("train", *words, *more).code == 0
    assert "not what they were" not in regard("evaluate", str(tmp_path / "run")).err
    file.write_text("".join(lines[:40]))
    assert "run: its data are not what they were when it was trained\n" in regard("evaluate", str(tmp_path / "run")).err
