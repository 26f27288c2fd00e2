"""A user's own files: every form read alike, nothing lost in silence, and no pair in two splits."""

import gzip
import json
import lzma
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.files import Files
from regard.datasets.files.leaks import PAIR, normal
from regard.datasets.files.sources import EMPTY, NOT_UTF8, TOO_LONG
from regard.datasets.lines import LONGEST
from regard.datasets.pairs import Pair
from regard.datasets.report import Dropped
from regard.errors import InputError

few = settings(deadline=None, max_examples=30, derandomize=True)
PAIRS: list[Pair] = [
    ("Ein Hund.", "A dog."),
    ("  Zwei  Männer ", "Two  men"),
    ("한국어", "Korean 😀"),
    ("a\u2028b", "c\x85d"),
]
WHOLE: list[Pair] = [(source.strip(), target.strip()) for source, target in PAIRS]
PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
FORMS = ("parallel", "tsv", "header", "csv", "semicolons", "jsonl", "nested", "column")


def form(kind: str, pairs: list[Pair], end: str = "\n") -> dict[str, str]:
    """The names and contents of the files of one form."""
    match kind:
        case "parallel":
            return {
                f"train.{side}": "".join(pair[place] + end for pair in pairs) for place, side in enumerate(("de", "en"))
            }
        case "tsv":
            return {"train.tsv": "".join(f"{source}\t{target}{end}" for source, target in pairs)}
        case "header":
            return {"train.tsv": f"en\tde{end}" + "".join(f"{target}\t{source}{end}" for source, target in pairs)}
        case "csv":
            return {"train.csv": f"de,en{end}" + "".join(f'"{source}","{target}"{end}' for source, target in pairs)}
        case "semicolons":
            return {"train.csv": f"de;en{end}" + "".join(f"{source};{target}{end}" for source, target in pairs)}
        case "column":
            rows_of = (f"{number}\t{source}\t{target}{end}" for number, (source, target) in enumerate(pairs))
            return {"train.tsv": f"id\tDE\tEN{end}" + "".join(rows_of)}
        case "jsonl":
            rows: list[dict[str, object]] = [{"id": 7, "en": target, "de": source} for source, target in pairs]
        case _:
            rows = [{"id": 7, "translation": {"de": source, "en": target}} for source, target in pairs]
    return {"train.jsonl": "".join(json.dumps(row) + end for row in rows)}


