"""regard evaluate: scores for people and machines."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from spoken import TOY, WORDS, Done, refused, regard

from regard.decoding.beam import Beam
from regard.decoding.sample import Greedy
from regard.tasks.translation import Translator
from regard.tasks.translation.task import Translation
from regard.trained import open_run
from regard.verbs import evaluate


def test_evaluate_shows_scores_signatures_and_lengths(trained: tuple[Path, Done], run: Path) -> None:
    done = regard("evaluate", str(run))
    assert (done.code, done.err) == (0, "")
    for said in ("pairs", "perplexity", "exact match", "BLEU, lower case", "chrF", "nrefs:1|", "version:2", "1–10"):
        assert said in done.out
    assert (run / "bleu-by-length.png").read_bytes()[:4] == b"\x89PNG"
    lines = (run / "translations.csv").read_text().splitlines()
    rows = list(csv.DictReader(lines))
    pairs = list(open_run(run).task.data.read("test"))
    assert [(row["source"], row["reference"]) for row in rows] == pairs
    assert {row["data"] for row in rows} == {"the test split of toys data (letters → reverse)"}
    assert all(row["chrf"] == "100.00" for row in rows if row["translation"] == row["reference"])


def test_evaluate_for_machines(trained: tuple[Path, Done], tmp_path: Path) -> None:
    before = sorted(trained[0].iterdir())
    done = regard("evaluate", str(trained[0]), "--json", "--beam", "1", "--out", str(tmp_path / "new"))
    found = json.loads(done.out)
    assert found["pairs"] == 30
    assert found["by_length"][0]["count"] == 30
    assert "nrefs:1" in found["signatures"]["bleu"]
    assert {"bleu", "chrf", "bleu_lowercase", "exact", "loss", "perplexity", "seconds"} <= set(found)
    kept = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert kept == ["bleu-by-length.png", "evaluation.json", "translations.csv"]
    assert sorted(trained[0].iterdir()) == before


def test_runs_are_scored_side_by_side(run: Path, trained: tuple[Path, Done], tmp_path: Path) -> None:
    out = ["--against", str(trained[0]), "--out", str(tmp_path / "new")]
    done = regard("evaluate", str(run), *out)
    assert (done.code, done.err) == (0, "")
    (line,) = (line for line in done.lines if line.startswith("BLEU, 1–10 letters"))
    assert line.split()[-1] == line.split()[-2]  # the same run twice
    both = json.loads(regard("evaluate", str(run), *out, "--json").out)
    (other,) = both["against"].values()
    assert other["bleu"] == both["bleu"]


def test_columns_of_other_files_are_said_at_use(run: Path, tmp_path: Path) -> None:
    """By a run whose own data are generated, and have no such columns."""
    table = tmp_path / "named.csv"
    table.write_text("german,english\na b,b a\nc d,d c\n")
    refused(3, "say data.source=german data.target=english", "evaluate", str(run), "--on", str(table))
    for columns, pairs in ((("german", "english"), 2), (("1", "2"), 3)):
        words = [f"data.source={columns[0]}", f"data.target={columns[1]}"]
        done = regard("evaluate", str(run), "--on", str(table), *words, "--out", str(tmp_path / "out"), "--json")
        assert (done.code, json.loads(done.out)["pairs"]) == (0, pairs), done.err
    opened = open_run(run, "data.source=german", "data.target=english")
    assert opened.task.data.fingerprint() == opened.run.facts["data"]
    on = ["evaluate", str(run), "--on", str(table)]
    refused(2, "source and target are both 'german'", *on, "data.source=german", "data.target=german")
    refused(2, "data.source=-1 data.target=reverse: the name of a column", *on, "data.source=-1")
    refused(3, "data.source: says how other files are read", "evaluate", str(run), "data.source=german")


def test_evaluate_on_other_files(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.letters").write_text("a b\nc d\n")
    (tmp_path / "mine.reverse").write_text("b a\nd c\n")
    (tmp_path / "others.tsv").write_text("a b\tb a\n")
    assert regard("evaluate", str(run)).code == 0
    names = ("translations.csv", "bleu-by-length.png")
    before = [(run / name).read_bytes() for name in names]
    done = regard("evaluate", str(run), "--on", str(tmp_path / "mine"), "--json")
    assert json.loads(done.out)["pairs"] == 2
    assert regard("evaluate", str(run), "--on", str(tmp_path / "others.tsv")).code == 0
    assert [(run / name).read_bytes() for name in names] == before
    for named in ("mine-letters-and-mine-reverse", "others-tsv"):
        (texts,) = run.glob(f"translations-{named}-??????.csv")
        assert len([*run.glob(f"bleu-by-length-{named}-??????.png")]) == 1
        assert named.partition("-")[0] in texts.read_text()


def test_a_damaged_best_is_told_beside_the_scores(run: Path) -> None:
    best = run / "checkpoints" / (run / "best").read_text() / "weights.safetensors"
    best.write_bytes(best.read_bytes()[:-1])
    for words in (["evaluate", str(run)], ["translate", str(run), "a b"]):
        done = regard(*words, "--json")
        assert done.code == 0
        assert "damaged: not what was written; falling back" in done.err
        json.loads(done.out)


def test_what_was_validated_is_what_is_evaluated(run: Path) -> None:
    """The scores in the log are those of the same weights, greedily, on the same pairs."""
    (best,) = (
        json.loads(line)["valid"]
        for line in (run / "log.jsonl").read_text().splitlines()
        if f'"step": {(run / "best").read_text().removeprefix("step-")},' in line and "valid" in line
    )
    found = evaluate(open_run(run, "decoding.kind=greedy"), split="valid")
    assert {name: getattr(found, name) for name in best} == pytest.approx(best, rel=1e-6)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """How translators search, whenever one is asked."""
    seen: list[object] = []
    stream = Translator.stream

    def noted(self: Translator, *given: Any, **named: Any) -> object:
        seen.append(self.search)
        return stream(self, *given, **named)

    monkeypatch.setattr(Translator, "stream", noted)
    return seen


@pytest.fixture(scope="module")
def particular(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose recipe has wishes of its own about how to write."""
    folder = tmp_path_factory.mktemp("particular") / "run"
    wishes = ["decoding.beam_size=3", "decoding.length_penalty=0.3", "decoding.no_repeat_ngram_size=2"]
    assert regard("train", *WORDS, *wishes, "training.steps=2", "--out", str(folder)).code == 0
    return folder


