"""The task of language: every token once, bits that compare, state that is carried, and what cannot be is said."""

import json
from dataclasses import replace
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small import STACKS, TEXT, prepared, recipe
from torch import Tensor

from regard.datasets.rows import Numbers
from regard.datasets.stream import Stream
from regard.errors import InputError, RecipeError
from regard.listener import SILENT
from regard.model.assembly import LanguageModel
from regard.model.build import build
from regard.recipe import Recipe
from regard.tasks.language import Language, loss
from regard.tasks.language.batches import Lanes, TextBatch, window_batch
from regard.tasks.language.evaluation import bins
from regard.tasks.language.facts import FILE, Facts
from regard.tasks.language.loss import Foretold, Reader, surprises
from regard.tasks.language.scorer import Scorer
from regard.tasks.task import Batch, Batches, Exam
from regard.training.menu import MENU

every = pytest.mark.parametrize("stack", STACKS)
DAMAGED = (
    b"{}",
    b'{"begin": 2, "end": 2, "stops": [9999]}',
    b'{"begin": true, "end": 2, "stops": []}',
    b'{"begin": 2, "end": 2, "stops": [2], "unseen": ["a"]}',
    b'{"begin": 2, "end": 2, "stops": [2], "vocab_size": 16777217}',
    b'{"begin": 2, "end": 2, "stops": [2], "vocab_size": -1}',
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT)
    return tmp_path / "text.txt"


def test_batches_are_what_the_loop_can_learn_from(text: Path) -> None:
    task, _ = prepared(text)
    batches = task.batches(1)
    assert isinstance(batches, Batches)
    batch = batches[0]
    assert isinstance(batch, Batch)
    assert batch.inputs.shape == (5, 12)
    assert (batch.size, batch.predictions) == (60, 60)
    assert torch.equal(batch.inputs[:, 1:], batch.labels[:, :-1])
    halves = [batch.part(number, 2) for number in range(2)]
    assert sum(half.predictions for half in halves) == 60


def test_a_part_of_a_batch_is_some_of_its_rows() -> None:
    ids, goes_on = torch.arange(12).view(4, 3), torch.tensor([True, True, True, False])
    part = TextBatch(ids, ids + 1, ids + 2, goes_on).part(1, 2)
    assert part.segments is not None
    assert part.goes_on is not None
    rows = [each[:, 0].tolist() for each in (part.inputs, part.labels, part.segments)]
    assert rows == [[3, 9], [4, 10], [5, 11]]
    assert part.goes_on.tolist() == [True, False]


