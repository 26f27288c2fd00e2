"""How a translator is judged: once in full, and now and then in training, by the same code on fewer rows."""

import csv
from dataclasses import replace
from math import exp, isnan, log
from pathlib import Path

import pytest
import torch
from heard import Heard
from matplotlib.figure import Figure
from tiny import TOY, ordered, prepared, seq2seq
from torch import Tensor

from regard.decoding.sample import Greedy
from regard.model.assembly import Seq2Seq
from regard.model.memory import Memory
from regard.tasks.evaluation import Scored
from regard.tasks.task import Exam
from regard.tasks.translation import Translated, Translation, Translator
from regard.tasks.translation import task as module
from regard.tasks.translation.batches import PairBatches
from regard.tasks.translation.evaluation import TranslationScores
from regard.tasks.translation.scores import by_length, score


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def task() -> Translation:
    return prepared()


@pytest.fixture
def model(task: Translation) -> Seq2Seq:
    return seq2seq("recurrent", len(task.tokenizers.target), ends=1.0)


def quick(task: Translation, model: Seq2Seq) -> TranslationScores:
    """As training asks for it."""
    found = task.evaluate(task.answerer(model, quick=True), Exam(task.data, "valid", quick=True))
    assert found is not None
    return found


def full(task: Translation, model: Seq2Seq, split: str = "valid") -> TranslationScores:
    """As `regard evaluate` asks for it."""
    found = task.evaluate(task.answerer(model), Exam(task.data, split))
    assert found is not None
    return found


@torch.no_grad()
def plain_loss(task: Translation, model: Seq2Seq, split: str) -> float:
    """The mean −log p of every word of a split, row by row and with all logits."""
    total, words = 0.0, 0
    (batch,) = PairBatches(task._encoded(split), task.tokenizers.ids, 10_000, 0).in_order()
    for row in range(len(batch.source)):
        source, length = batch.source[row : row + 1, : batch.source_lengths[row]], int(batch.lengths[row])
        logs = model(source, batch.inputs[row : row + 1, :length])[0].log_softmax(-1)
        total -= float(logs.gather(1, batch.labels[row, :length, None]).sum())
        words += length
    return total / words


@pytest.mark.parametrize("split", ["valid", "test"])
def test_held_out_pairs_are_judged(split: str, task: Translation, model: Seq2Seq) -> None:
    found, held = full(task, model, split), list(task.data.read(split))
    translator = Translator(model, task.tokenizers, 5, Greedy())
    texts = [translated.text for translated in translator.translate([source for source, _ in held])]
    references = [target for _, target in held]
    right = score(texts, references)
    assert (found.sources, found.references) == ([source for source, _ in held], references)
    assert found.translations == texts
    assert found.scores == {"loss": found.loss, "bleu": right.bleu, "chrf": right.chrf}
    assert set(found.scores) == set(task.metrics)
    assert found.chrf > 0
    assert (found.bleu_lowercase, found.signatures) == (right.bleu_lowercase, right.signatures)
    assert found.loss == pytest.approx(plain_loss(task, model, split), rel=1e-4)
    assert found.perplexity == pytest.approx(exp(found.loss))
    assert found.by_length == by_length(found.sources, texts, references)
    assert found.exact == sum(map(str.__eq__, texts, references)) / len(held)


