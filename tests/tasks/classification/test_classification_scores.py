"""How a classifier is scored: against plain formulas, and as people and machines see it."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from PIL import Image
from small_images import CLASSES, prepared, put

from regard.errors import NoNumbersError
from regard.tasks.classification import examining
from regard.tasks.classification.evaluation import ClassificationScores
from regard.tasks.classification.examining import calibration_error
from regard.tasks.task import Exam


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def scores(labels: list[int], answers: list[int], chances: list[float], classes: int = 3) -> ClassificationScores:
    one, other = np.array(labels), np.array(answers)
    return ClassificationScores(
        scores={"loss": 0.5, "accuracy": 100 * float((one == other).mean())},
        images=len(labels),
        loss=0.5,
        accuracy=100 * float((one == other).mean()),
        top5=100.0,
        calibration_error=1.0,
        classes=tuple(f"class {n}" for n in range(classes)),
        mistakes=[],
        names=[f"{n}.png" for n in range(len(labels))],
        labels=one,
        answers=other,
        probabilities=np.array(chances, np.float32),
        seconds=1.0,
    )


def test_every_figure_is_that_of_its_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "TOP", 2)
    task, model = prepared(put(tmp_path / "data", 20))
    torch.nn.init.normal_(model.head.weight, std=1.0, generator=torch.Generator().manual_seed(1))
    found = task.evaluate(task.answerer(model), Exam(task.data, "test"))
    assert found is not None
    pixels, _ = task._pixels["test"]
    logits = model.eval()(task.facts.normalised(torch.from_numpy(np.array(pixels.images)))).detach()
    labels = torch.from_numpy(np.array(pixels.labels))
    assert found.images == len(labels) == 12
    assert found.loss == pytest.approx(float(F.cross_entropy(logits, labels)), rel=1e-4)
    assert found.accuracy == pytest.approx(100 * float((logits.argmax(1) == labels).float().mean()))
    top = logits.topk(2).indices
    assert found.top5 == pytest.approx(100 * float((top == labels[:, None]).any(1).float().mean()))
    assert found.top5 > found.accuracy  # or nothing would be shown
    assert found.answers.tolist() == logits.argmax(1).tolist()
    np.testing.assert_allclose(found.probabilities, logits.softmax(1).max(1).values, rtol=1e-4)
    assert found.scores == {"loss": found.loss, "accuracy": found.accuracy}
    wrong = [one for one in range(12) if found.answers[one] != found.labels[one]]
    assert len(found.mistakes) == len(wrong) > 0
    costs = F.cross_entropy(logits, labels, reduction="none")
    worst = max(wrong, key=lambda one: float(costs[one]))
    assert found.mistakes[0].name == pixels.names(worst)
    assert (found.mistakes[0].label, found.mistakes[0].answer) == tuple(
        CLASSES[int(place)] for place in (labels[worst], found.answers[worst])
    )
    assert np.array_equal(found.mistakes[0].image, pixels.images[worst])


def test_a_model_that_knows_how_sure_it_may_be_has_no_calibration_error() -> None:
    chances = np.array([0.75] * 4 + [1.0] * 2, np.float32)
    assert calibration_error(chances, np.array([True, True, True, False, True, True])) == pytest.approx(0)
    assert calibration_error(chances, np.zeros(6, bool)) == pytest.approx((4 * 0.75 + 2) / 6)
    assert calibration_error(np.zeros(0, np.float32), np.zeros(0, bool)) == 0
    for pair, wanted in (((0.61, 0.66), 0.135), ((0.66, 0.67), 0.505)):  # a bin ends at two thirds
        assert calibration_error(np.array(pair, np.float32), np.array([True, False])) == pytest.approx(wanted)
    mixed = np.array([0.9, 0.2], np.float32)  # apart by the same amount up and down: they do not make up for it
    assert calibration_error(mixed, np.array([False, True])) == pytest.approx((0.9 + 0.8) / 2)


def test_a_quick_exam_looks_at_some_of_all_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "QUICK", 6)
    task, model = prepared(put(tmp_path / "data", 20))
    found = task.evaluate(task.answerer(model, quick=True), Exam(task.data, "valid", quick=True))
    assert found is not None
    assert found.images == 6
    assert set(found.labels.tolist()) == {0, 1, 2}


def test_scores_that_are_no_numbers_are_told_as_such(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"))
    torch.nn.init.constant_(model.head.weight, float("inf"))
    with pytest.raises(NoNumbersError):
        task.evaluate(task.answerer(model), Exam(task.data, "valid"))


def test_classes_and_confusions_are_counted() -> None:
    found = scores([0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 1], [0.5] * 6, classes=4)
    assert found.confusion.tolist() == [[1, 2, 0, 0], [0, 2, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    by = {one.name: (one.count, round(one.recall, 1), round(one.precision, 1)) for one in found.by_class}
    assert by == {"class 0": (3, 33.3, 100.0), "class 1": (2, 100.0, 40.0), "class 2": (1, 0.0, 0.0)}
    assert found.confused == [("class 0", "class 1", 2), ("class 2", "class 1", 1)]
    assert "of 1 classes there is no image here" in found.notes()


def test_people_see_tables_and_machines_all_figures() -> None:
    found = scores([0, 1, 2, 2], [0, 1, 2, 1], [0.5, 0.7, 0.7, 0.9])
    told = str(found)
    for said in (
        "75.00 %",
        "± 21.65 standard error (test images; one training)",
        "recall",
        "precision",
        "predicted class",
    ):
        assert said in told
    assert found.tables()[0].rows[-1][2] == "mean confidence 70.0 %, accuracy 75.0 %"
    assert [row[0] for row in found.tables()[1].rows] == ["class 2", "class 1", "class 0"]  # the hardest first
    facts = found.facts()
    assert facts["confusion"] == found.confusion.tolist()
    assert [one["name"] for one in facts["by_class"]] == ["class 0", "class 1", "class 2"]
    rows = list(csv.reader(io.StringIO(found.files()["predictions.csv"].decode())))
    assert rows[0] == ["image", "class", "predicted", "probability", "data"]
    assert rows[4] == ["3.png", "class 2", "class 1", "0.9000", ""]
    beside = found.beside({"a": found, "b": found})
    assert beside is not None
    assert beside.rows[0] == ("accuracy", "75.00 %", "75.00 %")


def test_hundreds_of_classes_do_not_fill_the_screen() -> None:
    labels = list(range(300))
    found = scores(labels, [*labels[1:], 0], [0.5] * 300, classes=300)
    assert len(found.tables()[1].rows) == 12
    assert len(found.tables()[2].rows) == 12
    assert "confusion" not in found.facts()


def test_a_picture_has_what_it_is_in_rows_and_what_was_named_in_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []

    def kept(figure: Figure, path: Path, *_: object) -> Path:
        drawn.append(figure)
        return path

    monkeypatch.setattr("regard.tasks.classification.pictures.write", kept)
    scores([0, 0, 0, 1], [0, 1, 1, 1], [0.5] * 4, classes=2).draw(tmp_path)
    axes = drawn[0].axes[0]
    np.testing.assert_allclose(np.asarray(axes.images[0].get_array()), [[1 / 3, 2 / 3], [0, 1]])
    assert {(one.get_position(), one.get_text()) for one in axes.texts} == {((0, 0), "1"), ((1, 0), "2"), ((1, 1), "1")}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "true class")


def test_pictures_are_drawn_of_what_is_confused_and_of_the_worst(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"))
    found = task.evaluate(task.answerer(model), Exam(task.data, "test"))
    assert found is not None
    path = found.draw(tmp_path, {"a": found, "b": found})
    assert path == tmp_path / "confusion.png"
    assert Image.open(io.BytesIO(path.read_bytes())).size[0] > 500
    sheet = Image.open(io.BytesIO(found.files()["mistakes.png"]))
    assert sheet.size[0] > 300
    assert scores([0], [0], [1.0], classes=2000).draw(tmp_path) is None