@pytest.mark.parametrize("held", [2**20, 10], ids=["shuffled", "reckoned"])
def test_every_token_is_a_label_in_every_epoch_but_at_the_ends(
    held: int, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.datasets.order.HELD", held)
    task, _ = prepared(text)
    stream, windows = task._streams["train"], task.batches(3)
    for epoch in range(2):
        steps = range(epoch * len(windows), (epoch + 1) * len(windows))
        batches = [windows[step] for step in steps]
        starts = np.concatenate([windows.starts(step) for step in steps])
        assert len(set(starts.tolist())) == len(starts) == sum(len(batch.inputs) for batch in batches)
        assert len(np.unique(starts % 12)) == 1
        covered = len(starts) * 12
        assert len(stream) - covered < 12 * (2 + 5)
        assert torch.equal(batches[0].inputs[0], torch.from_numpy(stream.ids(starts[0] + np.arange(12))))
    one, other = windows[0], windows[len(windows)]
    assert not torch.equal(one.inputs, other.inputs)
    assert torch.equal(task.batches(3)[7].inputs, windows[7].inputs)


@every
def test_the_loss_is_that_of_every_token_given_those_before_it(stack: str, text: Path) -> None:
    task, model = prepared(text, stack)
    batch = task.batches(1)[0]
    logits = model(batch.inputs)
    wanted = F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), reduction="sum")
    found = task.loss(model, batch)
    torch.testing.assert_close(found.plain, wanted, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(surprises(model, batch).sum(), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("stack", ["transformer", "rotary", "window", "lstm", "convolution"])
def test_documents_that_are_kept_apart_do_not_see_each_other(stack: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(f"{n} fox" for n in range(300)))
    task, model = prepared(lines, stack, task={"documents": "apart"}, data={"documents": "line"})
    batch = task.batches(1)[0]
    assert batch.segments is not None
    row, segments = batch.inputs[0], batch.segments[0]
    costs = surprises(model, batch)[0]
    begins = [n for n in range(12) if n == 0 or segments[n] != segments[n - 1]]
    assert len(begins) > 1
    assert all(row[n] == task.facts.begin for n in begins[1:])
    for start, stop in zip(begins, [*begins[1:], 12], strict=True):
        alone = TextBatch(row[None, start:stop], batch.labels[:1, start:stop])
        torch.testing.assert_close(surprises(model, alone)[0], costs[start:stop], rtol=1e-4, atol=1e-4)


def _read_as_one(model: LanguageModel, batches: list[TextBatch], row: int) -> Tensor:
    """−log p of one lane: everything since it last began in one piece, and none of what was before."""
    begins = [n for n, batch in enumerate(batches) if batch.goes_on is None or not batch.goes_on[row]]
    assert begins[0] == 0
    total = torch.zeros(())
    for start, stop in zip(begins, [*begins[1:], len(batches)], strict=True):
        inputs, labels = (
            torch.cat([getattr(batch, name)[row] for batch in batches[start:stop]]) for name in ("inputs", "labels")
        )
        total = total + F.cross_entropy(model(inputs[None])[0], labels, reduction="sum")
    return total


def test_every_lane_begins_anew_now_and_then_and_never_all_at_once(text: Path) -> None:
    task, _ = prepared(text, "gru", task={"carry_state": True, "context": 2, "batch_tokens": 16})
    lanes = task.batches(1)
    assert len(lanes) > 40
    assert lanes[0].goes_on is None
    begun = torch.stack([~lanes[n].goes_on for n in range(1, 40)])  # windows × lanes
    for lane in begun.T:
        places = lane.nonzero().flatten()
        assert len(places) >= 2
        assert (places.diff() == 16).all()
    assert begun.sum(1).max() == 1


def test_no_lane_reads_of_the_next_nor_past_the_end() -> None:
    class Places(Stream):
        def __init__(self) -> None:
            self._length = 41

        def ids(self, places: Numbers) -> Numbers:
            return places

    lanes, begins = Lanes(Places(), 3, 4, seed=1), torch.arange(0, 40, 10)
    batches = [lanes[step] for step in range(60)]
    assert all((batch.inputs >= begins[:, None]).all() for batch in batches)
    assert max(int((batch.labels - begins[:, None]).max()) for batch in batches) == 10


@pytest.mark.parametrize("stack", ["lstm", "gru", "elman"])
def test_a_carried_state_reads_the_text_as_one(stack: str, text: Path) -> None:
    task, model = prepared(text, stack, task={"carry_state": True})
    lanes = task.batches(1)
    model.train()
    batches = [lanes[n] for n in range(4)]
    parts = [task.loss(model, batch).plain for batch in batches]
    whole = sum(_read_as_one(model, batches, row) for row in range(lanes.rows))
    torch.testing.assert_close(sum(parts), whole, rtol=1e-4, atol=1e-2)
    carried = task.carried(model)
    other, _ = prepared(text, stack, task={"carry_state": True})
    other.carry(carried)
    torch.testing.assert_close(other.loss(model, lanes[4]).plain, task.loss(model, lanes[4]).plain)
    assert not torch.allclose(other.loss(model, lanes[0]).plain, other.loss(model, lanes[1]).plain)


def test_what_is_carried_is_cut_off_and_only_learning_changes_it(text: Path) -> None:
    task, model = prepared(text, "gru", task={"carry_state": True})
    lanes = task.batches(1)
    model.train()
    for number in range(2):  # no way back leads into a window before
        task.loss(model, lanes[number]).total.backward()
    before = {name: held.clone() for name, held in task.carried(model).items()}
    assert not any(held.requires_grad for held in before.values())
    model.eval()
    task.loss(model, lanes[2])
    after = task.carried(model)
    assert all(torch.equal(after[name], held) for name, held in before.items())
    torch.testing.assert_close(task.loss(model, lanes[0]).plain, surprises(model, lanes[0]).sum())  # an epoch begins


def stops_early(task: Language, model: LanguageModel) -> None:
    answerer = task.answerer(model)
    assert task.evaluate(answerer, Exam(task.data, "test", stopped=lambda: True)) is None


@every
@pytest.mark.parametrize("stride", [0, 5])
def test_an_evaluation_reads_every_token_once(stack: str, stride: int, text: Path) -> None:
    task, model = prepared(text, stack, task={"stride": stride})
    found = task.evaluate(task.answerer(model), Exam(task.data, "test"))
    assert found is not None
    held = TEXT[int(len(TEXT) * 0.9) :]
    stream = task._streams["test"]
    assert found.tokens == len(stream) - 1
    assert found.documents == 1
    nats = found.loss * found.tokens
    assert found.bits_per_character == pytest.approx(nats / log(2) / (len(held) + 1))
    assert found.bits_per_byte == pytest.approx(nats / log(2) / (len(held.encode()) + 1))
    assert found.perplexity == pytest.approx(exp(found.loss))
    total = 0.0
    step = stride or 12
    ids = torch.from_numpy(stream.ids(np.arange(len(stream))))
    places = torch.arange(1, len(ids))  # by hand: the first window that has it, the last one reaching to the end
    starts = (-(-(places - 12) // step) * step).clamp(0, max(0, len(ids) - 1 - 12))
    for seen in (places - starts).unique():
        some = (places - starts == seen).nonzero().flatten()
        with torch.no_grad():
            said = model(ids[starts[some, None] + torch.arange(int(seen))])[:, -1].log_softmax(-1)
        total -= float(said.gather(1, ids[places[some], None]).sum())
    assert nats == pytest.approx(total, rel=1e-4)
    stops_early(task, model)


def test_documents_that_are_kept_apart_are_examined_apart_and_each_has_an_end(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(f"{n} fox ö" for n in range(100, 400)))
    shares = {"documents": "line", "test_share": 0.2}
    (apart, model), (joined, _) = (prepared(lines, task={"documents": how}, data=shares) for how in ("apart", "joined"))
    found, other = (task.evaluate(task.answerer(model), Exam(task.data, "test")) for task in (apart, joined))
    assert found is not None
    assert other is not None
    texts = [piece for (piece,) in apart.data.read("test")]
    assert found.documents == len(texts) > 10
    nats = found.loss * found.tokens
    assert found.tokens == sum(len(text) + 1 for text in texts)
    assert found.bits_per_character == pytest.approx(nats / log(2) / sum(len(text) + 1 for text in texts))
    assert found.bits_per_byte == pytest.approx(nats / log(2) / sum(len(text.encode()) + 1 for text in texts))
    assert found.loss != pytest.approx(other.loss, rel=1e-6)


@pytest.mark.parametrize("kind", ["bytes", "characters", "words", "bpe", "unigram"])
@pytest.mark.parametrize("begins", [False, True], ids=["one mark", "two marks"])
def test_bits_per_byte_are_those_of_every_text_by_itself(kind: str, begins: bool, tmp_path: Path) -> None:
    """Whatever it is cut into; that a document begins behind the end of another is no news, and costs nothing."""
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(f"{n} fox ö" for n in range(100, 250)))
    how = {"documents": "apart", "context": 40, "stride": 1, "batch_tokens": 400}
    task, model = prepared(lines, task=how, data={"documents": "line", "test_share": 0.2}, tokenizer={"kind": kind})
    if begins:
        assert task.tokenizer.bos is not None
        task.facts = replace(task.facts, begin=task.tokenizer.bos)
    found = task.evaluate(task.answerer(model), Exam(task.data, "test"))
    assert found is not None
    texts = [piece for (piece,) in task.data.read("test")]
    scored = [one for _, one in Scorer(task.answerer(model), ended=True).score(texts)]
    assert found.tokens == sum(len(one.tokens) for one in scored)
    assert found.loss == pytest.approx(-sum(one.log_prob for one in scored) / found.tokens, rel=1e-4)
    size = sum(len(text.encode()) + 1 for text in texts)
    assert found.bits_per_byte == pytest.approx(sum(-one.log_prob for one in scored) / log(2) / size, rel=1e-4)
    assert sum(part.least == 0 for part in found.by_position) == 1


def test_what_was_read_of_other_texts_is_forgotten(text: Path, tmp_path: Path) -> None:
    task, model = prepared(text)
    (tmp_path / "other.txt").write_text("quite another text, " * 50)
    other, answerer = task.data_from(str(tmp_path / "other.txt")), task.answerer(model)
    own, foreign, again = (task.evaluate(answerer, Exam(data, "test")) for data in (task.data, other, task.data))
    assert own is not None
    assert foreign is not None
    assert again is not None
    assert (again.loss, again.tokens, again.bits_per_byte) == (own.loss, own.tokens, own.bits_per_byte)
    assert foreign.loss != own.loss


def test_more_context_costs_no_token(text: Path) -> None:
    task, model = prepared(text)
    stream = task._streams["valid"]
    for stride in (1, 4, 12):
        for most in (None, 3, 30):
            found = Reader(12, stride).read(model, stream, most)
            assert found is not None
            assert found.tokens == (len(stream) - 1 if most is None else most)


def test_losses_stand_where_they_were_in_their_window(text: Path) -> None:
    task, model = prepared(text)
    stream, stride = task._streams["valid"], 5
    found = Reader(12, stride).read(model, stream, 60)
    assert found is not None
    ids = torch.from_numpy(stream.ids(np.arange(61)))
    costs, counts = [0.0] * 12, [0] * 12
    for place in range(1, len(ids)):
        start = min(max(0, -(-(place - 12) // stride) * stride), len(ids) - 1 - 12)
        with torch.no_grad():
            said = model(ids[None, start:place])[0, -1].log_softmax(-1)
        costs[place - start - 1] -= float(said[ids[place]])
        counts[place - start - 1] += 1
    assert found.windows == counts
    assert found.by_position == pytest.approx(costs, rel=1e-4)
    parts = bins(found)
    assert [(part.least, part.most) for part in parts] == [(0, 0), (1, 2), (3, 6), (7, 11)]
    assert parts[3].loss == pytest.approx(sum(costs[7:]) / sum(counts[7:]), rel=1e-4)


def test_how_a_text_is_read_is_said(text: Path) -> None:
    for options, said in (
        ({}, "windows of 12 tokens"),
        ({"stride": 4}, "windows of 12 tokens, 4 new"),
        ({"carry_state": True}, "windows of 12 tokens, state carried from each to the next"),
        ({"carry_state": True, "stride": 4}, "windows of 12 tokens, state carried from each to the next"),
    ):
        task, model = prepared(text, "gru", task=options)
        answerer = task.answerer(model)
        assert task.manner(answerer) == said
        found = task.evaluate(answerer, Exam(task.data, "valid"))
        assert found is not None
        assert bool(found.notes()) == said.endswith("new")  # what is carried does not overlap


def test_a_text_of_several_lanes_is_all_read(text: Path) -> None:
    task, model = prepared(text, "gru", task={"carry_state": True})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)  # so that what is remembered matters
    found, forgotten = (Reader(12, 12, carries=how).read(model, task._streams["train"]) for how in (True, False))
    assert found is not None
    assert forgotten is not None
    stream = task._streams["train"]
    assert len(stream) - 1 - found.tokens < 32
    rows = Reader(12, 12, carries=True).lanes(len(stream) - 1)
    assert rows > 1
    places = found.tokens // rows * np.arange(rows)[:, None] + np.arange(found.tokens // rows + 1)
    ids = torch.from_numpy(stream.ids(places))
    with torch.no_grad():
        whole = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), reduction="sum")
    assert found.total == pytest.approx(float(whole), rel=1e-5)  # each lane as one, from window to window
    assert found.total / found.tokens != pytest.approx(forgotten.total / forgotten.tokens, rel=1e-3)


def test_a_window_wider_than_any_text_costs_no_more_than_the_text(text: Path) -> None:
    task, model = prepared(text)
    stream = task._streams["valid"]
    whole, wider = (Reader(width, width).read(model, stream) for width in (len(stream), 10**15))
    assert whole is not None
    assert whole == wider


def test_large_models_read_less_at_a_time(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who wants it to end is heard soon; the figures stay what they are."""
    task, model = prepared(text)
    stream, asked = task._streams["valid"], list[int]()
    few = Reader(12, 12).read(model, stream, stopped=lambda: bool(asked.append(1)))
    monkeypatch.setattr(loss, "WORK", 12 * sum(parameter.numel() for parameter in model.parameters()))
    often, asked = asked, []
    many = Reader(12, 12).read(model, stream, stopped=lambda: bool(asked.append(1)))
    assert len(asked) > 10 * len(often) > 0
    assert few is not None
    assert many is not None
    assert (many.tokens, many.total) == (few.tokens, pytest.approx(few.total, rel=1e-6))


def test_bits_compare_vocabularies(text: Path) -> None:
    """A model that knows nothing needs about as many bits for a text, whatever it is cut into."""
    for kind in ("bytes", "characters", "bpe"):
        task, model = prepared(text, tokenizer={"kind": kind} | ({"vocab_size": 300} if kind == "bpe" else {}))
        for parameter in model.parameters():
            torch.nn.init.zeros_(parameter)
        found = task.evaluate(task.answerer(model), Exam(task.data, "test"))
        assert found is not None
        assert found.loss == pytest.approx(log(len(task.tokenizer)), rel=1e-4)
        assert found.bits_per_byte < found.bits_per_character


def test_a_document_in_several_pieces_has_one_end(text: Path) -> None:
    task, _ = prepared(text)
    read = [piece for (piece,) in task.data.read("train")]
    whole = "".join(read)
    assert len(read) > 1
    assert task._measured(task.data, "train") == (1, len(whole) + 1, len(whole.encode()) + 1)


def test_what_a_run_keeps_opens_it_without_its_data(text: Path) -> None:
    task, model = prepared(text)
    kept = task.files()
    text.unlink()
    again = Recipe.check(recipe(text), MENU).wants("task").build(kept)
    assert again.sizes() == task.sizes()
    assert again.facts == task.facts
    assert again.answerer(model).encode("The fox") == task.answerer(model).encode("The fox")
    for damaged in DAMAGED:
        with pytest.raises(InputError, match=r"language.json: damaged"):
            _ = Recipe.check(recipe(text), MENU).wants("task").build(kept | {"language.json": damaged}).facts


def test_a_prompt_is_begun_where_a_run_does_not_say_otherwise() -> None:
    older = {"begin": 2, "end": 2, "stops": [2]}
    for more, begins in (({}, True), ({"begins": True}, True), ({"begins": False}, False)):
        assert Facts.open({FILE: json.dumps(older | more).encode()}, 3).begins == begins


def test_what_a_model_of_characters_has_not_seen_is_kept(text: Path, tmp_path: Path) -> None:
    task, _ = prepared(text)
    seen = {token for row in task.tokenizer.encode([TEXT[: int(0.8 * len(TEXT))]]) for token in row}
    assert {*range(len(task.tokenizer))} - {*task.facts.unseen} == seen | task.tokenizer.special
    (tmp_path / "more.txt").write_text("The quick Zebra\n" * 99)
    later = Recipe.check(recipe(tmp_path / "more.txt"), MENU).wants("task").build(None)
    later.inherit("tokenizer", task.files())
    later.prepare(SILENT)
    now = {token for row in task.tokenizer.encode(["quickZbr"]) for token in row}
    assert {*later.facts.unseen} == {*task.facts.unseen} - now
    assert {*task.facts.unseen} & now
    assert not prepared(text, tokenizer={"kind": "bpe", "vocab_size": 300})[0].facts.unseen


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"task": {"context": 1}}, r"task\.context: wanted a whole number ≥ 2, given 1"),
        ({"task": {"context": 100_000}}, "the training text has .* tokens, and a window 100,000; lower task.context"),
        ({"task": {"stride": 13}}, "stride: 13 leaves tokens out between windows of 12"),
        ({"task": {"carry_state": True, "documents": "apart"}}, "choose documents=joined"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, object], said: str, text: Path) -> None:
    with pytest.raises((InputError, RecipeError), match=said):
        prepared(text, **more)  # type: ignore[arg-type]


def test_a_text_that_is_short_since_most_was_left_out_says_so(tmp_path: Path) -> None:
    rows = [{"text" if number < 4 else "txt": f"one of many lines {number}"} for number in range(60)]
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"(?s)a window 1,000, .* 56 without 'text' .*or say data\.text=KEY"):
        prepared(tmp_path / "few.jsonl", task={"context": 1000})


def test_a_model_that_cannot_is_refused_before_it_is_trained(text: Path) -> None:
    task, model = prepared(text, task={"carry_state": True})
    with pytest.raises(RecipeError, match="only a recurrent decoder has a state to carry"):
        task.check_model(model)
    plain, _ = prepared(text)
    table = recipe(text)["model"]
    table["decoder"] = table["decoder"] | {"positions": {"kind": "learned", "limit": 8}}
    with pytest.raises(RecipeError, match=r"8 positions, and task.context is 12"):
        plain.check_model(build({"model": table}))


def test_no_window_reads_past_the_end(tmp_path: Path) -> None:
    """A text of one window and a little more: it begins anywhere up to the last place that leaves a label."""
    (tmp_path / "short.txt").write_text("abcdefghijklmno")
    task, _ = prepared(tmp_path / "short.txt", data={"valid_share": 0.0, "test_share": 0.0})
    last = len(task._streams["train"]) - 1 - 12
    starts = {int(start) for step in range(60) for start in task.batches(1).starts(step)}
    assert starts == set(range(last + 1))


def test_perplexities_stand_beside_each_other_only_over_one_vocabulary(text: Path) -> None:
    task, model = prepared(text)
    found = task.evaluate(task.answerer(model), Exam(task.data, "test"))
    assert found is not None
    for other, rows in ((found, 4), (replace(found, vocabulary="another"), 2)):
        table = found.beside({"one": found, "other": other})
        assert table is not None
        assert len(table.rows) == rows
        assert ("perplexity" in str(table.rows)) == (rows == 4)


def test_windows_of_a_short_text_are_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("abcdefghijklmnopqrstuvwxyz")
    task, _ = prepared(tmp_path / "short.txt", data={"valid_share": 0.0, "test_share": 0.0})
    batches = task.batches(1)
    assert len(batches) == 1
    assert batches[0].inputs.shape == (1, 12)
    stream = task._streams["train"]
    assert window_batch(stream, np.zeros(1, np.int64), len(stream) - 1, False).labels.shape == (1, 27)


def test_groups_of_positions_are_each_twice_as_wide_and_have_their_own_mean() -> None:
    """Positions 0, 1–2, 3–6 and what is left of 7–14; one that nothing was counted at is left out."""
    costs, windows = [8.0, 6.0, 3.0, 4.0, 3.0, 2.0, 1.0, 0.5, 9.0], [4, 4, 2, 4, 3, 2, 1, 1, 2]
    parts = bins(Foretold(0.0, 0, costs, windows))
    assert [(part.least, part.most) for part in parts] == [(0, 0), (1, 2), (3, 6), (7, 8)]
    assert [part.loss for part in parts] == pytest.approx([8 / 4, 9 / 6, 10 / 10, 9.5 / 3])
    assert [part.least for part in bins(Foretold(0.0, 0, [1.0, 0.0, 0.0, 2.0], [1, 0, 0, 1]))] == [0, 3]
