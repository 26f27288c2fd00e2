"""Numbers about heads: each role is found where it was put, on texts made for it, and held against an even head."""

import json
import math
from dataclasses import replace

import pytest
import torch
from seen_models import given, read, translated
from torch import Tensor

from regard.looking.ablation import effects
from regard.looking.heads import COLUMNS, ORDER, measure
from regard.looking.line import Line, plain_line
from regard.looking.roles import Scores, Tally, role

TEXT = ["the", "fox", "and", "a", "dog", "met", "the", "fox", ",", "a", "dog", "."]
SIZE = len(TEXT)


def causal(rows: dict[int, int], fallback: int = 0) -> Tensor:
    """A head that puts all its weight in one place a row; where nothing is said, evenly on what it may see."""
    head = torch.zeros(SIZE, SIZE)
    for row in range(SIZE):
        if row in rows and rows[row] <= row:
            head[row, rows[row]] = 0.96
            head[row, : row + 1] += 0.04 / (row + 1)
        else:
            head[row, : row + 1] = 1 / (row + 1)
    return head


REPEATED = {6: 0, 7: 1, 9: 3, 10: 4}  # where each word stood before
PUT = {
    "previous": causal({row: row - 1 for row in range(1, SIZE)}),
    "first": causal(dict.fromkeys(range(SIZE), 0)),
    "self": causal({row: row for row in range(SIZE)}),
    "duplicate": causal(REPEATED),
    "induction": causal({row: place + 1 for row, place in REPEATED.items()}),
    "punctuation": causal({8: 8, 9: 8, 10: 8, 11: 8}),
    "broad": causal({}),
}


@pytest.mark.parametrize("name", PUT)
def test_a_role_is_found_where_it_was_put(name: str) -> None:
    look = given(PUT[name][None], TEXT)
    layer = look.layers[0]
    tally = Tally(layer, *(look.scene.lines[side] for side in (layer.rows, layer.columns)))
    for start in range(0, SIZE, 5):  # in blocks
        tally.add(start, look.rows(layer, start, min(start + 5, SIZE)))
    ((scores, even),) = tally.scores()
    assert role(scores, even)[0] == name
    if name != "broad":
        assert scores[name] > 0.9
        assert even[name] < 0.6
    else:
        assert scores == pytest.approx(even)
    assert scores["next"] is None  # nobody sees what comes


def test_scores_are_what_their_words_say() -> None:
    look = given(PUT["previous"][None], TEXT)
    layer = look.layers[0]
    tally = Tally(layer, look.scene.lines["inputs"], look.scene.lines["inputs"])
    tally.add(0, look.rows(layer, 0, SIZE))
    ((scores, even),) = tally.scores()
    head, rows = PUT["previous"], range(1, SIZE)
    assert scores["previous"] == pytest.approx(sum(float(head[row, row - 1]) for row in rows if row > 0) / len(rows))
    far = [sum(float(head[row, column]) * (row - column) for column in range(row + 1)) for row in rows]
    assert scores["distance"] == pytest.approx(sum(far) / len(rows))
    bits = [-sum(float(w) * math.log2(w) for w in head[row, : row + 1]) for row in rows]
    assert scores["entropy"] == pytest.approx(sum(bits) / len(rows), abs=1e-5)
    assert even["entropy"] == pytest.approx(sum(math.log2(row + 1) for row in rows) / len(rows), abs=1e-5)
    near = [float(head[row, max(0, row - 3) : row + 1].sum()) for row in rows]
    assert scores["local"] == pytest.approx(sum(near) / len(rows))


def scored(heads: Tensor, line: Line, columns: Line | None = None) -> list[tuple[Scores, Scores]]:
    """Scores of heads that are given, on lines that may be in pieces."""
    look = given(heads, line.tokens, columns.tokens if columns else ())
    tally = Tally(look.layers[0], line, columns or line)
    tally.add(0, heads)
    return tally.scores()


def test_a_row_without_a_choice_says_nothing() -> None:
    ((scores, _),) = scored(PUT["self"][None], plain_line(TEXT))
    wanted = sum(float(PUT["self"][row, row]) for row in range(1, SIZE)) / (SIZE - 1)  # the first sees only itself
    assert scores["self"] == pytest.approx(wanted)
    ((scores, _),) = scored(torch.eye(3)[None] * 0.7 + 0.1, plain_line(["a", "b", "c"]))
    assert scores["first"] == pytest.approx(0.1)  # that the first looks at itself makes no sink of it
    assert scores["self"] == pytest.approx(0.8)


def test_every_piece_has_a_first_token_and_a_diagonal_of_its_own() -> None:
    """Two pieces, x a | b c a: no b stands behind an a."""
    line = replace(plain_line(["x", "a", "b", "c", "a"]), ids=(0, 1, 2, 3, 1), starts=(0, 2))
    head = torch.zeros(1, 5, 5)
    head[0, :2, :2], head[0, 2:, 2:] = torch.tensor([0.8, 0.2]), torch.tensor([0.5, 0.3, 0.2])
    ((scores, _),) = scored(head, line)
    assert scores["first"] == pytest.approx((0.8 + 0.5 + 0.5) / 3)
    assert scores["induction"] is None
    rows, columns = (replace(plain_line([f"{n}" for n in range(size)]), starts=(0, 2)) for size in (4, 9))
    straight = torch.full((4, 9), 0.0125)
    for row, column in enumerate((0, 1, 2, 8)):  # 2 of 2, then 7 of 2
        straight[row, column] = 0.9
    ((found, even),) = scored(straight[None], rows, columns)
    assert role(found, even)[0] == "diagonal"


