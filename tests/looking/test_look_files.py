"""Pictures and numbers: what is written down can be read again, exactly, and says how it is to be read."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import torch
from seen_models import SOURCE, TARGET, read, translated

from regard.errors import InputError
from regard.looking import drawing
from regard.looking.heads import measure
from regard.looking.look import Look
from regard.looking.saving import heads_file

LONG = "the quick brown fox jumps over the lazy dog. " * 4


def said(path: Path) -> str:
    """All words in an SVG, wherever its lines end."""
    found = " ".join(element.text for element in ElementTree.parse(path).iter() if element.text)
    return " ".join(found.split())


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def drawn(look: Look, path: Path, view: str = "", **how: object) -> str:
    with mpl.rc_context({"svg.fonttype": "none"}):
        return said(look.save(path, view, **how))  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("view", ["cross", "cross.1.0", "heads.masked", "rollout.encoder", "influence.inputs"])
def test_every_view_is_drawn(view: str, ending: str, tmp_path: Path) -> None:
    if ending == "pdf" and view != "cross":
        pytest.skip("one is enough")
    path = translated("transformer").save(tmp_path / "deep" / f"x.{ending}", view)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(start)


def test_a_picture_says_what_it_shows_and_how_exact_it_is(tmp_path: Path) -> None:
    words = drawn(translated("transformer"), tmp_path / "x.svg", "cross.1.0")
    assert {*SOURCE.split(), *TARGET.split()} <= set(words.split())
    assert "cross-attention, layer 1, head 0" in words
    assert f"{SOURCE} → {TARGET}" in words
    assert "grey is exactly 0" in words
    assert re.search(r"weights exact to \de-\d\d", words)
    assert "sub-words" not in words  # every token is a word here
    assert "sub-words merged: columns are sums" in drawn(read("the fox jumps"), tmp_path / "y.svg", "masked")


@pytest.mark.parametrize(("text", "words"), [("thefox", False), ("the fox", False), ("the fox jumps", True)])
def test_a_side_of_one_or_two_words_is_shown_in_tokens(text: str, words: bool, tmp_path: Path) -> None:
    """Merged, next to nothing would be seen of them; who wants words says so."""
    look = read(text)
    assert look.words is words
    for ending in ("csv", "json"):
        usual, said, other = (
            look.save(tmp_path / f"{n}.{ending}", "masked.0.0", **how).read_text("utf-8")  # type: ignore[arg-type]
            for n, how in enumerate(({}, {"words": words}, {"words": not words}))
        )
        assert usual == said != other
    assert ("sub-words merged" in drawn(look, tmp_path / "x.svg", "masked.0.0")) is words
    assert look.text("masked.0.0") == look.text("masked.0.0", words) != look.text("masked.0.0", not words)
    assert look._repr_html_().count("<tr>") == 1 + look.panel(look.usual).shape(words)[0]
    facts = look.save(tmp_path / "x.html").read_text("utf-8").split('id="facts">')[1].split("</script>")[0]
    assert json.loads(facts)["words"] is words


def test_the_usual_picture_of_a_language_model_is_all_its_heads(tmp_path: Path) -> None:
    words = drawn(read("the fox jumps"), tmp_path / "x.svg")
    assert "causal self-attention: layers down, heads across; in each, 4 × 4 words" in words
    assert "influence of the source" in drawn(translated("fixed"), tmp_path / "y.svg")


def test_all_heads_stand_beside_their_words_where_these_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = translated("transformer")
    words = drawn(look, tmp_path / "x.svg", "heads.cross").split()
    assert [words.count(word) for word in ("dog", "Wiese", "1.1")] == [3, 3, 1]  # and in the caption
    monkeypatch.setattr(drawing, "SHEET", 1.0)
    words = drawn(look, tmp_path / "y.svg", "heads.cross").split()
    assert [words.count(word) for word in ("dog", "Wiese", "1.1")] == [1, 1, 0]


def test_a_caption_reads_from_left_to_right(tmp_path: Path) -> None:
    """Hebrew or Arabic would turn the arrow around."""
    look = translated("transformer")
    turned = replace(look, scene=replace(look.scene, read="שלום", written="مرحبا"))
    assert "\u200eשלום \u200e→\u200e مرحبا" in drawn(turned, tmp_path / "x.svg", "cross")
    assert "\u200e" not in drawn(look, tmp_path / "y.svg", "cross")


def test_what_is_too_long_is_pooled_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "CELLS", 50)
    monkeypatch.setattr(drawing, "LABELLED", 20)
    look = read(LONG, context=256)
    words = drawn(look, tmp_path / "x.svg", "masked.0.0", words=False)
    assert "181 × 181 tokens: a cell is the largest of 4×4 weights" in words
    assert "cube root" in words
    assert "0 <eos>" in words  # of the words that are written, which ones they are
    grid = drawn(look, tmp_path / "y.svg", "heads", words=False)
    assert "a cell is the largest of 3×3 weights" in grid
    whole = drawn(look, tmp_path / "z.svg", "masked.0.0")
    assert "largest of" not in whole


def test_hostile_words_are_drawn_as_text(tmp_path: Path) -> None:
    for number, text in enumerate(["$x^2$ \\frac{1}", "<script>alert(1)</script>", "a\x00b\x1b[31m", "&amp; ]]>"]):
        words = drawn(read(text), tmp_path / f"{number}.svg", "masked")
        assert "<script" not in (tmp_path / f"{number}.svg").read_text()
        assert "\x1b" not in words


def test_csv_holds_every_number_exactly(tmp_path: Path) -> None:
    look = translated("transformer")
    path = look.save(tmp_path / "x.csv", "heads.cross")
    head, *rows = rows_of(path)
    assert head == ["kind", "layer", "head", "row", "word", *SOURCE.split(), "<eos>"]
    assert len(rows) == 2 * 2 * 8
    assert [row[4] for row in rows[:8]] == [*TARGET.split(), "<eos>"]
    for kind, layer, number, row, _, *numbers in rows:
        exact = look.weights(kind, int(layer), int(number))[int(row)]
        assert torch.equal(torch.tensor([float(one) for one in numbers]), exact)
    mean = rows_of(look.save(tmp_path / "m.csv"))
    assert mean[1][:5] == ["cross", "mean", "mean", "0", "a"]
    rolled = rows_of(look.save(tmp_path / "r.csv", "rollout.encoder", rows="2:4"))
    assert [row[:5] for row in rolled[1:]] == [
        ["rollout.encoder", "", "", str(n), SOURCE.split()[n + 2]] for n in (0, 1)
    ]


def test_json_holds_all_there_is(tmp_path: Path) -> None:
    look = read("the fox jumps")
    found = json.loads(look.save(tmp_path / "x.json", "masked.1.1", words=False).read_text())
    (panel,) = found["panels"]
    assert (panel["kind"], panel["layer"], panel["head"]) == ("masked", 1, 1)
    assert torch.equal(torch.tensor(panel["weights"]), look.weights("masked", 1, 1))
    assert panel["columns"] == found["sides"]["inputs"]["tokens"]
    assert found["log_probs"] == pytest.approx([-cost for cost in look.scene.costs()])
    assert len(found["log_probs"]) == len(found["sides"]["outputs"]["tokens"])


def test_numbers_about_heads_are_written(tmp_path: Path) -> None:
    look = translated("transformer")
    heads = measure(look)
    found = json.loads(heads_file(look, heads, tmp_path / "x.json").read_text())
    assert [head["name"] for head in found["heads"]] == [head.name for head in heads.heads]
    assert set(found["similar"]) == {"encoder", "masked", "cross"}
    head, *rows = rows_of(heads_file(look, heads, tmp_path / "x.csv"))
    assert head[:3] == ["head", "role", "strength"]
    assert {"entropy", "induction", "even_previous", "loss", "changed"} <= set(head)
    assert len(rows) == 12
    assert all(len(row) == len(head) for row in rows)


@pytest.mark.parametrize(
    ("name", "rows", "said"),
    [
        ("x.txt", "", r"written as \.png, \.svg, \.pdf, \.csv, \.json or \.html, by their ending"),
        ("x", "", "by their ending"),
        ("x.csv", "a", r"rows: wanted START:STOP, such as 0:50, given 'a'"),
        ("x.csv", "9:", r"rows: 9: is none of 8 words, counted from 0"),
        ("x.csv", "3:2", "is none of 8 words"),
        ("x.png", "0:2", "choose one head, such as cross.0.0"),
        (".", "", "by their ending"),
    ],
)
def test_bad_names_and_rows_are_refused(name: str, rows: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        translated("transformer").save(tmp_path / name, "heads.cross", rows=rows)


def test_a_folder_is_no_file_and_too_many_numbers_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(InputError, match="a folder; name a file in it"):
        translated("transformer").save(tmp_path / "x.csv")
    monkeypatch.setattr("regard.looking.saving.MOST", 100)
    with pytest.raises(InputError, match=r'224 numbers are too many for one file .*rows="0:100"'):
        translated("transformer").save(tmp_path / "y.json", "heads.cross")
    translated("transformer").save(tmp_path / "z.json", "cross")


def test_a_panel_is_printed_in_words_and_gives_its_numbers() -> None:
    look = translated("transformer")
    panel = look.panel("cross")
    assert str(panel) == look.text("cross")
    assert {"dog", "meadow"} <= set(str(panel).split())
    assert "dog" in panel._repr_html_()
    assert panel.table().shape == (8, 7)
    for text, words in (("thefox", False), ("the fox jumps", True)):
        panel = read(text).panel("masked.0.0")
        assert str(panel) == read(text).text("masked.0.0")
        assert panel.table().shape == panel.shape(words)


def test_on_a_terminal_it_is_letters_and_shades() -> None:
    look = translated("transformer")
    lines = str(look).splitlines()
    assert lines[-1].startswith("<eos> ".rjust(len("meadow ")))
    assert any(shade in str(look) for shade in "░▒▓█")
    assert "<table" in look._repr_html_()
    long = read(LONG, context=256)
    assert "42 × 42 words, too wide for a terminal" in str(long)
    assert "masked.0.0\n" in read("the fox").text("heads")
