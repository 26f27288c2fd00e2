"""The task of translation: what is learnt from, and what a model is judged by."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from tiny import STACKS, seq2seq
from torch import Tensor

from regard.data.batches import Batch
from regard.data.files import Files
from regard.data.tokens import BEGIN, LEAST, Characters, Words
from regard.data.toys import Toys
from regard.decoding.sample import Greedy
from regard.errors import InputError
from regard.model.assembly import Seq2Seq
from regard.model.memory import Memory
from regard.tasks import translation
from regard.tasks.scores import score
from regard.tasks.translation import Translation, held_loss
from regard.tasks.translator import Translated, Translator

TOYS = Toys(letters=4, longest=5, train=60, valid=9, test=1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))


@pytest.fixture
def task() -> Translation:
    return Translation.prepare(TOYS, Words(), 8)


@pytest.fixture
def model(task: Translation) -> Seq2Seq:
    return seq2seq("recurrent", len(task.vocabulary.target), ends=1.0)


def naive(model: Seq2Seq, batch: Batch, smoothing: float) -> Tensor:
    """Row by row, without padding and with all logits."""
    total = torch.zeros((), dtype=torch.float64)
    for row in range(len(batch.source)):
        source, length = batch.source[row : row + 1, : batch.source_lengths[row]], batch.lengths[row]
        logits = model(source, batch.given[row : row + 1, :length])[0]
        total = total + F.cross_entropy(logits, batch.wanted[row, :length], reduction="sum", label_smoothing=smoothing)
    return total


@pytest.mark.parametrize("kind", STACKS)
@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_the_loss_is_that_of_every_row_alone(kind: str, smoothing: float, task: Translation) -> None:
    model = seq2seq(kind, len(task.vocabulary.target))
    batch = task.batches(60, 1)[0]
    assert batch.positions > batch.tokens
    found = task.loss(model, batch, smoothing)
    torch.testing.assert_close(found.total.double(), naive(model, batch, smoothing), rtol=1e-4, atol=0)
    torch.testing.assert_close(found.plain.double(), naive(model, batch, 0.0), rtol=1e-4, atol=0)
    found.total.backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


def test_the_task_says_what_the_model_and_the_run_need(task: Translation) -> None:
    assert task.sizes() == {"source_vocab_size": LEAST + 4, "target_vocab_size": LEAST + 4}
    facts = task.facts()
    assert (facts["task"], facts["pairs"], facts["longest"], facts["data"]) == (
        "translation",
        60,
        5,
        TOYS.fingerprint(),
    )
    assert task.tokens() == task.vocabulary.table()


def test_a_kept_vocabulary_is_taken_instead_of_a_new_one(task: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation.Vocabulary, "learn", None)
    again = Translation.prepare(TOYS, Characters(), 8, task.tokens())
    assert again.tokens() == task.tokens()
    assert torch.equal(again.batches(60, 1)[5].wanted, task.batches(60, 1)[5].wanted)


def test_sides_may_have_vocabularies_of_their_own() -> None:
    task = Translation.prepare(TOYS, Words(joint=False), 8)
    assert set(task.tokens()) == {"source", "target"}
    assert set(task.sizes().values()) == {LEAST + 4}


def test_data_of_nothing_but_long_sentences_are_refused() -> None:
    """Rather than trained on nothing."""
    toys = Toys(letters=4, shortest=5, longest=5, train=9, valid=1, test=1)
    with pytest.raises(InputError, match=r"^no training pair has at most 3 tokens a side; raise training\.longest$"):
        Translation.prepare(toys, Words(), 3)


def given_to(model: Seq2Seq, task: Translation, batch: Batch, sampling: float, seed: int = 1) -> Tensor:
    """What the decoder was given in the pass that is learnt from."""
    seen: list[Tensor] = []
    hook = model.target.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    torch.manual_seed(seed)
    task.loss(model, batch, 0.0, sampling)
    hook.remove()
    return seen[-1]


def test_sampling_gives_the_model_some_of_its_own_words(task: Translation, model: Seq2Seq) -> None:
    batch = task.batches(400, 1)[0]
    right = batch.given
    assert torch.equal(given_to(model, task, batch, 0.0), right)
    found = given_to(model, task, batch, 0.5)
    said = model(batch.source, right, batch.source_lengths).argmax(-1)
    own = torch.cat([right[:, :1], said[:, :-1]], 1)
    assert (found[:, 0] == BEGIN).all()
    assert ((found == right) | (found == own)).all()
    differ = right != own
    assert differ.sum() > 50
    assert float((found == own)[differ].double().mean()) == pytest.approx(0.5, abs=0.15)
    assert torch.equal(given_to(model, task, batch, 0.5), found)
    assert not torch.equal(given_to(model, task, batch, 0.5, seed=2), found)
    assert float((given_to(model, task, batch, 0.9) == own)[differ].double().mean()) > 0.75


def test_sampling_is_learnt_from(task: Translation, model: Seq2Seq) -> None:
    batch = task.batches(400, 1)[0]
    torch.manual_seed(1)
    found = task.loss(model, batch, 0.0, 0.5)
    found.total.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert float(found.plain) != float(task.loss(model, batch).plain)


def test_validation_judges_held_out_pairs(task: Translation, model: Seq2Seq) -> None:
    found = task.validate(model, lambda: False)
    held = list(TOYS.read("valid"))
    translator = Translator(model, task.vocabulary, 5)
    texts = [translated.text for translated in translator.translate([source for source, _ in held], Greedy())]
    right = score(texts, [target for _, target in held])
    words = sum(len(target.split()) + 1 for _, target in held)
    (batch,) = translation.Batches(task.held, 10_000, 0).in_order()
    assert found is not None
    assert set(found) == set(task.metrics)
    assert found["loss"] == pytest.approx(float(naive(model, batch, 0.0).detach()) / words, rel=1e-4)
    assert found["chrf"] == pytest.approx(right.chrf)
    assert found["bleu"] == pytest.approx(right.bleu)
    assert found["chrf"] > 0


def test_what_is_translated_is_compared_with_its_own_reference(
    task: Translation, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A translator that is always right gets all there is."""
    known = dict(TOYS.read("valid"))
    monkeypatch.setattr(
        Translator, "translate", lambda self, texts, search: [Translated(text, [known[text]], [0.0]) for text in texts]
    )
    found = task.validate(model, lambda: False)
    assert found is not None
    assert found["chrf"] == pytest.approx(100)