def put(folder: Path, files: dict[str, str], packed: str = "") -> str:
    """Write files, and give the name by which a recipe calls them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}{packed}").write_bytes(PACK[packed](text.encode()))
    name = next(iter(files))
    return str(folder / (name.removesuffix(".de") if name.endswith(".de") else name + packed))


def files(train: str, valid_share: float = 0.0, test_share: float = 0.0, valid: str = "", seed: int = 1) -> Files:
    shares = {"valid_share": valid_share, "test_share": test_share}
    return Files(train=train, valid=valid, source="de", target="en", seed=seed, **shares)


def read(data: Files, split: Split) -> tuple[list[tuple[int, Pair]], Report]:
    """Numbered pairs, and the report of them."""
    report = Report()
    return list(data.numbered(split, report)), report


def tsv(folder: Path, lines: list[str | bytes], name: str = "train") -> str:
    raw = [line.encode() if isinstance(line, str) else line for line in lines]
    (folder / f"{name}.tsv").write_bytes(b"".join(line + b"\n" for line in raw))
    return str(folder / f"{name}.tsv")


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("kind", FORMS)
def test_every_form_gives_the_same_pairs(kind: str, packed: str, tmp_path: Path) -> None:
    assert list(files(put(tmp_path, form(kind, PAIRS), packed)).read("train")) == WHOLE


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("kind", FORMS)
def test_line_ends_and_byte_order_marks_are_no_text(kind: str, mark: str, end: str, tmp_path: Path) -> None:
    marked = {name: mark + text.removesuffix(end) for name, text in form(kind, PAIRS, end).items()}
    assert list(files(put(tmp_path, marked)).read("train")) == WHOLE


def test_a_json_key_may_be_called_translation(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "Hund", "translation": "dog"}\n')
    data = Files(train=str(tmp_path / "train.jsonl"), source="text", target="translation", valid_share=0.0)
    assert list(data.read("train")) == [("Hund", "dog")]


@pytest.mark.parametrize(("shorter", "longer", "counts"), [("de", "en", (3, 5)), ("en", "de", (0, 5))])
def test_files_that_do_not_belong_together_are_refused(
    shorter: str, longer: str, counts: tuple[int, int], tmp_path: Path
) -> None:
    for side, count in zip((shorter, longer), counts, strict=True):
        (tmp_path / f"train.{side}").write_text("a line\n" * count)
    said = f"train.{shorter} has {counts[0]} lines and {tmp_path}/train.{longer} has {counts[1]}: they do not belong"
    with pytest.raises(InputError, match=re.escape(said)):
        list(files(f"{tmp_path}/train").read("train"))


@pytest.mark.parametrize("kind", FORMS)
def test_an_empty_file_is_refused(kind: str, tmp_path: Path) -> None:
    name = put(tmp_path, form(kind, []))
    with pytest.raises(InputError, match=f"^{re.escape(name)}: no sentence pair in it; it is empty$"):
        list(files(name).read("train"))


def test_what_is_left_out_is_counted_with_its_first_lines(tmp_path: Path) -> None:
    lines: list[str | bytes] = [f"a {n}\tb {n}" for n in range(60)]
    lines[4] = "\tonly english"
    lines[9] = "only german\t  "
    lines[20] = ""
    lines[30] = b"not \xff UTF-8\tsome"
    lines[31] = "no tab"
    lines[40] = b"zero\0\tzero"
    data = files(tsv(tmp_path, lines))
    for _ in range(2):  # a report of its own each time
        found, report = read(data, "train")
        assert len(found) == report.kept == 54
        assert [number for number, _ in found] == [n + 1 for n in range(60) if n not in (4, 9, 20, 30, 31, 40)]
        assert str(report) == (
            "60 read from train.tsv, 6 dropped: 3 empty (lines 5, 10, 21), 2 not UTF-8 (lines 31, 41), "
            "1 with too few or too many columns (line 32); 54 left"
        )


@pytest.mark.parametrize("kind", ["parallel", "tsv", "csv", "jsonl"])
def test_an_overlong_line_is_dropped_and_counted(kind: str, tmp_path: Path) -> None:
    pairs = [("eins", "one"), ("x" * (LONGEST + 1), "long"), ("drei", "three")]
    found, report = read(files(put(tmp_path, form(kind, pairs))), "train")
    assert [pair for _, pair in found] == [pairs[0], pairs[2]]
    assert report.count(TOO_LONG) == 1
    assert report.dropped == 1


def test_a_row_of_csv_that_never_ends_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('a,b\n"x\n"' + ',"y\n"' * (LONGEST // 2))
    with pytest.raises(InputError, match="has no end"):
        list(files(f"{tmp_path}/train.csv").read("train"))


def test_lines_that_end_in_cr_alone_are_refused_however_few(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_bytes(b"eins\tone\rzwei\ttwo\r")
    with pytest.raises(InputError, match="CR alone"):
        list(files(f"{tmp_path}/train.tsv").read("train"))


def test_an_empty_or_broken_line_of_one_file_takes_its_partner_with_it(tmp_path: Path) -> None:
    (tmp_path / "train.de").write_bytes(b"eins\n\ndrei\n\xe4\n" + b"mehr\n" * 40)
    (tmp_path / "train.en").write_bytes(b"one\ntwo\nthree\nfour\n" + b"more\n" * 40)
    data = files(f"{tmp_path}/train")
    assert list(data.read("train")) == [("eins", "one"), ("drei", "three"), *[("mehr", "more")] * 40]
    found, report = read(data, "train")
    assert report.left_out == {EMPTY: Dropped(1, ["line 2"]), NOT_UTF8: Dropped(1, ["line 4"])}
    assert found[1] == (3, ("drei", "three"))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        *[(row, "not JSON") for row in ("{", "null", "[" * 99_999)],
        *[(row, "JSON but no table") for row in ("[1]", "5", '"text"')],
        *[(row, "without 'en'") for row in ('{"de": "a"}', '{"translation": {"de": "a"}}')],
        ('{"translation": 5}', "without 'de'"),
        ('{"de": "a", "en": null}', "with null for 'en'"),
        *[(row, "with no text for 'en'") for row in ('{"de": "a", "en": 5}', '{"de": "a", "en": "\\udc00"}')],
        ('{"de": "half \\ud83d", "en": "b"}', "with no text for 'de'"),
    ],
    ids=lambda row: row[:40],
)
def test_a_row_of_another_kind_is_counted_by_what_is_wrong_with_it(row: str, why: str, tmp_path: Path) -> None:
    whole = '{"de": "a 😀", "en": "b"}\n'
    (tmp_path / "train.jsonl").write_text(whole * 10 + row + "\n" + whole * 10)
    data = files(f"{tmp_path}/train.jsonl", valid_share=0.1)
    assert Counter(pair for split in ("train", "valid") for pair in data.read(split)) == {("a 😀", "b"): 20}
    assert read(data, "train")[1].left_out == {why: Dropped(1, ["line 11"])}


def test_what_is_mostly_no_text_is_refused(tmp_path: Path) -> None:
    lines: list[str | bytes] = [f"a {n}\tb" for n in range(18)]
    data = files(tsv(tmp_path, [*lines, b"\xff\tb", b"\xff\tb"]))
    assert len(list(data.read("train"))) == 18
    data = files(tsv(tmp_path, [*lines, *[b"\xff\tb"] * 3]))
    said = r"train\.tsv: 3 of 21 lines are not UTF-8; it looks like latin-1: convert it with `iconv -f latin1 -t utf-8 "
    with pytest.raises(InputError, match=said):
        list(data.read("train"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ein Hund\tA dog\n".encode("utf-16"), "not UTF-8; it looks like UTF-16: convert it with `iconv -f utf-16 -t"),
        ("Ein Hund\tA dog\n".encode("utf-16-le") * 9, "not UTF-8; it looks like UTF-16LE: convert"),
        ("Ein Hund\tA dog\n".encode("utf-16-be") * 9, "not UTF-8; it looks like UTF-16BE: convert"),
        (bytes(range(256)) * 9, "not text: there are bytes in it that no text has"),
        (gzip.compress(b"a\tb\n", mtime=0), "not text but packed as gzip; call it train.tsv.gz"),
        (b"PK\x03\x04rest", "not text but packed as zip"),
        (b"a\tb\rc\td\r", "its lines end in CR alone; write it anew: tr "),
    ],
    ids=["utf-16", "le", "be", "binary", "gzip", "zip", "CR"],
)
def test_what_is_no_text_at_all_is_refused(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_bytes(text)
    with pytest.raises(InputError, match=rf"train\.tsv: {re.escape(said)}"):
        list(files(f"{tmp_path}/train.tsv").read("train"))


@pytest.mark.parametrize("packed", [".gz", ".xz"])
@pytest.mark.parametrize("damage", ["cut", "changed", "plain"])
def test_a_damaged_package_is_refused(packed: str, damage: str, tmp_path: Path) -> None:
    whole = PACK[packed]("".join(f"{n * n}\t{n**3}\n" for n in range(2_000)).encode())
    middle = bytes(byte ^ 0x5A for byte in whole[200:400])
    damaged = {"cut": whole[:-300], "changed": whole[:200] + middle + whole[400:], "plain": b"a\tb\n"}[damage]
    (tmp_path / f"train.tsv{packed}").write_bytes(damaged)
    with pytest.raises(InputError, match=rf"train\.tsv{packed}: cannot be read: "):
        list(files(f"{tmp_path}/train.tsv{packed}").read("train"))


def test_lines_that_are_held_out_in_a_file_are_told_with_their_numbers(tmp_path: Path) -> None:
    train = tsv(tmp_path, [f"{n}\t{n}" for n in range(30)])
    valid = tsv(tmp_path, ["5\t5", "", "17\t17", "v\tv"], "valid")
    test = tsv(tmp_path, ["29\t29"], "test")
    data = Files(train=train, valid=valid, test=test, source="de", target="en")
    reports = {split: read(data, split)[1] for split in SPLITS}
    said = (
        "30 read from train.tsv, 3 dropped: 2 also in data.valid (lines 6, 18), 1 also in data.test (line 30); 27 left"
    )
    assert str(reports["train"]) == f"{said}; in 27 pairs source and target are the same"
    assert str(reports["valid"]) == "4 read from valid.tsv, 1 dropped: 1 empty (line 2); 3 left"
    assert str(reports["test"]) == "1 read from test.tsv"


def test_held_out_shares_do_not_repeat_what_is_wrong_with_the_training_file(tmp_path: Path) -> None:
    lines: list[str | bytes] = [f"{n}\t{n}" for n in range(200)]
    lines[3], lines[4] = "", b"\xff\tx"
    data = files(tsv(tmp_path, lines), 0.2, 0.2)
    reports = {split: read(data, split)[1] for split in SPLITS}
    assert reports["train"].left_out == {EMPTY: Dropped(1, ["line 4"]), NOT_UTF8: Dropped(1, ["line 5"])}
    assert str(reports["valid"]) == f"{reports['valid'].kept} held out of train"
    assert reports["train"].held_out == reports["valid"].kept + reports["test"].kept
    assert reports["valid"].left_out == reports["test"].left_out == {}
    assert sum(report.kept for report in reports.values()) == 198
    assert reports["valid"].kept > 20 < reports["test"].kept


def test_nothing_but_troubles_is_refused_with_them(tmp_path: Path) -> None:
    name = tsv(tmp_path, ["a\t", "\tb"])
    with pytest.raises(
        InputError, match=r"train\.tsv: no sentence pair in it: 2 read from train.tsv, 2 dropped: 2 empty"
    ):
        list(files(name).read("train"))


def test_a_file_that_may_not_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, opened = files(tsv(tmp_path, ["a\tb"])), os.open

    def refuse(path: Path, *rest: int) -> int:
        if str(path).endswith(".tsv"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest)

    monkeypatch.setattr(os, "open", refuse)
    for use in (data.fingerprint, lambda: list(data.read("train"))):
        with pytest.raises(InputError, match=r"train\.tsv: cannot be read: .*Permission denied$"):
            use()


def test_a_missing_file_is_said_with_what_mends_it(tmp_path: Path) -> None:
    said = f"{tmp_path}/train.source: no such file (nor packed as .gz or .xz); say data.source=… and data.target=…"
    with pytest.raises(InputError, match=f"^{re.escape(said)}"):
        list(Files(train=f"{tmp_path}/train").read("train"))
    (tmp_path / "train.de").write_text("a\n")
    with pytest.raises(
        InputError, match=r"train\.en: no such file \(nor packed as \.gz or \.xz\); there is only train\.de$"
    ):
        list(files(f"{tmp_path}/train").read("train"))
    with pytest.raises(InputError, match=r"train\.tsv: no such file$"):
        list(files(f"{tmp_path}/train.tsv").read("train"))
    with pytest.raises(InputError, match=r"train\.tsv: no such file$"):
        files(f"{tmp_path}/train.tsv").fingerprint()


TEXT = st.text("ab 한", max_size=3)
SOME = st.lists(st.tuples(TEXT, TEXT), max_size=40)


def whole(pairs: list[Pair]) -> list[Pair]:
    return [(one.strip(), other.strip()) for one, other in pairs if one.strip() and other.strip()]


@few
@given(pairs=SOME, shares=st.tuples(st.floats(0, 0.4), st.floats(0, 0.4)), seed=st.integers(0, 3))
def test_shares_part_no_equal_pairs_and_lose_none(pairs: list[Pair], shares: tuple[float, float], seed: int) -> None:
    pairs = [*pairs, *((f"{n}", f"{n}") for n in range(30))] * 2
    with tempfile.TemporaryDirectory() as folder:
        name = tsv(Path(folder), [f"{one}\t{other}" for one, other in pairs])
        data = files(name, *shares, seed=seed)
        splits = {split: list(data.read(split)) for split in SPLITS}
    assert sum((Counter(found) for found in splits.values()), Counter()) == Counter(whole(pairs))
    assert sum(len(set(found)) for found in splits.values()) == len(set(whole(pairs)))
    for found in splits.values():
        assert found == [pair for pair in whole(pairs) if pair in {*found}]


def test_shares_are_about_as_large_as_asked_for(tmp_path: Path) -> None:
    name = tsv(tmp_path, [f"{n}\t{n}" for n in range(2_000)])
    data, other = files(name, 0.2, 0.1), files(name, 0.2, 0.1, seed=2)
    counts = [len(list(data.read(split))) for split in SPLITS]
    assert counts == pytest.approx([1_400, 400, 200], rel=0.15)
    assert list(other.read("valid")) != list(data.read("valid"))
    assert not list(files(name).read("valid"))


@few
@given(train=SOME, valid=SOME, share=st.sampled_from([0.0, 0.5]))
def test_what_is_in_a_validation_file_is_nowhere_else(train: list[Pair], valid: list[Pair], share: float) -> None:
    """Neither in what is trained on, nor in a test share of it."""
    own = [(f"{n}", f"{n}") for n in range(30)]
    valid = [("v", "v"), *own[:10], *valid]
    with tempfile.TemporaryDirectory() as folder:
        names = [
            tsv(Path(folder), [f"{one}\t{other}" for one, other in some], name)
            for some, name in ((own + train, "train"), (valid, "valid"))
        ]
        data = files(names[0], 0.3, share, valid=names[1])
        splits: dict[Split, list[Pair]] = {split: list(data.read(split)) for split in SPLITS}
        _, found = read(data, "train")
    assert splits["valid"] == whole(valid)
    assert not {*splits["train"], *splits["test"]} & {*splits["valid"]}
    known = {normal(source) for source, _ in whole(valid)}
    assert {*splits["train"], *splits["test"]} == {
        pair for pair in [*own, *whole(train)] if normal(pair[0]) not in known
    }
    assert bool(splits["test"]) == bool(share)
    assert found.count(PAIR.format("data.valid")) >= 10


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    here, there = (put(tmp_path / place, form("parallel", PAIRS)) for place in ("here", "there"))
    known = files(here).fingerprint()
    assert files(there).fingerprint() == known
    os.utime(tmp_path / "here" / "train.de", (1, 1))
    assert files(here).fingerprint() == known
    with (tmp_path / "here" / "train.en").open("a") as file:
        file.write(" ")
    assert files(here).fingerprint() != known


def test_files_are_looked_at_once_when_the_fingerprint_is_first_asked_for(tmp_path: Path) -> None:
    """So that data that are moved or changed later do not stop a run."""
    name = tsv(tmp_path, ["a\tb"])
    data, late = files(name), files(name)
    known = data.fingerprint()
    Path(name).write_text("c\td\n")
    assert data.fingerprint() == known
    assert late.fingerprint() != known
    Path(name).unlink()
    assert data.fingerprint() == known
    with pytest.raises(InputError, match="no such file"):
        files(name).fingerprint()


@pytest.mark.parametrize("kind", ["parallel", "jsonl", "nested"])
def test_the_fingerprint_changes_with_what_is_read(kind: str, tmp_path: Path) -> None:
    one = put(tmp_path, form(kind, PAIRS))
    other = tsv(tmp_path, ["v\tv"], "valid")
    data = [
        files(one),
        files(one, 0.5),
        files(one, 0.0, 0.5),
        files(one, 0.5, seed=2),
        files(one, valid=other),
        Files(train=one, test=other, source="de", target="en", valid_share=0.0),
        Files(train=one, source="en", target="de", valid_share=0.0),
    ]
    assert len({some.fingerprint() for some in data}) == len(data)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="source and target are both 'de'"):
        Files(train="train", source="de", target="de")
    with pytest.raises(ValueError, match="leave nothing to train on"):
        Files(train="train", valid_share=0.5, test_share=0.5)