@pytest.mark.parametrize("verb", ["evaluate", "translate"])
@pytest.mark.parametrize("beam", [0, 2, 6])
def test_a_beam_keeps_what_the_recipe_says_of_lengths_and_repetitions(
    verb: str, beam: int, particular: Path, searches: list[object], tmp_path: Path
) -> None:
    more = ["--out", str(tmp_path)] if verb == "evaluate" else ["a b"]
    assert regard(verb, str(particular), *more, "--beam", str(beam)).code == 0
    (search,) = searches
    assert isinstance(search, Beam)
    said = (search.beam_size, search.length_penalty, search.no_repeat_ngram_size, search.n_best)
    assert said == (beam or 3, 0.3, 2, 1)


@pytest.mark.parametrize("verb", ["evaluate", "translate"])
def test_a_beam_of_one_is_greedy_and_repeats_no_more_than_before(
    verb: str, particular: Path, searches: list[object], tmp_path: Path
) -> None:
    more = ["--out", str(tmp_path)] if verb == "evaluate" else ["a b"]
    assert regard(verb, str(particular), *more, "--beam", "1").code == 0
    (search,) = searches
    assert isinstance(search, Greedy)
    assert search.no_repeat_ngram_size == 2


def test_the_n_best_keep_it_too(particular: Path, searches: list[object]) -> None:
    assert regard("translate", str(particular), "a b", "--n-best", "5").code == 0
    (search,) = searches
    assert isinstance(search, Beam)
    said = (search.beam_size, search.length_penalty, search.no_repeat_ngram_size, search.n_best)
    assert said == (5, 0.3, 2, 5)


def test_how_it_answers_can_be_said_and_what_it_is_cannot(
    particular: Path, searches: list[object], tmp_path: Path
) -> None:
    words = ["evaluate", str(particular), "--out", str(tmp_path)]
    assert regard(*words, "decoding.beam_size=7", "decoding.length_penalty=0").code == 0
    (search,) = searches
    assert isinstance(search, Beam)
    assert (search.beam_size, search.length_penalty, search.no_repeat_ngram_size) == (7, 0, 2)
    for key in ("model.width=8", "data.test=3", "task.max_length=9", "training.steps=1"):
        refused(2, f"{key.partition('=')[0]}: cannot be changed once a run is trained; what can is", *words, key)
    for key in ("decodings.beam_size=2", "beam_size=2", "num_beams=2"):
        refused(2, f"{key.partition('=')[0]}: unknown; did you mean decoding.beam_size?", *words, key)
    refused(2, "decoding.beam_sise: unknown; did you mean decoding.beam_size?", *words, "decoding.beam_sise=2")


def test_a_run_of_nothing_but_training_pairs_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "all.tsv").write_text("a b\tb a\n" * 20)
    words = [word for word in WORDS if word not in TOY]
    files = [f"data.train={tmp_path / 'all.tsv'}", "data.valid_share=0.0", "training.steps=1"]
    assert regard("train", *words, *files, "--out", str(tmp_path / "run")).code == 0
    refused(3, "no valid data to evaluate on; name files with --on", "evaluate", str(tmp_path / "run"))


def test_a_run_that_is_removed_meanwhile_is_not_made_anew(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    whole = Translation.evaluate

    def removed(*given: Any) -> Any:
        shutil.rmtree(copy)
        return whole(*given)

    monkeypatch.setattr(Translation, "evaluate", removed)
    refused(1, f"{copy}: the run was removed meanwhile; nothing more is kept in it", "evaluate", str(copy))
    assert not copy.exists()
