"""Texts from files of any form: whole, in splits that share nothing, with what is wrong said in a line."""

import gzip
import json
import lzma
import struct
from pathlib import Path
from typing import Any

import pytest
from heard import Heard

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.files.sources import NOT_UTF8
from regard.datasets.texts import TextFiles
from regard.datasets.texts.files import MANY
from regard.errors import InputError

POEM = "Roses are red,\nviolets are blue.\n\nSugar is sweet,\nand so are you.\n"


def documents(data: TextFiles, split: Split, report: Report | None = None) -> dict[int, str]:
    found: dict[int, str] = {}
    for number, (piece,) in data.numbered(split, report or Report()):
        found[number] = found.get(number, "") + piece
    return found


def put(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_a_plain_file_is_one_document_and_its_end_is_held_out(packed: str, ends: str, tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + (POEM * 50).replace("\n", ends).encode()
    if ends == "\r":
        content = content[:-1] + b"\n"  # else it would be refused as one endless line
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packed]
    data = TextFiles(train=put(tmp_path / f"poem.txt{packed}", pack(content)), valid_share=0.1, test_share=0.2)
    parts = [documents(data, split) for split in SPLITS]
    assert "".join(part[1] for part in parts) == POEM * 50
    size = len(POEM * 50)
    assert [len(part[1]) for part in parts] == [
        int(size * 0.7),
        int(size * 0.8) - int(size * 0.7),
        size - int(size * 0.8),
    ]


def test_without_a_share_nothing_is_held_out(tmp_path: Path) -> None:
    data = TextFiles(train=put(tmp_path / "poem.txt", POEM), valid_share=0.0)
    assert documents(data, "train") == {1: POEM}
    assert not data.has("valid")
    assert not data.has("test")


def test_a_paragraph_that_does_not_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.datasets.texts.sources.LONGEST", 30)
    path = put(tmp_path / "long.txt", "one two\n" * 9 + "\nlast\n")
    found = documents(TextFiles(train=path, documents="paragraph", valid_share=0.0), "train")
    assert found == {1: "\n".join(["one two"] * 4), 5: "\n".join(["one two"] * 4), 9: "one two", 11: "last"}


def test_a_line_that_is_no_text_is_left_out_of_its_paragraph_and_told(tmp_path: Path) -> None:
    path, report = put(tmp_path / "some.txt", b"one\n\xff\xfe\xfd\ntwo\n\nthree\n" + b"more\n" * 50), Report()
    found = documents(TextFiles(train=path, documents="paragraph", valid_share=0.0), "train", report)
    assert found[1] == "one\ntwo"
    assert report.count(NOT_UTF8) == 1


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("line", ["Roses are red,", "violets are blue.", "Sugar is sweet,", "and so are you."]),
        ("paragraph", ["Roses are red,\nviolets are blue.", "Sugar is sweet,\nand so are you."]),
    ],
)
def test_a_document_may_be_a_line_or_a_paragraph(unit: Any, found: list[str], tmp_path: Path) -> None:
    data = TextFiles(train=put(tmp_path / "poem.txt", POEM), documents=unit, valid_share=0.0)
    assert list(documents(data, "train").values()) == found
    many = TextFiles(train=put(tmp_path / "many.txt", "\n\n".join(f"line {n}" for n in range(400))), documents=unit)
    train, valid = documents(many, "train"), documents(many, "valid")
    assert 5 < len(valid) < 60
    assert not {*train.values()} & {*valid.values()}
    assert sorted([*train.values(), *valid.values()]) == sorted(f"line {n}" for n in range(400))


def test_json_lines_have_a_key_and_equal_texts_stay_together(tmp_path: Path) -> None:
    rows = [{"body": f"text {n % 90}  ", "id": n} for n in range(300)] + [
        {"body": 3},
        {"body": "\ud800"},
        {"body": " "},
    ]
    path = put(tmp_path / "docs.jsonl", "".join(json.dumps(row) + "\n" for row in rows) + "no json\n\n")
    data, report = TextFiles(train=path, text="body", valid_share=0.2), Report()
    train = documents(data, "train", report)
    valid = documents(data, "valid")
    assert not {text.strip() for text in train.values()} & {text.strip() for text in valid.values()}
    assert len(train) + len(valid) == 300
    assert {why: dropped.count for why, dropped in report.left_out.items()} == {
        "with no text for 'body'": 2,
        "empty": 2,
        "not JSON": 1,
    }
    assert report.held_out == len(valid)
    with pytest.raises(InputError, match=r"no 'text' in its lines; keys with texts are: body; say data.text=KEY"):
        list(TextFiles(train=path).read("train"))
    for ending, pack in ((".gz", gzip.compress), (".xz", lzma.compress)):
        (tmp_path / f"docs.jsonl{ending}").write_bytes(pack(Path(path).read_bytes()))
        packed = TextFiles(train=f"{path}{ending}", text="body", valid_share=0.2)
        assert [documents(packed, split) for split in ("train", "valid")] == [train, valid]


