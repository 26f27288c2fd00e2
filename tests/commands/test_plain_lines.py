"""What strangers' names and texts can do where they are written for people: nothing."""

import csv
import io
import shutil
import sys
from pathlib import Path

import pytest
from small_images import put, recipe
from spoken import regard

from regard.cells import CsvWriter, text_cell
from regard.commands.show import console, line, plainly
from regard.errors import InputError
from regard.training.train import training

FORMULA = "=cmd|' #C calc'!A0"
EVIL = "a\x1b]0;EVIL\x07b\x9b31m\u202etxt\u2066.\u2069c"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        *((f"{start}1+1", f"'{start}1+1") for start in "=+-@\t\r"),
        *((number, number) for number in ("-1.5", "+2", "-1e-09", "-inf", "0.5", "")),
        ("-", "'-"),
        ("a=1", "a=1"),
        ("-1.5 dB", "'-1.5 dB"),
    ],
)
def test_a_text_is_no_formula_and_a_number_stays_one(text: str, cell: str) -> None:
    assert text_cell(text) == cell
    file = io.StringIO()
    CsvWriter(file).row([text, -1.5, None])
    assert next(csv.reader(io.StringIO(file.getvalue(), newline=""))) == [cell, "-1.5", ""]


def test_no_name_of_an_image_or_a_class_is_a_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = put(tmp_path / "data")
    (data / "up").rename(data / FORMULA)
    list(training(recipe(data, training={"steps": 2}), out=tmp_path / "run"))
    shutil.copy(next((data / FORMULA).glob("*.png")), tmp_path / "@SUM(1).png")
    assert regard("evaluate", "run", "-q").code == 0
    done = regard("classify", "run", "@SUM(1).png", "--csv")
    for table in ((tmp_path / "run" / "predictions.csv").read_text(), done.out):
        cells = [cell for row in csv.reader(table.splitlines()) for cell in row]
        assert f"'{FORMULA}" in table
        assert not any(cell[:1] in tuple("=+-@") for cell in cells if cell)
    assert done.lines[1].startswith("'@SUM(1).png,")


def test_a_terminal_takes_no_orders_and_a_pipe_gets_the_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    plainly(Path(EVIL))
    plainly(f"{EVIL}\tb")
    said = sys.stdout.getvalue()
    assert said == "a ]0;EVIL b 31m txt . c\na ]0;EVIL b 31m txt . c\tb\n"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    plainly(EVIL)
    assert sys.stdout.getvalue() == f"{EVIL}\n"
    monkeypatch.setattr(console, "_file", told := io.StringIO())
    line(EVIL, (EVIL, "bold"))
    assert not set(EVIL[1:2] + "\x07\x9b\u202e\u2066\u2069") & set(told.getvalue() + str(InputError(EVIL)))
