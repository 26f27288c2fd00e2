"""Tables with more than two columns, or with a header: what is not clear is asked, never guessed."""

from pathlib import Path

import pytest

from regard.datasets.data import Report
from regard.datasets.files import Files
from regard.errors import InputError

PAIRS = [(f"Satz {n}", f"sentence {n}") for n in range(30)]


def put(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return str(folder / name)


def read(train: str, source: str | int = "source", target: str | int = "target") -> list[tuple[str, str]]:
    return list(Files(train=train, source=source, target=target, valid_share=0.0).read("train"))


def told(train: str, source: str | int = "source", target: str | int = "target") -> str:
    with pytest.raises(InputError) as refused:
        read(train, source, target)
    assert 1 <= len(str(refused.value).splitlines()) <= 2
    return str(refused.value)


def rows(mark: str, pairs: list[tuple[str, str]] = PAIRS, numbered: bool = False) -> str:
    cells = ([str(n), *pair] if numbered else [*pair] for n, pair in enumerate(pairs, 1))
    return "".join(mark.join(row) + "\n" for row in cells)


def test_a_column_of_numbers_is_not_taken_for_a_language(tmp_path: Path) -> None:
    train = put(tmp_path, "ids.tsv", rows("\t", numbered=True))
    said = told(train)
    assert "ids.tsv: which of its 3 columns are source and target is not clear" in said
    assert "its first row is 1: '1'  2: 'Satz 0'  3: 'sentence 0'" in said
    assert said.endswith("say which by their numbers, such as data.source=2 data.target=3")
    assert read(train, 2, 3) == PAIRS
    assert read(train, "3", "2") == [(target, source) for source, target in PAIRS]
    assert "no column 4; there are 3: 1: '1'" in told(train, 2, 4)


@pytest.mark.parametrize("head", ["id\tde\ten\n", "de\ten\n", "Source text\tTarget text\n", "German\tEnglish\n"])
def test_a_header_is_not_taken_for_a_pair(head: str, tmp_path: Path) -> None:
    train = put(tmp_path, "head.tsv", head + rows("\t", numbered=head.count("\t") == 2))
    said = told(train, "german_", "english_")
    names = [name for name in head.strip().split("\t") if name != "id"]
    assert "no columns are called 'german_' and 'english_'; its first row is" in said
    assert f"say data.source={names[0]} data.target={names[1]}, or the other way round" in said
    assert read(train, *names) == PAIRS
    assert read(train, names[1].upper(), names[0].lower()) == [(target, source) for source, target in PAIRS]


def test_one_name_of_two_is_not_enough(tmp_path: Path) -> None:
    train = put(tmp_path, "head.tsv", "id\tde\ten\n" + rows("\t", numbered=True))
    assert "one of the two columns is not there" in told(train, "de", "fr")
    assert "say both by name or by number" in told(train, "de", 3)
    double = put(tmp_path, "double.tsv", "de\tde\ten\n" + rows("\t", numbered=True))
    assert "two columns are called 'de'; say which by number:" in told(double, "de", "en")


def test_a_header_that_numbers_take_for_a_pair_is_noted(tmp_path: Path) -> None:
    data = Files(train=put(tmp_path, "head.tsv", "id\tde\ten\n" + rows("\t", numbered=True)), source=2, target=3)
    report = Report()
    assert ("de", "en") in [pair for _, pair in data.numbered("train", report)]
    assert report.notes == [
        "row 1 (de, en) looks like a header and is taken for a pair; name the columns to leave it out"
    ]


def test_csv_may_have_quotes_marks_and_line_breaks_in_its_cells(tmp_path: Path) -> None:
    text = 'de,en\n"Ja, ""so"" ist\nes","Yes, ""so""\r\nit is"\n' + rows(",")
    data = Files(train=put(tmp_path, "t.csv", text), source="de", target="en", valid_share=0.0)
    found = list(data.numbered("train", Report()))
    assert found[0] == (2, ('Ja, "so" ist es', 'Yes, "so" it is'))
    assert found[1] == (5, PAIRS[0])  # lines are counted, not records


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_what_parts_the_columns_of_a_csv_is_found_out(mark: str, tmp_path: Path) -> None:
    pairs = [(f"Satz {n}", "one, two" if mark == ";" and n % 3 else f"sentence {n}") for n in range(30)]
    assert read(put(tmp_path, "t.csv", rows(mark, pairs))) == pairs
    assert read(put(tmp_path, "h.csv", f"de{mark}en\n" + rows(mark, pairs)), "de", "en") == pairs


def test_marks_that_could_both_part_columns_are_asked_about(tmp_path: Path) -> None:
    text = "".join(f"ja, {n}; yes\n" for n in range(9))
    assert "columns apart by commas or semicolons? Both are in every line" in told(put(tmp_path, "t.csv", text))
    assert read(put(tmp_path, "h.csv", "de;en\n" + "".join(f"ja, {n};yes, {n}\n" for n in range(9))), "de", "en")


def test_a_quote_that_is_not_closed_is_told_with_its_line(tmp_path: Path) -> None:
    train = put(tmp_path, "t.csv", "de,en\n" + rows(",") + '"offen,x\n' + rows(","))
    said = told(train, "de", "en")
    assert "t.csv: line 32: a quote is not closed, or stands inside a cell" in said
    assert said.endswith('a quote in them twice: "say ""yes"""')


@pytest.mark.parametrize(("mark", "named"), [(",", "commas"), (";", "semicolons")])
def test_a_tsv_without_tabs_is_told_what_it_has(mark: str, named: str, tmp_path: Path) -> None:
    said = told(put(tmp_path, "t.tsv", rows(mark)))
    assert said.endswith(f"t.tsv: no tabs but {named} in its lines; if they part the columns, call it t.csv")
    assert "no tabs in its lines; wanted are a source, a tab and a target" in told(put(tmp_path, "u.tsv", "a b\nc d\n"))


def test_json_without_the_keys_is_told_which_there_are(tmp_path: Path) -> None:
    lines = "".join(f'{{"id": {n}, "german": "{de}", "english": "{en}"}}\n' for n, (de, en) in enumerate(PAIRS))
    train = put(tmp_path, "t.jsonl", lines)
    said = told(train)
    assert "t.jsonl: no 'source' or 'target' in its lines; the keys there are: id, german, english" in said
    assert said.endswith("say data.source=german data.target=english, or the other way round")
    assert read(train, "german", "english") == PAIRS
    array = put(tmp_path, "t.json", '[{"de": "a", "en": "b"}]')
    assert told(array).endswith("a JSON array; wanted is a table a line: `jq -c '.[]' t.json > t.jsonl`")


def test_a_cell_too_many_is_counted_and_not_shifted(tmp_path: Path) -> None:
    data = Files(train=put(tmp_path, "t.tsv", rows("\t") + "a\tb\tc\nlonely\n"), valid_share=0.0)
    report = data.report("train")
    assert str(report) == ("32 read from t.tsv, 2 dropped: 2 with too few or too many columns (lines 31, 32); 30 left")


def test_a_cell_too_many_is_no_pair_even_where_most_rows_have_one(tmp_path: Path) -> None:
    """A comma in a text that nobody quoted would cut the text short."""
    rows = [f"wort {n},one thousand, and {n}" if n % 2 else f"wort {n},word {n}" for n in range(100)]
    (tmp_path / "pairs.csv").write_text("\n".join(["de,en", *rows]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"pairs\.csv: 50 of 100 lines are not "):
        list(Files(train=str(tmp_path / "pairs.csv"), source="de", target="en").read("train"))
