"""What was left out is told: how many, why, and where the first stood. And the contract of all data."""

import pytest
from told import PAIRS, Lines, Told

from regard.datasets.data import Report, dice, short_hash


def test_a_report_counts_and_shows_the_first_few_lines() -> None:
    report = Report(kept=1_234)
    assert str(report) == "1,234"
    report.leave("empty", 1_005)
    assert str(report) == "1,234, 1 left out: 1 empty (line 1,005)"
    for line in (2_000, 2_001):
        report.leave("empty", line)
    assert str(report) == "1,234, 3 left out: 3 empty (lines 1,005, 2,000, 2,001)"
    report.leave("empty", 2_002)
    report.leave("broken", 7)
    assert str(report) == "1,234, 5 left out: 4 empty (lines 1,005, 2,000, 2,001, …); 1 broken (line 7)"
    assert (report.count("empty"), report.count("broken"), report.count("unknown")) == (4, 1, 0)
    assert len(report.left_out["empty"]) == 4  # however many there are


def test_rows_are_numbered_from_one_and_counted() -> None:
    report = Report()
    assert list(Told(PAIRS[:2]).numbered("train", report)) == [(1, PAIRS[0]), (2, PAIRS[1])]
    assert report == Report(2)
    assert Told(PAIRS).has("valid")
    assert not Told([]).has("train")


def test_a_fingerprint_is_asked_for_once_and_is_that_of_kind_and_content() -> None:
    class Other(Lines):
        pass

    class Counted(Lines):
        asked = 0

        def identity(self) -> list[str]:
            self.asked += 1
            return self.texts

    data = Counted(["a"])
    known = data.fingerprint()
    data.texts = ["b"]
    assert (data.fingerprint(), data.asked) == (known, 1)
    assert Counted(["b"]).fingerprint() != known == Counted(["a"]).fingerprint()
    assert Other(["a"]).fingerprint() != Lines(["a"]).fingerprint()
    assert Lines(["a"]).fingerprint() == Lines(["a"]).fingerprint()


def test_hashes_and_dice_are_the_same_on_every_machine() -> None:
    assert short_hash("한", 1, [None, {"a": 0.5}]) == short_hash("한", 1, [None, {"a": 0.5}])
    assert short_hash("a", "b") != short_hash("ab")
    assert len(short_hash()) == 16
    throws = [dice(1, str(n)) for n in range(2_000)]
    assert all(0 <= throw < 1 for throw in throws)
    assert sum(throws) / 2_000 == pytest.approx(0.5, abs=0.02)
    assert dice(1, "a") == dice(1, "a") != dice(2, "a")