def test_folders_and_patterns_are_read_file_by_file(tmp_path: Path) -> None:
    for number in range(30):
        folder = tmp_path / "corpus" / str(number % 3)
        folder.mkdir(parents=True, exist_ok=True)
        put(folder / f"{number:02}.txt", f"file {number}. " * 20)
    put(tmp_path / "corpus" / ".hidden", "not this")
    for named in (str(tmp_path / "corpus"), f"{tmp_path}/corpus/*/*.txt", f"{tmp_path}/corpus/**/*.txt"):
        data = TextFiles(train=named, valid_share=0.2)
        train, valid = documents(data, "train"), documents(data, "valid")
        assert len(train) + len(valid) == 30
        assert 1 <= len(valid) <= 15
    few = TextFiles(train=f"{tmp_path}/corpus/0/*.txt", valid_share=0.5)
    assert [len(text) for text in documents(few, "valid").values()] == [
        len(text) - int(0.5 * len(text)) for text in (f"file {n}. " * 20 for n in range(0, 30, 3))
    ]


def test_a_folder_may_be_called_like_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "poems [1]").mkdir()
    put(tmp_path / "poems [1]" / "poem.txt", POEM)
    assert documents(TextFiles(train=str(tmp_path / "poems [1]"), valid_share=0.0), "train") == {1: POEM}


def test_of_many_files_some_are_held_out_whole(tmp_path: Path) -> None:
    for number in range(MANY):
        put(tmp_path / f"{number}.txt", f"text {number}")
    data = TextFiles(train=str(tmp_path), valid_share=0.3)
    found = [*documents(data, "train").values(), *documents(data, "valid").values()]
    assert sorted(found) == sorted(f"text {number}" for number in range(MANY))


