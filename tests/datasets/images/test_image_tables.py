"""Images that tables speak of: files and labels in a .csv, or images themselves in a .parquet."""

import builtins
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from heard import Heard
from painted import classes, colour, image, tree

from regard.datasets.data import SPLITS, Report
from regard.datasets.images import ImageFolder
from regard.errors import InputError

NAMES = ["apple", "pear", "plum"]


def found(path: Path | str, split: Any = "train", report: Report | None = None, **options: Any) -> dict[str, str]:
    data = ImageFolder(train=str(path), **{"valid_share": 0.0, **options})
    return {one.name: one.label for _, one in data.numbered(split, report or Report())}


def refused(path: Path, said: str, **options: Any) -> None:
    with pytest.raises(InputError, match=said) as error:
        ImageFolder(train=str(path), **options).survey(Heard())
    assert str(error.value).count("\n") < 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tree(tmp_path / "some", {f"{n}.png": image(n) for n in range(6)})
    return tmp_path


ROWS = [(f"some/{n}.png", "even" if n % 2 == 0 else "odd") for n in range(6)]


@pytest.mark.parametrize(
    ("name", "header", "mark", "options"),
    [
        ("t.csv", "file,label", ",", {}),
        ("t.csv", "Image;Class", ";", {}),
        ("t.tsv", "file_name\tlabel", "\t", {}),
        ("t.csv", "", ",", {}),
        ("t.csv", "where,what", ",", {"image": "where", "label": "what"}),
    ],
)
def test_a_table_of_files_and_labels(name: str, header: str, mark: str, options: dict[str, str], folder: Path) -> None:
    lines = [header, *(mark.join(row) for row in ROWS)]
    (folder / name).write_text("\n".join(line for line in lines if line) + "\n")
    assert found(folder / name, **options) == dict(ROWS)


def test_a_column_may_name_the_split(folder: Path) -> None:
    splits = ["train", "train", "val", "val", "test", "unused"]
    rows = [f"{file},{label},{split}" for (file, label), split in zip(ROWS, splits, strict=True)]
    (folder / "t.csv").write_text("\n".join(["path,label,split", *rows]))
    report = Report()
    assert found(folder / "t.csv", "train", report) == dict(ROWS[:2])
    assert [len(found(folder / "t.csv", split)) for split in SPLITS] == [2, 2, 1]
    assert report.count("in no folder of a split") == 1


def test_rows_that_name_nothing_are_counted(folder: Path) -> None:
    more = ["gone.png,odd", ",odd", "some/1.png,", "some", "some,odd", ROWS[0][0] + ",even"]
    (folder / "t.csv").write_text("\n".join(["file,label", *map(",".join, ROWS), *more]))
    report = Report()
    assert found(folder / "t.csv", "train", report) == dict(ROWS)
    assert {why: held.first for why, held in report.left_out.items()} == {
        "not there": ["gone.png"],
        "without an image": ["line 9", "line 11"],
        "without a label": ["some/1.png"],
        "not to be read": ["some"],
    }
    assert report.kept == 7  # a row may come twice


def test_unclear_tables_ask_which_columns_are_meant(folder: Path) -> None:
    (folder / "t.csv").write_text("a,b\n1,2\n3,4\n")
    refused(folder / "t.csv", "which columns are image and label is not clear; there are: a, b\nsay data.image=NAME")
    refused(folder / "t.csv", "not the columns of data.image=x and data.label=b; there", image="x", label="b")


# --- parquet -------------------------------------------------------------------------------------------------------


