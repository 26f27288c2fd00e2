"""Letters that the usual font has not are drawn with one that an installed package brings, or owned up to."""

import importlib
from pathlib import Path

import pytest
from matplotlib import font_manager

from regard.looking.alignment import Alignment

WORDS = ["좋은", "저녁"]


def font(path: Path, letters: str) -> None:
    """A font in which every one of these letters is a square."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    pen = TTGlyphPen(None)
    for number, point in enumerate([(100, 0), (100, 700), (800, 700), (800, 0)]):
        pen.lineTo(point) if number else pen.moveTo(point)
    pen.closePath()
    names = [".notdef", *(f"g{number}" for number in range(len(letters)))]
    made = FontBuilder(1000, isTTF=True)
    made.setupGlyphOrder(names)
    made.setupCharacterMap({ord(letter): f"g{number}" for number, letter in enumerate(letters)})
    made.setupGlyf(dict.fromkeys(names, pen.glyph()))
    made.setupHorizontalMetrics(dict.fromkeys(names, (900, 100)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": "Squares", "styleName": "Regular"})
    made.setupOS2()
    made.setupPost()
    path.parent.mkdir(parents=True)
    made.save(path)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no font but the usual one."""
    usual = [one for one in font_manager.fontManager.ttflist if one.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", usual)


@pytest.mark.usefixtures("bare")
def test_a_package_brings_the_font(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "koreanize_matplotlib"
    font(package / "fonts" / "squares.ttf", "".join(WORDS))
    (package / "__init__.py").write_text("raise RuntimeError('it is not run')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    importlib.invalidate_caches()
    seen = Alignment(WORDS, ["good", "evening"], [[1.0, 0.0], [0.0, 1.0]])
    path = seen.draw(tmp_path / "x.svg")  # a warning would be an error
    assert path.stat().st_size > 1000
    assert any(one.name == "Squares" for one in font_manager.fontManager.ttflist)


@pytest.mark.usefixtures("bare")
def test_without_one_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.pictures.find_spec", lambda name: None)
    with pytest.warns(UserWarning, match=r"no font with Hangul letters here.*, or pip install 'regard\[fonts\]'$"):
        Alignment(WORDS, ["a", "b"], [[1.0, 0.0], [0.0, 1.0]]).draw(tmp_path / "x.png")