@pytest.mark.parametrize("count", [1, 2, 3, 30])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.0, 0.02])
def test_of_a_few_documents_one_is_held_out_for_each_split(count: int, seed: int, share: float, tmp_path: Path) -> None:
    """Though chance would hold out none. One stays to be learnt from, and equal ones stay together."""
    rows = [{"text": f"text {number // 2}"} for number in range(2 * count)] + [{"text": " "}, {"text": 3}]
    path = put(tmp_path / "few.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    data = TextFiles(train=path, valid_share=0.02, test_share=share, seed=seed)
    found = {split: {*documents(data, split).values()} for split in SPLITS}
    assert sum(map(len, found.values())) == count
    assert set.union(*found.values()) == {f"text {number}" for number in range(count)}
    assert found["train"]
    assert bool(found["valid"]) == (count > 1)
    assert bool(found["test"]) == (share > 0 and count > 2)
    assert data.fingerprint() == TextFiles(train=path, valid_share=0.02, test_share=share, seed=seed).fingerprint()


def test_what_is_examined_is_not_learnt(tmp_path: Path) -> None:
    lines = [f"sentence number {n}" for n in range(50)]
    train = put(tmp_path / "train.txt", "\n".join([*lines, "SENTENCE  number 7", "secret one"]))
    valid, test = put(tmp_path / "valid.txt", "Sentence number 7\nold"), put(tmp_path / "test.txt", "Secret one\nold")
    data, report = TextFiles(train=train, valid=valid, test=test, documents="line"), Report()
    assert list(documents(data, "train", report).values()) == [line for line in lines if not line.endswith(" 7")]
    assert report.count("also in data.valid") == 2
    assert report.count("also in data.test") == 1
    assert list(documents(data, "valid").values()) == ["Sentence number 7"]
    assert list(documents(data, "test").values()) == ["Secret one", "old"]
    whole = TextFiles(train=[train, valid], test=put(tmp_path / "copy.txt", "sentence  number 7\nOLD"), valid_share=0.0)
    assert list(documents(whole, "train")) == [1]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.txt", b"", "no text in it; it is empty"),
        ("blank.txt", b" \n\n ", ""),
        ("latin.txt", "größer\n".encode("latin1") * 20, "not UTF-8 .*iconv"),
        ("wide.txt", "größer\n".encode("utf-16") * 20, "looks like UTF-16"),
        ("cut.txt.gz", gzip.compress(b"abc" * 999, mtime=0)[:-9], "cannot be read"),
        ("table.csv", b"a,b\n1,2\n", "a table of columns"),
        ("zip.txt", b"PK\x03\x04abc", "packed as zip"),
        ("zero.txt", bytes(1000), "not text"),
    ],
)
def test_bad_files_are_refused_in_a_line(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    data = TextFiles(train=put(tmp_path / name, content), valid_share=0.0)
    if not said:
        assert documents(data, "train")
        return
    with pytest.raises(InputError, match=said) as refused:
        data.survey(Heard())
    assert "\n" not in str(refused.value)


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    put(tmp_path / "poems.txt", POEM)
    (tmp_path / "nothing").mkdir()
    for named, said in (
        (tmp_path / "poem.txt", "no such file; did you mean .*poems.txt"),
        (tmp_path / "nothing", "a folder without files"),
        (tmp_path / "*.md", "no file matches"),
        ([str(tmp_path / "poems.txt"), f"{tmp_path}/*.txt"], "named twice; data.train has it"),
    ):
        with pytest.raises(InputError, match=said):
            TextFiles(train=named if isinstance(named, list) else str(named)).survey(Heard())


def test_the_fingerprint_is_of_all_that_decides_what_is_read(tmp_path: Path) -> None:
    path = put(tmp_path / "poem.txt", POEM)
    prints = {
        TextFiles(train=path, **more).fingerprint()
        for more in ({}, {"valid_share": 0.2}, {"documents": "line"}, {"seed": 2}, {"valid": path}, {"text": "body"})
    }
    assert len(prints) == 6
    assert TextFiles(train=path).fingerprint() in prints
    put(tmp_path / "poem.txt", POEM + "x")
    assert TextFiles(train=path).fingerprint() not in prints


def test_how_far_it_is_read_is_told(tmp_path: Path) -> None:
    heard = Heard()
    data = TextFiles(train=put(tmp_path / "poem.txt", POEM * 500), valid_share=0.1)
    data.survey(heard)
    assert heard.works[-1] == ("reading the data", len(POEM * 500), len(POEM * 500))
    assert data.count("train") + data.count("valid") > 5


def test_parquet_has_a_column_of_texts(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [f"text {n}" for n in range(700)] + [None, " "]
    parquet.write_table(arrow.table({"body": texts, "n": list(range(702))}), tmp_path / "docs.parquet")
    data, report = TextFiles(train=str(tmp_path / "docs.parquet"), text="body", valid_share=0.1), Report()
    train, valid = documents(data, "train", report), documents(data, "valid")
    assert sorted([*train.values(), *valid.values()]) == sorted(texts[:700])
    assert (report.count("without a text"), report.count("empty")) == (1, 1)
    there = "columns with texts are: body; say data.text=NAME"
    with pytest.raises(InputError, match=rf"docs.parquet: no column 'text'; {there}"):
        list(TextFiles(train=str(tmp_path / "docs.parquet")).read("train"))
    with pytest.raises(InputError, match=rf"docs.parquet: column 'n' has no texts \(int64\); {there}"):
        list(TextFiles(train=str(tmp_path / "docs.parquet"), text="n").read("train"))
    parquet.write_table(arrow.table({"text": [1, 2]}), tmp_path / "none.parquet")
    with pytest.raises(InputError, match=r"column 'text' has no texts \(int64\); no column has any"):
        list(TextFiles(train=str(tmp_path / "none.parquet")).read("train"))
    for kind in (arrow.large_string(), arrow.dictionary(arrow.int32(), arrow.string())):
        parquet.write_table(arrow.table({"text": arrow.array(["a b"], kind)}), tmp_path / "kind.parquet")
        assert list(TextFiles(train=str(tmp_path / "kind.parquet"), valid_share=0.0).read("train")) == [("a b",)]
    parquet.write_table(arrow.table({"text": [["a b"], ["c"]]}), tmp_path / "lists.parquet")
    with pytest.raises(InputError, match=r"column 'text' has no texts \(list<"):
        list(TextFiles(train=str(tmp_path / "lists.parquet")).read("train"))
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(99))
    with pytest.raises(InputError, match=r"bad.parquet: cannot be read"):
        list(TextFiles(train=str(tmp_path / "bad.parquet")).read("train"))


def test_no_files_are_nothing_to_learn_from() -> None:
    data = TextFiles(train="")
    assert not data.has("valid")
    assert not data.has("test")
    assert data.files("test") == []
    assert data.fingerprint()
    with pytest.raises(InputError, match="no texts to learn from; name files"):
        data.survey(Heard())


def test_files_that_are_learnt_are_known_and_those_held_out_are_not(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(f"text {number}")
    data = TextFiles(train=str(tmp_path), valid_share=0.3)
    learnt = set(documents(data, "train").values())
    assert 0 < len(learnt) < 40
    for number in range(40):
        for folder in (tmp_path, tmp_path / ".." / tmp_path.name):
            one = TextFiles(train=str(folder / f"{number}.txt")).origins("train")
            assert data.trains_on(one) == (f"text {number}" in learnt)
    assert data.trains_on({str(tmp_path / "other.txt")}) is None
    named = TextFiles(train=str(tmp_path / "1.txt"), valid=str(tmp_path / "2.txt"))
    assert named.trains_on({str(tmp_path.resolve() / "2.txt")}) is False
    assert named.trains_on({str(tmp_path.resolve() / "3.txt")}) is None
    assert TextFiles(train="").trains_on({str(tmp_path / "1.txt")}) is None
    blank = put(tmp_path / "blank.txt", " \n\n")
    assert not TextFiles(train=blank, documents="line", valid_share=0.0).trains_on({str(Path(blank).resolve())})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '[{"text": "x"}, {"text": "y"}]', r"a JSON array; .*: `jq -c '\.\[\]' a\.json > a\.jsonl`$"),
        ("b.txt", ' [\n "x",\n "y"\n]\n', r"`jq -c '\.\[\] \| \{text: \.\}' b\.txt > b\.jsonl`$"),
        ("c.json", json.dumps([{"text": "x" * 70_000}]), "a JSON array"),
        ("e.jsonl", '[{"text": "x"}, {"text": "y"}]', r"`jq -c '\.\[\]' e\.jsonl > e-lines\.jsonl`$"),
        ("f.jsonl", '[\n {"text": "x"},\n {"text": "y"}\n]\n', r"`jq -c '\.\[\]' f\.jsonl > f-lines\.jsonl`$"),
        ("d.json", '{"text": "x"}\n{"text": "y"}\n', r"JSON tables, one a line; call it d\.jsonl$"),
    ],
)
def test_json_is_no_plain_text(name: str, content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        list(TextFiles(train=put(tmp_path / name, content)).read("train"))


@pytest.mark.parametrize(
    "text", ["[Chorus]\nla la", "[1] Smith, 1999", "[[wiki]] text", "[", "[]", '["a"] he said', "[{'a': 1}]"]
)
def test_a_text_may_begin_with_a_bracket(text: str, tmp_path: Path) -> None:
    data = TextFiles(train=put(tmp_path / "a.txt", text), valid_share=0.0)
    assert list(data.read("train")) == [(text,)]


@pytest.mark.parametrize(
    ("name", "text"), [("a.txt", "one document " * 9), ("a.jsonl", '{"text": "x"}\n{"text": "y"}\n')]
)
def test_a_share_that_leaves_nothing_is_said(name: str, text: str, tmp_path: Path) -> None:
    data = TextFiles(train=put(tmp_path / name, text), valid_share=0.5, test_share=0.499999)
    data._chosen = {}
    with pytest.raises(
        InputError, match=r"nothing of it is left to learn from: [12] read .*\nlower data.valid_share or"
    ):
        list(data.read("train"))


def test_a_program_is_no_text_of_two_bytes_a_letter(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(b"".join(struct.pack("<HH", n % 100, n * 37 % 65_536) for n in range(9_000)))
    with pytest.raises(InputError, match="program: not text: there are bytes in it that no text has$"):
        list(TextFiles(train=str(path)).read("train"))
