"""The task of translation: what is learnt from, what a run keeps of it, and what is refused."""

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from heard import Heard
from tiny import STACKS, TOY, ordered, prepared, seq2seq
from torch import Tensor

from regard.datasets.tokenizer.trainer import BOS, LEAST
from regard.datasets.toys import Toys
from regard.errors import InputError, RecipeError
from regard.listener import SILENT
from regard.model.assembly import Seq2Seq
from regard.model.build import build
from regard.tasks.task import Batch, Batches
from regard.tasks.translation import Translation
from regard.tasks.translation import task as module
from regard.tasks.translation.batches import PairBatch
from regard.tasks.translation.facts import Facts
from regard.tasks.translation.loss import held_out_loss, translation_loss
from regard.training.menu import MENU

TOYS = Toys(**{key: value for key, value in TOY.items() if key != "kind"})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def task() -> Translation:
    return prepared()


@pytest.fixture
def model(task: Translation) -> Seq2Seq:
    return seq2seq("recurrent", len(task.tokenizers.target), ends=1.0)


def naive(model: Seq2Seq, batch: PairBatch, label_smoothing: float) -> Tensor:
    """Row by row, without padding and with all logits."""
    total = torch.zeros((), dtype=torch.float64)
    for row in range(len(batch.source)):
        source, length = batch.source[row : row + 1, : batch.source_lengths[row]], batch.lengths[row]
        logits = model(source, batch.inputs[row : row + 1, :length])[0]
        labels = batch.labels[row, :length]
        total = total + F.cross_entropy(logits, labels, reduction="sum", label_smoothing=label_smoothing)
    return total


# --- what is learnt from --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STACKS)
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_every_row_alone(kind: str, label_smoothing: float) -> None:
    task = prepared(label_smoothing=label_smoothing)
    model = seq2seq(kind, len(task.tokenizers.target))
    batch = task.batches(1)[0]
    assert batch.source.numel() + batch.inputs.numel() > batch.size  # some of it is padding
    found = task.loss(model, batch)
    torch.testing.assert_close(found.total.double(), naive(model, batch, label_smoothing), rtol=1e-4, atol=0)
    torch.testing.assert_close(found.plain.double(), naive(model, batch, 0.0), rtol=1e-4, atol=0)
    found.total.backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


def test_batches_are_what_the_loop_can_learn_from(task: Translation) -> None:
    batches = task.batches(1)
    batch = batches[0]
    assert isinstance(batches, Batches)
    assert isinstance(batch, Batch)
    assert batch.predictions == int((batch.labels != task.tokenizers.ids.pad).sum())
    assert torch.equal(batches[7].source, task.batches(1)[7].source)
    assert any(not torch.equal(batches[step].source, task.batches(2)[step].source) for step in range(3))


def inputs_of(model: Seq2Seq, batch: PairBatch, share: float, seed: int = 1) -> Tensor:
    """What the decoder was given in the pass that is learnt from."""
    seen: list[Tensor] = []
    hook = model.target.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    torch.manual_seed(seed)
    translation_loss(model, batch, 0.0, share)
    hook.remove()
    return seen[-1]


def test_sampling_gives_the_model_some_of_its_own_words(model: Seq2Seq) -> None:
    batch = prepared(batch_tokens=400).batches(1)[0]
    right = batch.inputs
    assert torch.equal(inputs_of(model, batch, 0.0), right)
    found = inputs_of(model, batch, 0.5)
    said = model(batch.source, right, batch.source_lengths).argmax(-1)
    own = torch.cat([right[:, :1], said[:, :-1]], 1)
    assert (found[:, 0] == BOS).all()
    assert ((found == right) | (found == own)).all()
    differ = right != own
    assert differ.sum() > 50
    assert float((found == own)[differ].double().mean()) == pytest.approx(0.5, abs=0.15)
    assert torch.equal(inputs_of(model, batch, 0.5), found)
    assert not torch.equal(inputs_of(model, batch, 0.5, seed=2), found)
    assert float((inputs_of(model, batch, 0.9) == own)[differ].double().mean()) > 0.75


def test_sampling_is_learnt_from(model: Seq2Seq) -> None:
    """As the recipe says it, in the task's own section."""
    task, plain = prepared(batch_tokens=400, scheduled_sampling=0.5), prepared(batch_tokens=400)
    batch = task.batches(1)[0]
    torch.manual_seed(1)
    found = task.loss(model, batch)
    found.total.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert float(found.plain) != float(plain.loss(model, batch).plain)


def test_the_held_out_loss_does_not_depend_on_the_batch(task: Translation, model: Seq2Seq) -> None:
    corpus, ids = task._encoded("valid"), task.tokenizers.ids
    losses = [held_out_loss(model, module.PairBatches(corpus, ids, tokens, 0)) for tokens in (1, 20, 4096)]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def test_a_toy_is_learnt() -> None:
    task = prepared(batch_tokens=400, label_smoothing=0.1)
    model = seq2seq("recurrent", len(task.tokenizers.target)).float().train()
    optimizer, batches = torch.optim.Adam(model.parameters(), 0.02), task.batches(1)
    losses = []
    for step in range(30):
        batch = batches[step]
        found = task.loss(model, batch)
        optimizer.zero_grad()
        (found.total / batch.predictions).backward()
        optimizer.step()
        losses.append(float(found.plain) / batch.predictions)
    assert losses[-1] < 0.4 * losses[0]


# --- what a run keeps -----------------------------------------------------------------------------------------------