def parquet(path: Path, rows: list[dict[str, Any]], names: list[str] | None = None, **options: Any) -> Path:
    """As `datasets` writes them."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    label = pa.int64() if names else pa.string()
    table = pa.table(
        {
            "image": pa.array([row["image"] for row in rows], kind),
            "label": pa.array([row["label"] for row in rows], label),
        }
    )
    if names:
        features = {"image": {"_type": "Image"}, "label": {"names": names, "_type": "ClassLabel"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"image": {"bytes": image(n), "path": f"{n}.png" if n % 2 else None}, "label": n % 3}
        for n in range(start, start + count)
    ]


def test_parquet_has_images_and_the_names_of_classes(tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", rows(30), NAMES, row_group_size=7)
    data = ImageFolder(train=str(path), valid_share=0.2)
    assert data.classes == NAMES
    pictures = [one for split in SPLITS for one in data.numbered(split, Report())]
    assert len(pictures) == 30
    for number, one in pictures:
        assert (one.pixels == colour(number - 1)).all()
        assert one.label == NAMES[(number - 1) % 3]
    assert {one.name for number, one in pictures if number in (1, 2)} == {"row 1", "row 2 (1.png)"}


def test_labels_may_be_words_or_numbers_and_images_bare_bytes(tmp_path: Path) -> None:
    words = parquet(tmp_path / "w.parquet", [{**row, "label": f"class {row['label']}"} for row in rows(6)])
    assert set(found(words).values()) == {"class 0", "class 1", "class 2"}
    plain = pa.table({"img": [image(n) for n in range(4)], "fine_label": [5, 10, 5, -1], "n": [1, 2, 3, 4]})
    pq.write_table(plain, tmp_path / "p.parquet")
    report = Report()
    assert found(tmp_path / "p.parquet", "train", report) == {"row 1": "5", "row 2": "10", "row 3": "5"}
    assert report.count("without a label") == 1
    assert len(found(tmp_path / "p.parquet", label="n")) == 4


def test_files_of_a_folder_are_split_by_their_names(tmp_path: Path) -> None:
    for place, (name, count) in enumerate(
        {"train-00000-of-00002": 6, "train-00001-of-00002": 5, "validation-0": 4, "test-0": 3}.items()
    ):
        parquet(tmp_path / "data" / f"{name}.parquet", rows(count, 50 * place), NAMES)
    assert [len(found(tmp_path, split)) for split in SPLITS] == [11, 4, 3]
    assert "test-0.parquet/row 1" in found(tmp_path, "test")
    assert [ImageFolder(train=str(tmp_path)).report(split).kept for split in SPLITS] == [11, 4, 3]
    some = ImageFolder(
        train=f"{tmp_path}/data/train-*.parquet", test=f"{tmp_path}/data/test-*.parquet", valid_share=0.0
    )
    assert [some.report(split).kept for split in SPLITS] == [11, 0, 3]


def test_what_is_missing_in_a_row_is_counted(tmp_path: Path) -> None:
    bad = [{"image": {"bytes": None, "path": "x.png"}, "label": 0}, {"image": None, "label": 1}]
    bad += [
        {"image": {"bytes": image(1), "path": ""}, "label": None},
        {"image": {"bytes": b"x", "path": ""}, "label": 1},
    ]
    report = Report()
    assert len(found(parquet(tmp_path / "x.parquet", rows(6) + bad, NAMES), "train", report)) == 6
    assert {why: held.count for why, held in report.left_out.items()} == {
        "without an image": 2,
        "without a label": 1,
        "no image": 1,
    }


def test_parquet_that_holds_no_images_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"text": ["a"], "label": [1]}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "which columns are image and label is not clear; there are: text, label")
    refused(tmp_path / "t.parquet", "no images in the column 'text' but string; say data.image=NAME", image="text")
    (tmp_path / "cut.parquet").write_bytes(parquet(tmp_path / "x.parquet", rows(9), NAMES).read_bytes()[:-9])
    refused(tmp_path / "cut.parquet", "cut.parquet: cannot be read: ")
    monkeypatch.setattr("regard.datasets.images.tables.MOST_GROUP", 10)
    refused(tmp_path / "x.parquet", "a group of its rows is over .* GiB; write smaller ones")


def test_spoilt_parquet_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    dice, came = random.Random(7), list[int]()
    whole = parquet(tmp_path / "x.parquet", [{**row, "label": f"ö{row['label']}"} for row in rows(6)]).read_bytes()
    assert "ö1".encode() in whole
    cases = [whole.replace("ö".encode(), b"\xff\xff")]
    for _ in range(25):
        spoilt = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            spoilt[dice.randrange(4, len(spoilt))] = dice.randrange(256)
        cases.append(bytes(spoilt))
    for content in cases:
        (tmp_path / "spoilt.parquet").write_bytes(content)
        try:
            came.append(len(found(tmp_path / "spoilt.parquet")))
        except InputError as error:
            came.append(-1 - str(error).count("\n"))
    assert came[0] == -1
    assert max(came) == 6
    assert min(came) >= -2


def test_without_pyarrow_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = parquet(tmp_path / "x.parquet", rows(3), NAMES), builtins.__import__

    def none(name: str, *more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", none)
    refused(path, r"parquet is read by pyarrow: pip install 'regard\[parquet\]'")


def test_tables_and_folders_go_together(tmp_path: Path) -> None:
    one = parquet(tmp_path / "x.parquet", rows(6), NAMES)
    two = tree(tmp_path / "two", classes("plum", "cherry", count=2, start=90))
    data = ImageFolder(train=[str(one), two], valid_share=0.0)
    assert data.classes == ["apple", "cherry", "pear", "plum"]
    assert data.report("train").kept == 10


def test_a_line_that_is_no_text_says_so(folder: Path) -> None:
    lines = [f"some/{n}.png,{'even' if n % 2 == 0 else 'odd'}".encode() for n in range(6)]
    (folder / "t.csv").write_bytes(b"\n".join([b"file,label", *lines, b"some/0.png,caf\xe9"]))
    report = Report()
    assert len(found(folder / "t.csv", report=report)) == 6
    assert "not UTF-8" in str(report)
