"""Leaks between splits, planted in every way that keeps a source the same: all are found, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.files import Files
from regard.datasets.files.leaks import PAIR, SOURCE, normal
from regard.datasets.pairs import Pair
from regard.errors import InputError
from regard.listener import SILENT

CHANCE = Random(5)
WORDS = ["ein", "Hund", "läuft", "über", "die", "Wiese", "zwei", "Männer", "grüßen"]
WORDS += ["Frau", "Ⅻ", "ﬁnden", "Straße", "café", "Ångström"]
KINDS: dict[str, Callable[[Pair], Pair]] = {
    "pair": lambda pair: pair,
    "another target": lambda pair: (pair[0], pair[1] + " indeed"),
    "case": lambda pair: (pair[0].upper(), pair[1]),
    "lower case": lambda pair: (pair[0].lower(), pair[1].upper()),
    "white space": lambda pair: ("  " + pair[0].replace(" ", " \u3000 "), pair[1]),
    "no-break spaces": lambda pair: (pair[0].replace(" ", "\xa0"), pair[1] + " "),
    "decomposed": lambda pair: (pair[0].replace("ä", "a\u0308").replace("é", "e\u0301"), pair[1]),
    "ligatures": lambda pair: (pair[0].replace("ﬁ", "fi").replace("Ⅻ", "XII"), pair[1]),
    "full width": lambda pair: (pair[0].replace("e", "ｅ"), pair[1]),
    "sharp s": lambda pair: (pair[0].replace("ß", "ss"), pair[1]),
    "all at once": lambda pair: (pair[0].upper().replace(" ", "\t".replace("\t", "  ")).replace("E", "Ｅ"), "other"),
}


def rows(count: int, begin: int) -> list[Pair]:
    return [(f"{' '.join(CHANCE.sample(WORDS, 5))} {begin + n}", f"target {begin + n}") for n in range(count)]


def written(path: Path, pairs: list[Pair]) -> str:
    path.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", KINDS)
def test_planted_leaks_between_files_are_all_found(kind: str, tmp_path: Path) -> None:
    own: dict[Split, list[Pair]] = {split: rows(30, 1000 * n) for n, split in enumerate(SPLITS)}
    leak = KINDS[kind]
    train = own["train"] + [leak(pair) for pair in own["valid"][:10] + own["test"][:7]]
    valid = own["valid"] + [leak(pair) for pair in own["test"][20:25]]
    named = [written(tmp_path / f"{n}.tsv", some) for n, some in enumerate((train, valid, own["test"]))]
    data = Files(train=named[0], valid=named[1], test=named[2])
    reports = {split: Report() for split in SPLITS}
    read = {split: [pair for _, pair in data.numbered(split, reports[split])] for split in SPLITS}
    assert read == own  # the planted ones are gone, all others and the whole test are there
    dropped = {split: sum(held.count for held in reports[split].left_out.values()) for split in SPLITS}
    assert dropped == {"train": 17, "valid": 5, "test": 0}
    why = SOURCE if kind in ("another target", "all at once") else PAIR
    assert reports["train"].count(why.format("data.valid")) == 10
    assert reports["train"].count(why.format("data.test")) == 7
    assert "(lines 41, 42, 43, …)" in str(reports["train"])


def test_equal_sources_never_part(tmp_path: Path) -> None:
    """Held-out shares: 800 rows of 100 sources, each written in eight ways with as many targets."""
    ways = [KINDS[kind] for kind in ("pair", "case", "lower case", "white space", "decomposed", "ligatures", "sharp s")]
    made = [(way((source, ""))[0], f"{target} {n}") for source, target in rows(100, 0) for n, way in enumerate(ways)]
    CHANCE.shuffle(made)
    data = Files(train=written(tmp_path / "all.tsv", made), valid_share=0.3, test_share=0.2)
    sources = [{normal(source) for source, _ in data.read(split)} for split in SPLITS]
    assert all(sources)
    assert sum(map(len, sources)) == len(set.union(*sources)) == 100
    assert sum(len(list(data.read(split))) for split in SPLITS) == len(made)


def test_where_all_sources_are_equal_no_share_is_advised(tmp_path: Path) -> None:
    same = [(way(("ein Hund läuft", ""))[0], f"x {n}") for n in range(9) for way in (KINDS["pair"], KINDS["case"])]
    for pairs, remedy in ((same, "are the same; name a file in"), ([*same, ("zwei", "x")], "raise data.valid_share")):
        data = Files(train=written(tmp_path / "all.tsv", pairs), valid_share=0.001)
        data.survey(SILENT)
        assert remedy in data.more_held_out


def test_a_share_that_leaves_nothing_is_said(tmp_path: Path) -> None:
    data = Files(train=written(tmp_path / "all.tsv", rows(9, 0)), valid_share=0.999999)
    for read in (lambda: data.survey(SILENT), lambda: list(data.read("train"))):
        with pytest.raises(
            InputError, match=r"nothing of it is left to learn from: 9 read .*\nlower data.valid_share or"
        ):
            read()


def test_what_differs_is_left_alone(tmp_path: Path) -> None:
    named = [written(tmp_path / "train.tsv", [("a b", "x"), ("ab", "x"), ("a b.", "x")])]
    named.append(written(tmp_path / "test.tsv", [("a  c", "x")]))
    data = Files(train=named[0], test=named[1], valid_share=0.0)
    assert len(list(data.read("train"))) == 3


@pytest.mark.parametrize("text", ["Μαΐου", "Straße", "ﬁn", "e\u0301"])
def test_case_is_nothing_to_tell_texts_apart_by(text: str) -> None:
    assert normal(text) == normal(text.upper()) == normal(f"  {text.lower()}\n")