def test_a_text_without_repetition_says_nothing_of_induction() -> None:
    look = given(torch.full((1, 3, 3), 1 / 3).tril(), ["a", "b", "c"])
    tally = Tally(look.layers[0], look.scene.lines["inputs"], look.scene.lines["inputs"])
    tally.add(0, look.rows(look.layers[0], 0, 3))
    ((scores, _),) = tally.scores()
    assert scores["induction"] is None
    assert scores["duplicate"] is None
    assert scores["punctuation"] is None


@pytest.mark.parametrize("sides", [("outputs", "source"), ("inputs", "inputs")])
def test_tokens_that_are_no_text_are_not_said_again(sides: tuple[str, str]) -> None:
    """Both sides end with <eos>, and pieces begin with it: that makes no head one of duplicates, or of induction."""
    square = sides[0] == sides[1]
    words = ["<eos>", "a", "b", "<eos>", "c", "d"] if square else ["a", "b", "<eos>"]
    head = torch.full((1, len(words), len(words)), 1 / len(words))
    look = given(head, words, () if square else ["x", "y", "<eos>"])
    lines = [
        replace(
            look.scene.lines[side],
            special=frozenset(n for n, word in enumerate(look.scene.lines[side].tokens) if word == "<eos>"),
        )
        for side in sides
    ]
    tally = Tally(look.layers[0], *lines)
    tally.add(0, head)
    ((scores, _),) = tally.scores()
    assert scores["special"] is not None
    assert scores["duplicate"] is None
    assert scores.get("induction") is None


@pytest.mark.parametrize(("tall", "wide"), [(6, 6), (6, 11), (9, 4)])
def test_a_head_along_the_source_is_diagonal(tall: int, wide: int) -> None:
    head = torch.full((tall, wide), 0.05 / wide)
    for row in range(tall):
        head[row, round(row * (wide - 1) / (tall - 1))] += 0.95
    words, others = [f"t{n}" for n in range(tall)], [f"s{n}" for n in range(wide)]
    for heads, wanted in ((head[None], "diagonal"), (head.flip(0)[None], "global" if wide > 8 else "")):
        look = given(heads, words, others)
        assert look.kinds == ("cross",)
        tally = Tally(look.layers[0], look.scene.lines["outputs"], look.scene.lines["source"])
        tally.add(0, look.rows(look.layers[0], 0, tall))
        ((scores, even),) = tally.scores()
        found = role(scores, even)
        assert found[0] == wanted or (not wanted and found[0] != "diagonal")


def test_far_heads_are_global_and_near_ones_local() -> None:
    size = 40
    words = [f"w{n}" for n in range(size)]
    rows, columns = torch.arange(size)[:, None], torch.arange(size)[None]
    near = ((rows - columns).clamp(min=0) <= 3) & (columns <= rows)
    far = (rows - columns >= 12) | ((rows < 12) & (columns <= rows))
    heads = torch.stack([near / near.sum(1, keepdim=True), far / far.sum(1, keepdim=True)])
    look = given(heads, words)
    tally = Tally(look.layers[0], look.scene.lines["inputs"], look.scene.lines["inputs"])
    tally.add(0, look.rows(look.layers[0], 0, size))
    (local, even), (distant, _) = tally.scores()
    assert role(local, even)[0] == "local"
    assert role(distant, even)[0] == "global"
    assert distant["distance"] > even["distance"] > local["distance"]


@pytest.mark.parametrize("kind", ["transformer", "additive", "convolution"])
def test_all_heads_are_measured_sorted_and_told(kind: str) -> None:
    look = translated(kind)
    found = measure(look)
    assert len(found.heads) == sum(layer.heads for layer in look.layers)
    assert len({head.name for head in found.heads}) == len(found.heads)
    places = [(ORDER.index(head.role), -head.strength) for head in found.heads]
    assert places == sorted(places)  # those of a role together, the clearest first
    for head in found.heads:
        (layer,) = (one for one in look.layers if head.name.startswith(f"{one}."))
        (alone,) = effects(look, [{layer.name: [int(head.name.rpartition(".")[2])]}])
        assert head.effect.loss == pytest.approx(alone.loss, abs=1e-4)
        assert head.like is None or head.like[0] != head.name
    for kind_ in look.kinds:
        matrix = torch.tensor(found.similar[kind_])
        torch.testing.assert_close(matrix, matrix.T)
        torch.testing.assert_close(matrix.diagonal(), torch.ones(len(matrix)))
        assert matrix.min() >= 0
    lines = str(found).splitlines()
    assert lines[0].split() == " ".join(COLUMNS).split()
    assert len(lines) == len(found.heads) + 1
    assert max(map(len, lines)) <= 80
    assert json.loads(json.dumps(found.facts()))["tokens"] == 8
    assert "<table" in found._repr_html_()


def test_likeness_is_the_weight_that_two_heads_share() -> None:
    look = read("the fox jumps")
    one, other = (look.weights("masked", layer, head) for layer, head in ((0, 1), (1, 0)))
    shared = float(torch.minimum(one, other).sum(1).mean())
    assert measure(look).similar["masked"][1][2] == pytest.approx(shared, abs=1e-5)


def test_a_model_without_attention_has_no_heads() -> None:
    assert measure(translated("fixed")).heads == []
