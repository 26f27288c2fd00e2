"""What `regard train` says of the data before the first step: to people, to machines and in the log."""

import json
from pathlib import Path

import pytest
from spoken import TOY, WORDS, refused, regard

QUICK = [word for word in WORDS if word not in TOY] + ["training.steps=1"]
WORD = "abcdefghijklmnopqrstuvwxyz"
GOOD = [f"{one} {two}\t{two} {one}" for one in WORD for two in WORD]


def put(name: str, lines: list[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pairs of two letters, and among them two empty lines, one too long and one of another form."""
    monkeypatch.chdir(tmp_path)
    put("good.tsv", GOOD)
    long = " ".join(WORD)
    put("mixed.tsv", [*GOOD[:16], "", *GOOD[16:88], f"{long}\t{long}", *GOOD[88:], "x\t", "lonely"])
    return tmp_path


def test_every_dropped_line_is_counted_with_why_and_where() -> None:
    done = regard("train", *QUICK, "data.train=mixed.tsv", "data.test_share=0.1", "task.max_length=20", "--out", "run")
    assert (done.code, done.err) == (0, "")
    said = [line for line in done.lines if line.startswith(("train: ", "valid: ", "test: "))]
    assert len(said) == 3
    dropped = (
        "4 dropped: 2 empty (lines 17, 679), 1 with too few or too many columns (line 680), 1 over 20 tokens (line 90)"
    )
    valid, test = (int(line.split()[1]) for line in said[1:])
    assert 0 < valid < test
    left = f"{valid + test} held out; {676 - valid - test} left; 100 % of sources are one sentence"
    assert said[0] == f"train: 680 read from mixed.tsv, {dropped}; {left}"
    assert said[1].startswith(
        f"valid: {valid} held out of train; scores of so few will be rough: raise data.valid_share"
    )
    assert said[2] == f"test: {test} held out of train"
    assert done.out.index("test: ") < done.out.index("parameters, training for")


def test_machines_and_the_log_hear_the_same() -> None:
    put("dev.tsv", GOOD[:120])
    done = regard("train", *QUICK, "data.train=mixed.tsv", "data.valid=dev.tsv", "--json", "--out", "run")
    assert (done.code, done.err) == (0, "")
    splits = next(event for event in map(json.loads, done.lines) if event["event"] == "prepared")["splits"]
    assert splits["train"]["read"] == 680
    assert splits["train"]["left_out"] == {
        "also in data.valid": {"count": 120, "first": ["line 1", "line 2", "line 3"]},
        "empty": {"count": 2, "first": ["line 17", "line 679"]},
        "with too few or too many columns": {"count": 1, "first": ["line 680"]},
    }
    assert (splits["valid"]["read"], splits["valid"]["files"], splits["valid"]["notes"]) == (120, ["dev.tsv"], [])
    assert splits["test"]["notes"] == [
        "evaluations score the valid split, unless data.test names a file or data.test_share holds some of train out"
    ]
    first = json.loads(Path("run/log.jsonl").read_text().splitlines()[0])
    assert first == {"step": 0, "data": splits, "seconds": 0.0}
    assert json.loads(Path("run/run.json").read_text())["splits"] == splits


def test_files_that_leave_nothing_to_learn_are_told() -> None:
    words = [*QUICK, "data.train=good.tsv", "data.valid=good.tsv", "--out", "run"]
    refused(3, "676 dropped: 676 also in data.valid (lines 1, 2, 3, …); 0 left", "train", *words)
    assert not Path("run").exists()


def test_nothing_held_out_is_said_and_called_nothing_good() -> None:
    done = regard("train", *QUICK, "data.train=good.tsv", "data.valid_share=0", "--out", "run")
    assert (done.code, done.err) == (0, "")
    assert "valid: none; so no score will tell how well it learns: raise data.valid_share or name a file" in done.out
    assert "test: none; evaluations score nothing, unless data.test names a file or data.test_share" in done.out
    assert "best so far" not in done.out
    assert "validation" not in done.out
    assert "Next: regard evaluate run --on FILE\n" in done.out
    refused(3, "no valid data to evaluate on; name files with --on", "evaluate", "run")
    assert regard("translate", "run", "a b").code == 0
    assert "best" not in [line.split()[0] for line in regard("runs", "show", "run").lines]


def test_the_names_of_files_with_blanks_can_be_pasted() -> None:
    done = regard("train", *QUICK, "data.train=good.tsv", "--out", "a run")
    assert "Next: regard evaluate 'a run'\n      regard translate 'a run' 'your text'\n" in done.out


def test_several_files_are_named_where_lines_are() -> None:
    put("more.tsv", ["", *GOOD[:50]])
    done = regard("train", *QUICK, "data.train=mixed.tsv,more.tsv", "--out", "run")
    assert "3 empty (mixed.tsv line 17, mixed.tsv line 679, more.tsv line 1)" in done.out
    assert "from 2 files" in done.out
    assert done.lines[-1].startswith("      regard translate")


def test_lists_may_lose_their_quotes_to_the_shell() -> None:
    put("more.tsv", GOOD[:50])
    done = regard("train", *QUICK, "data.train=[good.tsv, more.tsv]", "--out", "run")
    assert done.code == 0
    assert "train: 726 read from 2 files" in done.out


@pytest.mark.parametrize(
    ("train", "code", "said"),
    [
        ("2024", 2, "data.train: wanted the name of a file, or a list of names (a file of that name is ./2024)"),
        ("true", 2, "data.train: wanted the name of a file, or a list of names (a file of that name is ./true)"),
        ('["a"]', 3, "a.source: no such file"),
        ("god.tsv", 3, "god.tsv: no such file; did you mean "),
        ("~/not-there.tsv", 3, "/not-there.tsv: no such file"),
    ],
)
def test_odd_names_are_told(train: str, code: int, said: str, here: Path) -> None:
    before = sorted(here.iterdir())
    refused(code, said, "train", *QUICK, f"data.train={train}", "--out", "runs/mine")
    assert sorted(here.iterdir()) == before


def test_a_vocabulary_that_cannot_be_had_is_told() -> None:
    words = [*QUICK, "data.train=good.tsv", "tokenizer.vocab_size=5000", "--out", "run"]
    refused(2, "say tokenizer.vocab_size=", "train", *words, "tokenizer.kind=bpe")
    assert not Path("run").exists()
    done = regard("train", *words)
    assert "tokenizer.vocab_size: 5,000 were asked for, and the text gives 285\n" in done.out