def test_the_task_says_what_the_model_and_the_run_need(task: Translation) -> None:
    assert task.sizes() == {"source_vocab_size": LEAST + 4, "target_vocab_size": LEAST + 4}
    files = task.files()
    assert set(files) == {"tokenizer.json", "translation.json", "shortlist.safetensors"}
    assert json.loads(files["translation.json"]) == {
        "longest": 5,
        "single": 1.0,
        "source": "letters",
        "target": "reverse",
    }
    assert files["tokenizer.json"] == task.tokenizers.files()["tokenizer.json"]


def test_what_is_kept_is_taken_instead_of_a_new_vocabulary(task: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.TokenizerPair, "train", None)
    again = ordered(tokenizer="characters").build(task.files())
    again.prepare(SILENT)
    assert again.files() == task.files()
    assert torch.equal(again.batches(1)[5].labels, task.batches(1)[5].labels)


def test_what_is_kept_answers_without_the_data(
    task: Translation, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise AssertionError("no data are needed for this")

    monkeypatch.setattr(Toys, "read", gone)
    monkeypatch.setattr(Toys, "fingerprint", gone)
    again = ordered().build(task.files())
    assert again.sizes() == task.sizes()
    one, other = (each.answerer(model).translate(["a b", "c"]) for each in (again, task))
    assert [found.texts for found in one] == [found.texts for found in other]
    assert again.answerer(model).longest == 5


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("translation.json", b"{}", "translation.json: damaged: no length of the longest source in it"),
        ("translation.json", b'{"longest": "5"}', "translation.json: damaged: no length of the longest source"),
        ("translation.json", b"[", "translation.json: damaged: not a JSON table"),
        ("translation.json", None, "translation.json: damaged: not a JSON table"),
        ("tokenizer.json", b"{}", "tokenizer.json: not a tokenizer"),
        ("tokenizer.json", None, "source-tokenizer.json: missing in the run"),
        ("shortlist.safetensors", b"rubbish", "shortlist.safetensors: not a safetensors file"),
        ("shortlist.safetensors", None, "shortlist.safetensors: not a safetensors file"),
    ],
)
def test_what_is_kept_and_damaged_is_refused_by_name(
    name: str, content: bytes | None, said: str, task: Translation, model: Seq2Seq
) -> None:
    kept = task.files() | {name: content}
    again = ordered(shortlist=True).build({key: value for key, value in kept.items() if value is not None})
    with pytest.raises(InputError, match=f"^{said}"):
        again.answerer(model)


def test_sides_may_have_vocabularies_of_their_own() -> None:
    task = prepared(tokenizer={"kind": "words", "joint": False})
    assert {"source-tokenizer.json", "target-tokenizer.json"} < set(task.files())
    assert set(task.sizes().values()) == {LEAST + 4}


# --- what is said and refused ---------------------------------------------------------------------------------------


def test_what_becomes_of_the_data_is_reported(tmp_path: Path) -> None:
    """By split, with the reason and the lines."""
    (tmp_path / "train.tsv").write_text("a b\tb a\n" * 5 + "a\t\n" + "a b c d\td c b a\n" + "no tab\n" + "b\tb\n" * 9)
    (tmp_path / "valid.tsv").write_text("c\tc\n\nc c c c\tc\n")
    data = {"kind": "files", "train": str(tmp_path / "train.tsv"), "valid": str(tmp_path / "valid.tsv")}
    heard = Heard()
    reports = ordered(data, max_length=3).build(None).prepare(heard)
    assert list(reports) == ["train", "valid", "test"]
    assert reports["train"].kept == 14
    assert str(reports["train"]) == (
        "17 read from train.tsv, 3 dropped: 1 empty (line 6), 1 with too few or too many columns (line 8), "
        "1 over 3 tokens (line 7); 14 left; in 9 pairs source and target are the same; "
        "100 % of sources are one sentence"
    )
    assert str(reports["valid"]) == (
        "3 read from valid.tsv, 2 dropped: 1 empty (line 2), 1 over 3 tokens (line 3); 1 left; "
        "scores of so few will be rough: raise data.valid_share or name a file in data.valid"
    )
    assert str(reports["test"]).startswith("none; evaluations score the valid split, unless data.test names a file or ")
    works = list(dict.fromkeys(work for work, _, _ in heard.works))
    first = ["reading the data", "learning the vocabulary"]
    assert works == [*first, "encoding the train data", "encoding the valid data"]


def test_data_of_nothing_but_long_sentences_are_refused() -> None:
    """Rather than trained on nothing."""
    toys = TOY | {"min_length": 5}
    with pytest.raises(InputError, match=r"^no training pair has at most 3 tokens a side; raise task\.max_length$"):
        prepared(toys, max_length=3)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_texts_longer_than_the_positions_of_a_model_are_refused_before_anything_is_trained(side: str) -> None:
    task = prepared()
    stacks = dict(zip(("encoder", "decoder"), STACKS["transformer"], strict=True))
    stacks[side] = stacks[side] | {"positions": {"kind": "learned", "limit": 5}}
    model = build({"model": {"kind": "seq2seq", "width": 16, **stacks, **task.sizes()}})
    said = rf"^model\.{side}\.positions\.limit: 5 positions, but training texts need 6; .* task\.max_length=4$"
    with pytest.raises(RecipeError, match=said):
        task.check(model)
    prepared(max_length=4).check(model)


def test_sections_of_the_task_are_not_said_below_it() -> None:
    with pytest.raises(RecipeError, match=r"^task\.data: belongs to a section of its own, \[data\]$"):
        MENU.lift("task", {"kind": "translation", "data": TOY}, {"data": TOY})


def test_texts_are_split_where_nine_tenths_of_sources_were_one_sentence() -> None:
    assert Facts(1, 0.9).sentences
    assert not Facts(1, 0.89).sentences
    assert Facts(1, 0.95).note == "95 % of sources are one sentence"
    assert Facts(1, 0.75).note == "25 % of sources have several sentences, so texts are not split"