def test_a_validation_is_an_evaluation_on_fewer_rows(
    task: Translation, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every figure is the same where there are no more pairs than a quick exam looks at and the search is greedy."""
    short, whole = quick(task, model), full(task, model)
    more = {name: getattr(whole, name) for name in ("by_length", "seconds", "bits_per_byte")}
    assert replace(short, **more) == whole
    monkeypatch.setattr(module, "SCORED", 4)
    less = quick(prepared(), model)
    assert less.translations == whole.translations[:4]
    assert less.bleu == score(less.translations, less.references).bleu
    assert less.loss == whole.loss  # of all pairs: that is quick anyway


def test_a_validation_is_greedy_and_an_evaluation_as_the_recipe_says(model: Seq2Seq) -> None:
    task = prepared(decoding={"kind": "beam", "beam_size": 3, "no_repeat_ngram_size": 1}, shortlist=True)
    assert isinstance(task.answerer(model, quick=True).search, Greedy)
    assert task.answerer(model, quick=True).shortlist is None
    kept = ordered(decoding={"kind": "beam", "beam_size": 3}, shortlist=True).build(task.files())
    used = kept.answerer(model)
    assert (used.search.beam_size, used.shortlist is not None) == (3, True)


def test_what_is_translated_is_compared_with_its_own_reference(
    task: Translation, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A translator that is always right gets all there is, in whatever order it answers."""
    known = dict(task.data.read("valid"))

    def stream(self: Translator, texts: list[str], stopped: object) -> object:
        numbered = list(enumerate(texts))
        return ((number, Translated(text, [known[text]], [0.0])) for number, text in reversed(numbered))

    monkeypatch.setattr(Translator, "stream", stream)
    found = quick(task, model)
    assert found.chrf == pytest.approx(100)
    assert found.exact == 1


def test_how_far_it_has_come_is_told(task: Translation, model: Seq2Seq) -> None:
    heard = Heard()
    task.evaluate(task.answerer(model), Exam(task.data, "valid", listener=heard))
    assert [work for work in heard.works if work[0] == "answering"] == [("answering", done, 9) for done in range(1, 10)]
    works = list(dict.fromkeys(work for work, _, _ in heard.works))
    assert works == ["reading the data", "computing the loss", "answering", "scoring", "scoring by length"]


def test_an_exam_stops_when_asked(task: Translation, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it is asked to, it takes not one more step and gives no scores at all."""
    asked, steps, step = [0], [0], Seq2Seq.step

    def noted(self: Seq2Seq, tokens: Tensor, memory: Memory) -> Tensor:
        steps[0] += 1
        return step(self, tokens, memory)

    monkeypatch.setattr(Seq2Seq, "step", noted)
    monkeypatch.setattr("regard.decoding.workers.LEAST", 99)  # one thread, so that questions can be counted

    def stop_after(questions: int) -> TranslationScores | None:
        asked[0], steps[0] = 0, 0

        def stopped() -> bool:
            asked[0] += 1
            return asked[0] > questions

        return task.evaluate(task.answerer(model, quick=True), Exam(task.data, "valid", True, stopped))

    assert stop_after(999) is not None
    questions, needed = asked[0], steps[0]
    assert needed > 3
    assert questions == needed + 2  # before a batch for the loss, before each step, and before the scores are given
    for patience in range(questions):
        assert stop_after(patience) is None
        assert steps[0] == max(0, min(patience - 1, needed))


def test_without_held_out_pairs_there_is_nothing_to_judge(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a b\tb a\n" * 9)
    task = prepared({"kind": "files", "train": str(tmp_path / "train.tsv"), "valid_share": 0.0})
    found = quick(task, seq2seq("recurrent", len(task.tokenizers.target)))
    assert (found.scores, found.pairs, found.by_length) == ({}, 0, [])
    assert isnan(found.bleu)


def test_pairs_too_long_to_learn_from_are_translated_all_the_same(model: Seq2Seq) -> None:
    """They count for BLEU, as every sentence of a test set must; the loss is that of the others."""
    task = prepared(max_length=4)
    found, held = full(task, model), list(task.data.read("valid"))
    assert found.pairs == len(held) > len(task._encoded("valid")) > 0
    assert found.loss == pytest.approx(plain_loss(task, model, "valid"), rel=1e-4)


@pytest.mark.parametrize("change", ["deleted", "changed"])
def test_data_that_go_while_it_trains_are_not_missed(change: str, tmp_path: Path) -> None:
    """After preparing, no file of the user is read again: neither for batches nor for validation."""
    file = tmp_path / "train.tsv"
    file.write_text("".join(f"a b {letter}\t{letter} b a\n" for letter in "abcdefghijklmnopqrst" * 3))
    task = prepared({"kind": "files", "train": str(file), "valid_share": 0.2})
    model = seq2seq("recurrent", len(task.tokenizers.target), ends=1.0)
    before, batch = quick(task, model), task.batches(1)[3]
    assert before.pairs > 0
    file.unlink() if change == "deleted" else file.write_text("x\ty\n" * 60)
    after = quick(task, model)
    assert replace(after, seconds=before.seconds) == before
    assert torch.equal(task.batches(1)[3].source, batch.source)


def test_other_data_are_judged_under_the_names_of_the_run(tmp_path: Path, task: Translation, model: Seq2Seq) -> None:
    (tmp_path / "mine.letters").write_text("a b\nc d\n")
    (tmp_path / "mine.reverse").write_text("b a\nd c\n")
    other = task.data_from(str(tmp_path / "mine"))
    found = task.evaluate(task.answerer(model), Exam(other, "test"))
    assert found is not None
    assert (found.sources, found.references) == (["a b", "c d"], ["b a", "d c"])
    assert list(other.read("test")) == list(zip(found.sources, found.references, strict=True))


def test_bits_are_those_of_bytes_and_line_ends(tmp_path: Path) -> None:
    """Letters of several bytes, in lines each of which ends: a byte more. log P is taken row by row."""
    for name, rows in (("train", "a\tdžem\nb\t한국 ß\n"), ("valid", "c\t한국\nd\tß ß é\ne\t\N{GRINNING FACE}\n")):
        (tmp_path / f"{name}.tsv").write_text(rows, encoding="utf-8")
    task = prepared({"kind": "files"} | {name: str(tmp_path / f"{name}.tsv") for name in ("train", "valid")})
    model = seq2seq("recurrent", len(task.tokenizers.target), ends=1.0)
    found = full(task, model)
    (batch,) = PairBatches(task._encoded("valid"), task.tokenizers.ids, 10_000, 0).in_order()
    nats = plain_loss(task, model, "valid") * int(batch.lengths.sum())
    assert found.bits_per_byte == pytest.approx(nats / log(2) / (6 + 1 + 8 + 1 + 4 + 1), rel=1e-4)


@pytest.mark.parametrize(("target", "tokenizer"), [("zh", "zh"), ("en", "13a")])
def test_bleu_is_cut_as_the_target_language_asks(target: str, tokenizer: str, tmp_path: Path) -> None:
    for name, rows in (("train", "a\t狗\nb\t她在读书\n"), ("valid", "c\t狗在草地上跑\nd\t两个人在看狗\n")):
        (tmp_path / f"{name}.tsv").write_text(rows, encoding="utf-8")
    named = {name: str(tmp_path / f"{name}.tsv") for name in ("train", "valid")}
    task = prepared({"kind": "files", "target": target} | named)
    found = full(task, seq2seq("recurrent", len(task.tokenizers.target), ends=3.0))
    assert f"tok:{tokenizer}" in found.signatures["bleu"]
    assert any(f"tok:{tokenizer}" in note for note in found.notes())


def judged(sources: list[str], texts: list[str], references: list[str]) -> TranslationScores:
    """As `evaluate` holds them."""
    found = score(texts, references)
    return TranslationScores(
        scores={"bleu": found.bleu},
        pairs=len(sources),
        loss=1.0,
        loss_pairs=len(sources),
        perplexity=2.7,
        bits_per_byte=1.0,
        bleu=found.bleu,
        chrf=found.chrf,
        bleu_lowercase=found.bleu_lowercase,
        exact=0.0,
        signatures=found.signatures,
        vocabulary="",
        by_length=by_length(sources, texts, references),
        seconds=1.0,
        sources=sources,
        translations=texts,
        references=references,
    )


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """What is drawn, unwritten."""
    drawn: list[Figure] = []

    def kept(figure: Figure, path: Path, *_: object) -> Path:
        drawn.append(figure)
        return path

    monkeypatch.setattr("regard.tasks.translation.lengths.write", kept)
    return drawn


def test_bins_without_bleu_and_bins_of_few_pairs_are_marked(figures: list[Figure], tmp_path: Path) -> None:
    short, long = ["drei", "drei"], ["dreihundertdreiunddreissig", "three hundred and thirty-three"]
    pairs = [short] * 30 + [long] * 5
    found = judged(*map(list, zip(*([source, text, text] for source, text in pairs), strict=True)))
    rows = found.tables()[1].rows
    assert [row[:3] for row in rows] == [("1–10", "30", "–"), ("21–30", "5", "100.00")]
    assert rows[1][4] == "░" * 25
    assert any(note.startswith("░ fewer than 20 pairs") for note in found.notes())
    assert any(note.startswith("– most references have fewer than the 4 tokens") for note in found.notes())
    table = found.beside({"a": found, "b": found})
    assert table is not None
    assert [row for row in table.rows if row[0].startswith("BLEU, 1–10")] == [("BLEU, 1–10 letters", "–", "–")]
    assert ("BLEU, 21–30 letters ░", "100.00", "100.00") in table.rows
    found.of(Scored("mine.tsv (de → en)", None, 7, "greedy", "3fa9c1ff")).draw(tmp_path)
    (figure,) = figures
    assert figure.get_suptitle() == "35 pairs of mine.tsv (de → en)"
    points = {
        tuple(line.get_ydata()): line.get_fillstyle() for line in figure.axes[0].lines if line.get_marker() == "o"
    }
    assert {tuple(map(round, values)): style for values, style in points.items()} == {(): "full", (100,): "none"}


def test_chrf_is_drawn_where_all_references_are_too_short_for_bleu(figures: list[Figure], tmp_path: Path) -> None:
    numbers = [str(number) for number in range(30)]
    judged(numbers, numbers, numbers).draw(tmp_path)
    assert (figures[0].axes[0].get_ylabel(), list(figures[0].axes[0].lines[1].get_ydata())) == ("chrF", [100.0])


def test_an_exact_match_is_exact_in_case_too(
    task: Translation, model: Seq2Seq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.tsv").write_text("a b\tA b\n" * 4)
    answers = ["a b", "A b", "A  b", "A b "]
    monkeypatch.setattr(Translator, "stream", lambda *_: enumerate(Translated("", [one], [0.0]) for one in answers))
    found = task.evaluate(task.answerer(model), Exam(task.data_from(str(tmp_path / "mine.tsv")), "test"))
    assert found is not None
    assert found.exact == 0.25


def test_files_of_other_data_have_their_name(tmp_path: Path) -> None:
    found = judged(['"a'], ["b, c"], ["=1+\t2"])
    own = Scored("a.tsv (de → en)", "test", 7, "greedy", "0123456789")
    other = Scored("/far/away/nëws 2017.tsv, b.tsv and 3 more (de → en)", None, 7, "greedy", "3fa9c1ff", learnt=True)
    assert list(found.files()) == list(found.of(own).files()) == ["translations.csv"]
    assert list(found.of(other).files()) == ["translations-nëws-2017-tsv-3fa9c1.csv"]
    (content,) = found.of(other).files().values()
    (row,) = csv.DictReader(content.decode().splitlines())
    assert (row["source"], row["reference"], row["translation"]) == ('"a', "'=1+ 2", "b, c")
    assert row["data"] == f"{other.data}, which it was trained on"


def test_runs_stand_side_by_side(task: Translation, model: Seq2Seq) -> None:
    one, other = full(task, model), full(task, seq2seq("recurrent", len(task.tokenizers.target), ends=4.0))
    table = one.beside({"one": one, "other": other})
    assert table is not None
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["chrF"] == (f"{one.chrf:.2f}", f"{other.chrf:.2f}")
    assert one.chrf != other.chrf
    assert rows["BLEU, 1–10 letters ░"] == tuple(each.tables()[1].rows[0][2] for each in (one, other))
    head, *rows = csv.reader(one.files()["translations.csv"].decode().splitlines())
    assert head == ["chrf", "source", "reference", "translation", "data"]
    assert [row[1:4] for row in rows] == list(
        map(list, zip(one.sources, one.references, one.translations, strict=True))
    )
    assert not {"sources", "translations", "references"} & set(one.facts())
    assert TOY["valid"] == one.facts()["pairs"]


def test_long_names_of_runs_and_data_leave_room_for_the_picture(
    task: Translation, model: Seq2Seq, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """matplotlib says that axes collapsed where a legend has hundreds of letters."""
    found = full(task, model).of(Scored("d" * 255, None, 7, "greedy", "3fa9c1ff"))
    assert (
        found.draw(tmp_path, {"n" * 255: found, "m" * 255: found}) == tmp_path / f"bleu-by-length-{'d' * 40}-3fa9c1.png"
    )
    assert list(recwarn) == []
