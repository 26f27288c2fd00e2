"""How users name their files: several, by pattern, from home, with a slip; and what is said then."""

import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest

from regard.datasets.encode import encode
from regard.datasets.files import Files
from regard.datasets.files.named import list_of
from regard.datasets.pairs import Pair
from regard.datasets.tokenizer.whole import Words
from regard.errors import InputError, RecipeError
from regard.training.menu import MENU

A: list[Pair] = [(f"a {n}", f"x {n}") for n in range(9)]
B: list[Pair] = [(f"b {n}", f"y {n}") for n in range(9)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and a parallel corpus in two parts each."""
    monkeypatch.chdir(tmp_path)
    for name, pairs in (("part-1", A), ("part-2", B)):
        Path(f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
        for side, ending in enumerate(("de", "en")):
            Path(f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    return tmp_path


def data(train: Any, **more: Any) -> Files:
    asked = {"kind": "files", "train": train, "source": "de", "target": "en", "valid_share": 0.0} | more
    made: Files = MENU.order("pairs", asked, "data").build()
    return made


def told(train: Any, **more: Any) -> str:
    with pytest.raises((InputError, RecipeError)) as refused:
        list(data(train, **more).read("train"))
    assert len(str(refused.value).splitlines()) <= 2
    return str(refused.value)


@pytest.mark.parametrize(
    "train",
    [
        "part-1.tsv,part-2.tsv",
        "part-1.tsv, part-2.tsv",
        ["part-1.tsv", "part-2.tsv"],
        "part-*.tsv",
        "part-[12].tsv",
        "part-1,part-2",
        "part-*",
        ["part-1", "part-2.tsv"],
    ],
)
def test_several_files_are_read_one_after_another(train: str | list[str], here: Path) -> None:
    assert list(data(train).read("train")) == A + B


def test_places_in_several_files_are_those_of_each(here: Path) -> None:
    for name in ("part-1.tsv", "part-2.tsv"):
        with Path(name).open("a") as file:
            file.write("\nlonely\t\n")
    places = "part-1.tsv line 10, part-1.tsv line 11, part-2.tsv line 10, …"
    assert str(data("part-*.tsv").report("train")) == f"22 read from 2 files, 4 dropped: 4 empty ({places}); 18 left"


def test_places_of_held_out_pairs_are_those_of_each_file_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(here / "cache"))
    for name, text in (("part-1.tsv", "a"), ("part-2.tsv", "a b c d e f g h")):
        Path(name).write_text("".join(f"{text} {n}\t{n}\n" for n in range(40)))
    made, words = data("part-*.tsv", valid_share=0.5), Words().train(["a b"])
    valid = encode(made, "valid", (words, words)).within(8, "too long").report
    source, line = valid.left_out["too long"].first[0].rsplit(" line ")
    assert source == "part-2.tsv"
    assert (f"a b c d e f g h {int(line) - 1}", f"{int(line) - 1}") in made.read("valid")


def test_a_comma_in_a_name_parts_nothing(here: Path) -> None:
    Path("part-1.tsv").rename("one,two.tsv")
    assert list(data("one,two.tsv").read("train")) == A


def test_packed_files_are_found_by_their_plain_names(here: Path) -> None:
    Path("part-1.tsv.gz").write_bytes(gzip.compress(Path("part-1.tsv").read_bytes()))
    Path("part-2.de.xz").write_bytes(lzma.compress(Path("part-2.de").read_bytes()))
    for name in ("part-1.tsv", "part-2.de"):
        Path(name).unlink()
    assert list(data("part-1.tsv").read("train")) == A
    assert list(data("part-2").read("train")) == B


def test_home_is_found(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.chdir("/")
    assert list(data("~/part-1.tsv,~/part-2").read("train")) == A + B
    assert told("~/part-3.tsv").startswith(f"{here}/part-3.tsv: no such file; did you mean {here}/part-2.tsv?")


def test_names_mean_the_same_from_everywhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = data("part-1.tsv")
    monkeypatch.chdir("/")
    assert list(made.read("train")) == A


@pytest.mark.parametrize(
    ("train", "said"),
    [
        ("part-1.de", "part-1.de: one side of two; there is part-1.de and part-1.en: say data.train=part-1"),
        ("part-*.de", "part-*.de: matches files of one side; say {here}/part-*: .de and .en are added"),
        ("prat-1", "prat-1.de: no such file (nor packed as .gz or .xz); did you mean {here}/part-1?"),
        ("part-3.tsv", "part-3.tsv: no such file; did you mean {here}/part-2.tsv?"),
        (
            "nowhere/part-1",
            "nowhere/part-1.de: no such file (nor packed as .gz or .xz): there is no folder {here}/nowhere",
        ),
        ("none-*.tsv", "none-*.tsv: no file matches"),
        ("", "train: wanted the name of a file, or a list of names, given ''"),
        (".", "a folder, with part-1.de, part-1.en, part-1.tsv, part-2.de, part-2.en, part-2.tsv in it; name a file"),
        ("part-1.tsv,part-1.tsv", "part-1.tsv: named twice; data.train has it in two of its names"),
        (2024, "data.train: wanted the name of a file, or a list of names (a file of that name is ./2024), given 2024"),
        (True, "data.train: wanted the name of a file, or a list of names (a file of that name is ./true), given true"),
        ([1], "data.train: wanted the name of a file, or a list of names, given [1]"),
        ([], "data.train: wanted the name of a file, or a list of names, given []"),
    ],
)
def test_a_slip_is_told_with_what_mends_it(train: Any, said: str, here: Path) -> None:
    assert said.format(here=here) in told(train)


def test_a_list_of_one_name_that_is_not_there(here: Path) -> None:
    assert "a.de: no such file" in told(["a"])


def test_other_endings_than_those_asked_for_are_offered(here: Path) -> None:
    said = told("part-1", source="german", target="english")
    assert "part-1.german: no such file (nor packed as .gz or .xz); there is part-1.de and part-1.en" in said
    assert "say data.train=part-1 data.source=de data.target=en, or the other way round" in said


@pytest.mark.parametrize("text", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_files_without_a_pair_are_told(text: bytes, here: Path) -> None:
    Path("none.tsv").write_bytes(text)
    assert "none.tsv: no sentence pair in it" in told("none.tsv")


def test_one_line_is_one_line(here: Path) -> None:
    Path("part-1.en").write_text("x\n")
    assert "part-1.en has 1 line and " in told("part-1")
    assert "part-1.de has 9: they do not belong together" in told("part-1")


def test_a_name_with_a_space_is_told_as_a_shell_takes_it() -> None:
    Path("my data").mkdir()
    Path("my data/one.tsv").write_text("a\tb\n")
    assert "name a file: 'data.train=my data/one.tsv'" in told("my data")


def test_a_name_that_the_locale_cannot_spell_is_not_called_damaged() -> None:
    """As Python reads names where the locale is POSIX and PYTHONUTF8=0: byte by byte."""
    name, raw = "f\udcc3\udcbcnf.tsv", "f\udcff.tsv"
    for given, said in ((name, "it is UTF-8: set PYTHONUTF8=1"), (raw, "a name in UTF-8 .rename the file")):
        with pytest.raises(ValueError, match=said):
            list_of(given)
