"""Answers as tables: printed as text, shown as HTML in notebooks, and lists all the same."""

from pathlib import Path

import numpy as np
import pytest

import regard
from regard.markup import Answer, Answers
from regard.tasks.classification import Classified
from regard.tasks.language.scorer import ScoredText
from regard.tasks.language.writing import Generated, Written
from regard.tasks.restoration import Restored
from regard.tasks.translation import Translated

TOKENS = [Written("a", 1, -1.0), Written("b", 2, -2.0)]
GREY = np.zeros((2, 3, 1), np.uint8)
ANSWERS: dict[str, tuple[Answer, list[str]]] = {
    "translated": (
        Translated("<b>neun</b>", ["nine", "no"], [-0.1, -2.0]),
        ["<b>neun</b>", "nine", "-0.100", "-2.000"],
    ),
    "generated": (Generated("The", " end\nof it", TOKENS), ["The", "end of it", "2", "-3.00", "stopped"]),
    "scored": (ScoredText("ab", TOKENS), ["ab", "-3.00", "-1.500", "2.164"]),
    "classified": (Classified("x.png", ["cat", "dog"], [0.75, 0.25]), ["x.png", "cat", "75.0 %", "dog", "25.0 %"]),
    "restored": (Restored("x.png", GREY, GREY, None, Path("out/x.png")), ["x.png", "2 × 3", "out/x.png"]),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_is_a_table(kind: str) -> None:
    one, cells = ANSWERS[kind]
    lines = str(Answers([one, one])).splitlines()
    assert lines[0].split() == " ".join(one.heads).split()
    assert len(lines) == 1 + 2 * len(one.rows())
    assert all(cell in str(one) for cell in cells)
    html = Answers([one, one])._repr_html_()
    assert html.count("<tr>") == len(lines)
    assert "<b>neun" not in html  # text is never markup
    assert one._repr_html_().count("<tr>") == 1 + len(one.rows())
    assert html.count('<img src="data:image/png;base64,iVBOR') == (4 if kind == "restored" else 0)  # before and after


def test_long_texts_are_cut_in_print_and_whole_in_a_notebook() -> None:
    one = Translated("x" * 300, ["y"], [0.0])
    assert "x" * 61 not in str(one)
    assert "…" in str(one)
    assert "x" * 300 in one._repr_html_()


def test_no_answers_are_said() -> None:
    assert (str(Answers([])), Answers([])._repr_html_()) == ("no answers", "no answers")


def test_a_call_gives_a_list_that_is_a_table(run: regard.Run) -> None:
    found = regard.translate(run, ["a b", "c"])
    assert isinstance(found, list)
    assert found[0].text == regard.translate(run, "a b")[0].text
    assert str(found).splitlines()[0].split() == ["source", "translation", "score"]
