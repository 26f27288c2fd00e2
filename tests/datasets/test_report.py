"""What was left out is told: how many, why, and where the first stood. And the contract of all data."""

import json
from dataclasses import asdict

import pytest
from told import PAIRS, Lines, Told

from regard.datasets.data import Report, dice, note_few, short_hash


def test_a_report_counts_and_shows_the_first_few_places() -> None:
    report = Report(kept=1_234)
    assert str(report) == "1,234"
    report.drop("empty", 1_005)
    assert str(report) == "1,235 read, 1 dropped: 1 empty (row 1,005); 1,234 left"
    for row in (2_000, 2_001):
        report.drop("empty", row)
    assert str(report) == "1,237 read, 3 dropped: 3 empty (rows 1,005, 2,000, 2,001); 1,234 left"
    report.drop("empty", 2_002)
    report.drop_kept("too long", 7)
    report.hold()
    assert str(report) == (
        "1,239 read, 5 dropped: 4 empty (rows 1,005, 2,000, 2,001, …), 1 too long (row 7); 1 held out; 1,233 left"
    )
    assert [report.count(why) for why in ("empty", "too long", "unknown")] == [4, 1, 0]
    assert len(report.left_out["empty"].first) == 3  # however many there are


def test_places_in_several_files_have_their_names() -> None:
    report = Report(files=["a.tsv", "b c.tsv", "d.tsv"], rows_before=[0, 5, 9], unit="line")
    assert [report.place(number) for number in (1, 5, 6, 9, 10)] == [
        "a.tsv line 1",
        "a.tsv line 5",
        "b c.tsv line 1",
        "b c.tsv line 4",
        "d.tsv line 1",
    ]
    report.drop("empty", 6)
    report.drop("empty", 7)
    assert str(report) == "2 read from 3 files, 2 dropped: 2 empty (b c.tsv lines 1, 2); 0 left"
    report.drop("empty", 10)
    assert "3 empty (b c.tsv line 1, b c.tsv line 2, d.tsv line 1)" in str(report)


def test_a_report_survives_json() -> None:
    report = Report(5, files=["a.tsv"], rows_before=[0], out_of="train", notes=["few"])
    report.drop("empty", 7)
    assert Report.open(json.loads(json.dumps(asdict(report)))) == report
    assert asdict(report)["left_out"] == {"empty": {"count": 1, "first": ["row 7"]}}


def test_few_held_out_rows_are_noted() -> None:
    said = {kept: Report(kept) for kept in (0, 1, 99, 100)}
    for report in said.values():
        note_few(report, "raise it")
    assert [str(report) for report in said.values()] == [
        "none; so no score will tell how well it learns: raise it",
        "1; scores of so few will be rough: raise it",
        "99; scores of so few will be rough: raise it",
        "100",
    ]


def test_rows_are_numbered_from_one_and_counted() -> None:
    report = Report()
    assert list(Told(PAIRS[:2]).numbered("train", report)) == [(1, PAIRS[0]), (2, PAIRS[1])]
    assert report == Report(2) == Told(PAIRS[:2]).report("train")
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


def test_what_comes_from_no_file_is_named_by_its_kind() -> None:
    assert str(Report(read=34, kept=34, unit="work")) == "34 works"
    assert str(Report(read=1, kept=1, unit="work")) == "1 work"
    assert str(Report(read=90, kept=90)) == "90"
    assert str(Report(files=["a.txt"], read=34, kept=34, unit="line")) == "34 read from a.txt"
