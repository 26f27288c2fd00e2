"""Files by pattern: what the shell would find, and never a walk without end."""

import os
from glob import glob
from pathlib import Path

import pytest

from regard.datasets import patterns
from regard.datasets.patterns import matching
from regard.errors import InputError

NAMES = ["a.txt", "b.txt", "c.tsv", ".hidden.txt", "x/a.txt", "x/y/a.txt", "x/y/b.tsv", ".dot/a.txt", "[odd].txt"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    ["*.txt", "?.txt", "[ab].txt", "*", "**/*.txt", "**", "x/**/*.txt", "*/*", "*/*/*.tsv", ".*", ".*/*", "x/y/../*"],
)
def test_it_finds_what_the_shell_would(pattern: str, folder: Path) -> None:
    wanted = sorted(path for path in set(glob(f"{folder}/{pattern}", recursive=True)) if Path(path).is_file())
    assert matching(f"{folder}/{pattern}") == wanted
    assert wanted


def test_patterns_of_where_one_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert matching("x/*.txt") == ["x/a.txt"]


def test_two_stars_follow_no_link(folder: Path) -> None:
    (folder / "x" / "round").symlink_to(folder)
    assert matching(f"{folder}/x/**/a.txt") == [f"{folder}/x/a.txt", f"{folder}/x/y/a.txt"]
    assert f"{folder}/x/round/a.txt" in matching(f"{folder}/x/*/a.txt")


def test_what_may_not_be_looked_into_is_passed_over(folder: Path) -> None:
    (folder / "x" / "y" / "long").symlink_to("n" * 250 + "/none")
    assert matching(f"{folder}/nowhere/*") == []
    assert len(matching(f"{folder}/**/*.tsv")) == 2


def test_too_much_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "LOOKED", 5)
    with pytest.raises(InputError, match=r"more than 5 files to look through; begin it with the folder that is meant"):
        matching(f"{folder}/**/*.none")
    monkeypatch.setattr(patterns, "LOOKED", 100)
    monkeypatch.setattr(patterns, "MOST", 2)
    with pytest.raises(InputError, match="more than 2 files match; name fewer"):
        matching(f"{folder}/**/*.txt")


def test_no_pattern_of_the_whole_machine_takes_long() -> None:
    before = os.times().elapsed
    with pytest.raises(InputError, match=r"to look through|match; name fewer"):
        matching("/**/*")
    assert os.times().elapsed - before < 60
