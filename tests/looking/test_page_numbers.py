"""What the page is given: bytes that say what the model did, chances of the whole vocabulary, vectors that add up."""

import struct
from typing import Any

import numpy as np
import pytest
import torch
from seen_models import SOURCE, TRANSLATORS, read, translated, translator, writer

from regard.errors import InputError
from regard.looking.look import gather
from regard.looking.page.chances import lens, steps
from regard.looking.page.contents import kept, overview_bytes, panel_names, roles, table_bytes, whole_bytes
from regard.looking.page.packing import packed
from regard.looking.page.reckoning import can_reckon, reckon
from regard.tasks.language.scene import language_scene
from regard.tasks.translation.scene import translation_scene


def unpacked(content: bytes) -> tuple[Any, tuple[int, int]]:
    """As the page does it."""
    rows, columns, down, across, size = struct.unpack("<5I", content[:20])
    cells = np.frombuffer(content[20:], np.uint8).astype(np.float64)
    roots = (cells[: rows * columns] * 256 + cells[rows * columns :]) / 65535 if size == 2 else cells / 255
    return (roots**2).reshape(rows, columns), (down, across)


@pytest.mark.parametrize(("size", "most"), [(2, 1.6e-5), (1, 4e-3)])
def test_weights_come_back_from_bytes(size: Any, most: float) -> None:
    torch.manual_seed(0)
    weights = torch.randn(7, 11).mul(3).softmax(-1).tril(3)
    found, stride = unpacked(packed(weights, (1, 1), size))
    assert stride == (1, 1)
    assert np.abs(found - weights.numpy()).max() < most
    assert (found[weights.numpy() == 0] == 0).all()


def test_what_is_no_weight_does_no_harm() -> None:
    odd = torch.tensor([[float("nan"), float("inf"), -1.0, 2.0, 1 + 1e-6]])
    assert unpacked(packed(odd))[0].tolist() == [[0, 0, 0, 1, 1]]


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_every_panel_can_be_handed_out(kind: str) -> None:
    look = translated(kind)
    for name in panel_names(look):
        panel = look.panel(name)
        found, _ = unpacked(whole_bytes(panel))
        np.testing.assert_allclose(found, panel.table(False).clamp(0, 1).numpy(), atol=2e-5)


def test_a_window_is_a_part_and_a_pool_has_the_largest() -> None:
    look = read("the quick brown fox jumps over the lazy dog. ")
    panel = look.panel("masked.1.1")
    table = panel.table(False).numpy()
    found, _ = unpacked(table_bytes(panel, (5, 20), (2, 12)))
    np.testing.assert_allclose(found, table[5:20, 2:12], atol=2e-5)
    pooled, (down, across) = unpacked(whole_bytes(panel, most=10))
    assert max(pooled.shape) <= 10
    assert pooled[0, 0] == pytest.approx(table[:down, :across].max(), abs=2e-5)
    part, (down, across) = unpacked(table_bytes(panel, (5, 45), (2, 42), most=10))
    wanted = table[5:45, 2:42].reshape(10, down, 10, across).max((1, 3))
    np.testing.assert_allclose(part, wanted, atol=2e-5)


def test_thumbnails_are_of_rows_evenly_chosen_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    look = read("the quick brown fox jumps over the lazy dog. ")
    whole = np.frombuffer(overview_bytes(look, "masked")[16:], np.uint8)
    monkeypatch.setattr("regard.looking.page.contents.WHOLE", 10)
    some = overview_bytes(look, "masked")
    assert struct.unpack("<4I", some[:16])[:2] == (2, 2)
    assert (np.frombuffer(some[16:], np.uint8) == whole).all()  # fewer rows than a thumbnail has: all are chosen
    monkeypatch.setattr("regard.looking.page.contents.THUMB", 8)
    few = overview_bytes(look, "masked")
    assert struct.unpack("<4I", few[:16]) == (2, 2, 8, 8)
    cells = np.frombuffer(few[16:], np.uint8).reshape(2, 2, 8, 8)
    table = look.weights("masked", 1, 0)
    for cell in range(8):  # of 46 rows and columns each stands for six; the row in their middle is asked
        row = torch.nn.functional.pad(table[min(45, 6 * cell + 3)], (0, 2)).view(8, 6).amax(1)
        assert np.abs(cells[1, 0, cell] - row.sqrt().mul(255).numpy()).max() <= 1


def test_roles_of_a_long_text_are_found_in_rows_evenly_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    look = read("the quick brown fox jumps over the lazy dog. ")
    monkeypatch.setattr("regard.looking.page.contents.ROWS", 8)
    monkeypatch.setattr("regard.looking.page.contents.TOGETHER", 4)
    found = {one["name"]: one for one in roles(look)}
    table = look.weights("masked", 1, 0)
    rows = [1, 2, 3, 23, 24, 25, 26]  # two blocks of 46 rows; the first row has nothing before it
    wanted = sum(float(table[row, row - 1]) for row in rows) / len(rows)
    assert found["masked.1.0"]["scores"]["previous"] == pytest.approx(wanted, abs=1e-5)
    assert (found["masked.1.0"]["rows"], found["masked.1.0"]["of"]) == (8, 46)


