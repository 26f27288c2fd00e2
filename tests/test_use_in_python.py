"""Runs used from Python: arguments are checked, and errors speak Python."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.looking.alignment import Alignment


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run with attention."""
    out = tmp_path_factory.mktemp("runs") / "toy"
    toy = {"data": {"kind": "toy", "letters": 6, "max_length": 4, "train": 100, "valid": 5, "test": 9}}
    small = ["tokenizer.kind=words", "model.width=16", "training.steps=20", "decoding.length_penalty=0.3"]
    regard.train("gru-additive", toy, *small, out=out)
    return out


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def test_a_model_left_in_training_answers_as_always(folder: Path) -> None:
    opened = regard.open_run(folder, device="cpu")
    for part in opened.model.modules():
        if hasattr(part, "dropout") and isinstance(part.dropout, float):
            part.dropout = 0.9
    before = regard.translate(opened, ["a b c"] * 5)
    scores = regard.evaluate(opened).scores
    opened.model.train()
    assert regard.translate(opened, ["a b c"] * 5) == before
    assert regard.evaluate(opened).scores == scores
    assert opened.model.training


def test_texts_may_come_in_any_way(folder: Path) -> None:
    texts = ["a b", "", "c"]
    found = regard.translate(folder, texts)
    assert regard.translate(folder, (text for text in texts)) == found
    assert regard.translate(str(folder), iter(texts)) == found
    assert regard.translate(regard.Run.open(folder), "a b") == found[:1]
    assert regard.translate(folder, []) == []


BAD: list[tuple[Callable[[Path], Any], str]] = [
    (lambda run: regard.translate(run, b"a"), r"given bytes; decode them first: \.decode\('utf-8'\)"),  # type: ignore[arg-type]
    (lambda run: regard.translate(run, None), "wanted a text or several texts, given None"),  # type: ignore[arg-type]
    (lambda run: regard.translate(run, ["a", None]), r"texts\[1\]: wanted a text, given None"),  # type: ignore[list-item]
    (lambda run: regard.translate(run, ["\udcff"]), r"texts\[0\]: not Unicode text"),
    (lambda run: regard.translate(run, "a", beam=2.5), r"beam: wanted a whole number from 0 to 4,096, given 2.5"),  # type: ignore[arg-type]
    (lambda run: regard.translate(run, "a", beam=-1), r"beam: wanted a whole number from 0 to 4,096, given -1"),
    (
        lambda run: regard.translate(run, "a", beam=100_000),
        r"beam: wanted a whole number from 0 to 4,096, given 100000",
    ),
    (lambda run: regard.translate(run, "a", n_best=0), r"n_best: wanted a whole number from 1 to 4,096, given 0"),
    (lambda run: regard.translate(run, "a", device="cuda:9"), "'cuda:9': no such device here; there is cpu"),
    (lambda run: regard.translate(run, "a", device="cuda", int8=True), "leave out int8=True, or say device='cpu'"),
    (lambda run: regard.translate(run, "a", "model.width=3"), "model.width: cannot be changed once a run is trained"),
    (lambda run: regard.open_run(7), "wanted a run folder, given int 7"),  # type: ignore[arg-type]
    (lambda run: regard.open_run(run, int8=1), "int8: wanted True or False, given 1"),  # type: ignore[arg-type]
    (lambda run: regard.translate(regard.open_run(run), "a", int8=True), "open already: say device= and int8= where"),
    (lambda run: regard.evaluate(run, split="tests"), "split: wanted train, valid, test, given 'tests'"),  # type: ignore[arg-type]
    (lambda run: regard.align(run, ""), "nothing to look at: the source is empty"),
]


@pytest.mark.parametrize(("call", "said"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_is_said_in_the_words_of_python(call: Callable[[Path], Any], said: str, folder: Path) -> None:
    with pytest.raises(regard.RegardError, match=said) as caught:
        call(folder)
    assert "--" not in str(caught.value)


def test_how_it_answers_may_be_said_at_use(folder: Path) -> None:
    opened = regard.open_run(folder)
    greedy = regard.evaluate(opened, {"decoding.kind": "greedy"})
    assert greedy.scored is not None
    assert greedy.scored.how == "greedy"
    wide = regard.evaluate(opened, beam=2)
    assert wide.scored is not None
    assert wide.scored.how == "beam of 2, length_penalty 0.3"
    assert opened.answerer.search.beam_size == 5
    assert [len(one.texts) for one in regard.translate(opened, ["a"], "decoding.beam_size=3", n_best=3)] == [3]
    assert "bits per byte" in str(wide)
    assert str(wide).startswith("9 pairs of the test split of toys data")


def test_alignments_are_drawn_by_any_name(folder: Path, tmp_path: Path) -> None:
    seen = regard.align(folder, "a b")
    for name in ("x.png", "below/y.svg"):
        assert seen.draw(str(tmp_path / name)) == tmp_path / name
        assert (tmp_path / name).stat().st_size > 0
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "z.png").symlink_to(tmp_path / "mine")
    seen.draw(tmp_path / "z.png")
    assert (tmp_path / "mine").read_text() == "mine"
    with pytest.raises(regard.InputError, match="pictures are written as"):
        seen.draw("x.txt")


def test_letters_without_a_font_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.pictures._fonts_for", lambda letters: ([], letters))
    with pytest.warns(UserWarning, match=r"no font with Hangul letters here, so they are boxes \(한 국\)"):
        Alignment(["한국"], ["a"], [[1.0]]).draw(tmp_path / "x.png")


def test_a_description_prints_as_the_command_shows_it(folder: Path) -> None:
    found = regard.describe("numbers-gru")
    assert found.vocabulary == "about 355; the data decide"
    lines = str(found).splitlines()
    assert lines[0].startswith("numbers-gru  The demo's first half")
    assert any(line.startswith("├── encoder") for line in lines)
    assert any(line.startswith("parameters") and line.endswith("281k") for line in lines)
    of_run = regard.describe(regard.Run.open(folder))
    size = regard.open_run(folder).recipe.model.target_vocab_size  # type: ignore[attr-defined]
    assert of_run.vocabulary.endswith(f"{size}, as learnt")
    assert of_run.run.startswith("a run for translation, best at step 20  loss ")
    assert regard.describe("gru-additive").vocabulary == "about 8,000; the data decide"
    assert regard.describe("vit-tiny").vocabulary == ""


def test_a_run_that_diverged_says_so_when_used(folder: Path, tmp_path: Path) -> None:
    from heard import Heard

    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    regard.Run.open(copy).note(diverged=33)
    heard = Heard()
    regard.translate(copy, "a", listener=heard)
    assert heard.said == [f"{copy}: this run diverged at step 33; what answers is step 20"]