def test_validation_stops_when_asked(task: Translation, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it is asked to, it takes not one more step and gives no scores at all."""
    asked, steps, step = [0], [0], Seq2Seq.step

    def noted(self: Seq2Seq, tokens: Tensor, memory: Memory) -> Tensor:
        steps[0] += 1
        return step(self, tokens, memory)

    monkeypatch.setattr(Seq2Seq, "step", noted)

    def stop_after(questions: int) -> dict[str, float] | None:
        asked[0], steps[0] = 0, 0

        def stopped() -> bool:
            asked[0] += 1
            return asked[0] > questions

        return task.validate(model, stopped)

    assert stop_after(999) is not None
    questions, needed = asked[0], steps[0]
    assert needed > 3
    assert questions == needed + 2  # before a batch for the loss, before each step, and before the scores are given
    for patience in range(questions):
        assert stop_after(patience) is None
        assert steps[0] == max(0, min(patience - 1, needed))


def test_without_held_out_pairs_there_is_nothing_to_judge(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a b\tb a\n" * 9)
    task = Translation.prepare(Files(train=str(tmp_path / "train.tsv"), valid_share=0.0), Words(), 8)
    assert task.validate(seq2seq("recurrent", len(task.vocabulary.target)), lambda: False) == {}


def test_the_held_out_loss_does_not_depend_on_the_batch(task: Translation, model: Seq2Seq) -> None:
    losses = [held_loss(model, translation.Batches(task.held, tokens, 0)) for tokens in (1, 20, 4096)]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def test_a_toy_is_learnt(task: Translation) -> None:
    model = seq2seq("recurrent", len(task.vocabulary.target)).float().train()
    optimizer, batches = torch.optim.Adam(model.parameters(), 0.02), task.batches(400, 1)
    losses = []
    for step in range(30):
        batch = batches[step]
        found = task.loss(model, batch, 0.1)
        optimizer.zero_grad()
        (found.total / batch.targets).backward()
        optimizer.step()
        losses.append(float(found.plain) / batch.targets)
    assert losses[-1] < 0.4 * losses[0]
