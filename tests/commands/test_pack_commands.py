"""regard pack: a slim copy that does everything elsewhere, and knows nothing of the machine it was made on."""

import json
import re
import shutil
from pathlib import Path

import pytest
from spoken import TOY, WORDS, refused, regard

from regard.listener import SILENT
from regard.run import Run

QUICK = [word for word in WORDS if word not in TOY]


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A run on files in a folder of a telling name, packed; run, files and folder are gone. And what it answered."""
    home, there = tmp_path / "secret-home", tmp_path / "there"
    home.mkdir()
    there.mkdir()
    monkeypatch.chdir(home)
    letters = "abcdef"
    pairs = [f"{one} {two} {three}\t{three} {two} {one}\n" for one in letters for two in letters for three in letters]
    (home / "pairs.tsv").write_text("".join(pairs) + "\nlonely\n")
    data = [f"data.train={home / 'pairs.tsv'}", "training.steps=40", "training.checkpoints.validate_every=20"]
    assert regard("train", *QUICK, *data, "--out", "run").code == 0
    best = Run.open(Path("run")).for_use(SILENT).step
    Run.open(Path("run")).keep_scores({"loss": 0.5}, step=best, on=str(home / "exam.tsv"), how=["decoding.beam_size=2"])
    before = regard("translate", "run", "a b c", "d e f").lines
    done = regard("pack", "run", "--out", str(there / "slim"))
    assert (done.code, done.err) == (0, "")
    assert "README.md says what it is" in done.out
    monkeypatch.chdir(there)
    shutil.rmtree(home)
    return there / "slim", before


def test_it_is_used_elsewhere_when_all_else_is_gone(packed: tuple[Path, list[str]]) -> None:
    folder, before = packed
    assert regard("translate", "slim", "a b c", "d e f").lines == before
    assert "GRU" in regard("describe", "slim").out
    Path("other.tsv").write_text("a b c\tc b a\n")
    assert "pairs" in regard("evaluate", "slim", "--on", "other.tsv").out
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    step = next(path.name for path in (folder / "checkpoints").iterdir())
    assert {
        "README.md",
        "recipe.toml",
        "run.json",
        "tokenizer.json",
        "best",
        f"checkpoints/{step}/weights.safetensors",
    } <= files
    assert not any("state" in name or "log.jsonl" in name for name in files)


def test_it_knows_nothing_of_the_machine(packed: tuple[Path, list[str]]) -> None:
    folder, _ = packed
    for path in folder.rglob("*"):
        if path.is_file():
            assert b"secret-home" not in path.read_bytes(), path


def test_its_card_says_what_it_is(packed: tuple[Path, list[str]]) -> None:
    card = (packed[0] / "README.md").read_text()
    assert card.startswith(
        "# gru-additive\n\nA model for **translation**, trained with Regard by the recipe `gru-additive`"
    )
    assert "regard translate slim 'your text'" in card
    assert "regard train from=slim data.kind=files data.train=FILE --out runs/tuned" in card
    assert "- train: 218 read from pairs.tsv, 2 dropped: 1 empty (line 217), 1 with too few or too many columns" in card
    assert "- test: none; evaluations score the valid split" in card
    assert "`data.train = pairs.tsv`" in card
    assert re.search(r"\| validation \| as training does it \| loss [\d.]+, bleu [\d.]+, chrf [\d.]+ \|", card)
    assert re.search(r"\| exam\.tsv \| decoding\.beam_size=2 \| loss 0\.50* \|", card)
    assert "data.train=pairs.tsv training.steps=40" in card
    assert "torch 2." in card


def test_it_cannot_be_gone_on_with_but_begun_from(packed: tuple[Path, list[str]]) -> None:
    said = "slim: a packed run, made to be used: it has no state to go on from; begin a new run from its weights"
    refused(3, said, "train", "slim", "--resume")
    Path("more.tsv").write_text("".join(f"{one} {two}\t{two} {one}\n" for one in "abcdef" for two in "abcdef"))
    done = regard("train", "from=slim", "data.train=more.tsv", "training.steps=2", "--out", "tuned")
    assert (done.code, done.err) == (0, "")
    assert re.search(r"copied (\d+) of \1 tensors from .*/slim \(step \d+\)", done.out)
    assert regard("translate", "tuned", "a b").code == 0
    refused(3, "pairs.tsv: no such file", "train", "from=slim", "--out", "again")
    assert not Path("again").exists()


def test_it_is_listed_and_packed_again(packed: tuple[Path, list[str]]) -> None:
    assert " packed" in regard("runs", ".").out
    done = regard("pack", "slim", "--out", "slimmer", "--json")
    assert json.loads(done.out)["folder"] == "slimmer"
    assert regard("translate", "slimmer", "a b c").lines == packed[1][:1]


def test_places_where_no_copy_can_be_made_are_refused(run: Path, tmp_path: Path) -> None:
    refused(3, "inside the run itself; name another folder", "pack", str(run), "--out", str(run / "slim"))
    other = shutil.copytree(run, tmp_path / "other")
    refused(3, "there is a run already; ", "pack", str(run), "--out", str(other))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    refused(3, "full: not empty", "pack", str(run), "--out", str(tmp_path / "full"))
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_a_pack_that_fails_leaves_nothing(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regard.run.pack.card", full)
    done = regard("pack", str(run), "--out", str(tmp_path / "slim"))
    assert done.code == 1
    assert "No space left on device" in done.err
    assert not (tmp_path / "slim").exists()