def test_what_a_document_keeps_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    look = read("the quick brown fox jumps over the lazy dog. ")
    monkeypatch.setattr("regard.looking.page.contents.THUMB", 4)
    names = panel_names(look)
    held = dict(kept(look, 100 * len(names), 10_000))
    tables = {name: len(content) for name, content in held.items() if name.startswith("table/")}
    assert set(tables) == {f"table/{name}" for name in names}
    assert sum(tables.values()) <= (100 + 20) * len(names)
    assert 0 < sum(len(content) for name, content in held.items() if name.startswith("vectors/")) <= 10_000
    assert sum(len(content) for name, content in kept(look) if name.startswith("vectors/")) > 10_000


def test_chances_are_those_of_the_model_and_miss_nobody() -> None:
    look = read("the quick brown fox ")
    logs = look.scene.model.head(look.scene.run(look.scene.pieces[0])).log_softmax(-1)[0]
    found = steps(look.scene)
    assert len(found) == len(look.scene.lines["inputs"])
    assert found[-1]["id"] is None
    for place, (step, row) in enumerate(zip(found, logs, strict=True)):
        assert step["log_probs"] == pytest.approx(row.topk(20).values.tolist(), abs=1e-4)
        mass = sum(np.exp(step["log_probs"])) + sum(count * np.exp(mean) for count, mean in step["rest"])
        assert mass == pytest.approx(1.0, abs=1e-3)
        assert len(step["ids"]) + sum(count for count, _ in step["rest"]) == len(row)
        if step["id"] is not None:
            assert step["id"] == look.scene.lines["outputs"].ids[place]
            assert step["rank"] == int((row > row[step["id"]]).sum()) + 1


def test_the_last_layer_of_the_lens_is_the_model_itself() -> None:
    look = read("the quick brown fox ")
    ranks = lens(look.scene)
    assert [row[-1] for row in ranks] == [step["rank"] for step in steps(look.scene)[:-1]]
    assert all(len(row) == 2 for row in ranks)
    assert lens(look.scene, 5, 9) == ranks[5:9]
    assert steps(look.scene, 5, 9) == steps(look.scene)[5:9]
    assert lens(translated("additive").scene) == []


@pytest.mark.parametrize(("positions", "heads"), [("rotary", 2), ("alibi", 2), ("sinusoidal", 2), ("rotary", 4)])
def test_queries_and_keys_give_the_weights(positions: str, heads: int) -> None:
    grouped = {"kind": "multihead", "heads": heads, "kv_heads": 2}
    look = read("the quick brown fox ", positions=positions, attention=grouped)
    for head in range(heads):
        one = reckon(look, f"masked.1.{head}")
        away = (torch.arange(len(one.queries))[:, None] - torch.arange(len(one.keys))).abs()
        scores = one.queries @ one.keys.T * one.scale - one.slope * away
        hidden = torch.ones_like(scores).triu(1).bool()
        torch.testing.assert_close(
            scores.masked_fill(hidden, float("-inf")).softmax(-1), look.weights("masked", 1, head)
        )


@pytest.mark.parametrize("kind", ["additive", "luong"])
def test_states_and_sources_give_the_alignment(kind: str) -> None:
    """By Bahdanau's score, or by Luong's, step after step of a recurrent decoder."""
    look = translated(kind)
    one = reckon(look, "alignment.0.0")
    scores = one.queries @ one.keys.T
    if kind == "additive":
        assert one.additive is not None
        scores = (one.queries[:, None] + one.keys).tanh() @ one.additive[0]
    torch.testing.assert_close(scores.softmax(-1), look.weights("alignment", 0, 0))
    assert (one.scale, one.slope, len(one.queries)) == (1.0, 0.0, len(look.scene.lines["outputs"]))


def test_what_has_no_scores_is_not_reckoned() -> None:
    look = translated("linear")
    assert not can_reckon(look, look.of("encoder")[0])
    with pytest.raises(InputError, match="neither products of queries and keys nor additive"):
        reckon(look, "encoder.0.0")


def test_a_translation_goes_on_from_a_word_of_ours() -> None:
    scene = translation_scene(translator("transformer"), SOURCE, "a dog runs")
    assert scene.retold is not None
    ids = scene.lines["outputs"].ids
    other = scene.retold([ids[0], ids[2]], 0)
    assert other.lines["outputs"].ids[:2] == (ids[0], ids[2])
    assert other.written.startswith("a runs")
    assert gather(other).difference == 0.0
    eos = ids[-1]
    assert scene.retold([ids[0], eos], 0).lines["outputs"].ids == (ids[0], eos)


def test_a_text_goes_on_from_a_token_of_ours() -> None:
    scene = language_scene(writer(), "the quick")
    assert scene.retold is not None
    ids = scene.lines["inputs"].ids
    assert scene.retold(ids[:4], 0).lines["inputs"].ids == ids[:4]
    more = scene.retold(ids[:4], 5)
    assert more.lines["inputs"].ids[:4] == ids[:4]
    assert 4 <= len(more.lines["inputs"].ids) <= 9
    full = scene.retold([ids[1]] * 64, 5)
    assert len(full.lines["inputs"].ids) == 64
