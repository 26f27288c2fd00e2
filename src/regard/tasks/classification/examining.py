"""How a classifier is examined: every image of a split once, and what is counted on the way."""

import time
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.datasets.images.pixels import Pixels
from regard.datasets.rows import Numbers
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.evaluation import TOP, ClassificationScores
from regard.tasks.classification.pictures import Mistake
from regard.tasks.task import Exam

QUICK = 5_000  # images that are looked at in a quick exam
BINS = 15  # of how sure a model is
WORST = 24  # mistakes that are kept to be looked at


def examined(classifier: Classifier, pixels: Pixels, exam: Exam) -> ClassificationScores | None:
    """Scores of a split; None where somebody wanted it to end."""
    rows = np.arange(len(pixels))
    if exam.quick and len(rows) > QUICK:
        rows = np.linspace(0, len(pixels) - 1, QUICK).astype(np.int64)  # of all classes, however they are sorted
    start, costs, answers, chances, ranks = time.perf_counter(), list[Tensor](), [], [], []
    for images, right in _batches(classifier, pixels, rows, exam):
        if exam.stopped():
            return None
        found = classifier.log_probabilities(images)
        own = found.gather(1, right[:, None])
        best = found.max(1)
        costs.append(-own[:, 0])
        answers.append(best.indices)
        chances.append(best.values.exp())
        ranks.append((found > own).sum(1))
    seconds = time.perf_counter() - start
    nothing = torch.zeros(0)
    cost, answer, chance, rank = (torch.cat([nothing, *some]).numpy() for some in (costs, answers, chances, ranks))
    return _scores(classifier, pixels, rows, (cost, answer.astype(np.int64), chance, rank), seconds)


def _batches(classifier: Classifier, pixels: Pixels, rows: Numbers, exam: Exam) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, len(rows), classifier.together):
        some = rows[start : start + classifier.together]
        exam.listener.at("looking at held-out images", start, len(rows))
        images, right = np.ascontiguousarray(pixels.images[some]), np.array(pixels.labels[some])
        yield torch.from_numpy(images), torch.from_numpy(right)


def _scores(
    classifier: Classifier,
    pixels: Pixels,
    rows: Numbers,
    found: tuple[NDArray[np.float32], Numbers, NDArray[np.float32], NDArray[np.float32]],
    seconds: float,
) -> ClassificationScores:
    costs, answers, chances, ranks = found
    classes, labels = classifier.facts.classes, np.array(pixels.labels[rows])
    count, right = max(1, len(rows)), answers == labels
    wrong = np.flatnonzero(~right)
    worst = wrong[np.argsort(-costs[wrong], kind="stable")][:WORST]
    loss, accuracy = float(costs.sum(dtype=np.float64)) / count, 100 * float(right.sum()) / count
    return ClassificationScores(
        scores={"loss": loss, "accuracy": accuracy} if len(rows) else {},
        images=len(rows),
        loss=loss,
        accuracy=accuracy,
        top5=100 * float((ranks < TOP).sum()) / count,
        calibration_error=100 * calibration_error(chances, right),
        classes=classes,
        mistakes=[
            Mistake(
                pixels.names(int(rows[place])),
                classes[labels[place]],
                classes[answers[place]],
                float(chances[place]),
                np.asarray(pixels.images[rows[place]]),
            )
            for place in worst
        ],
        names=[pixels.names(int(row)) for row in rows],
        labels=labels,
        answers=answers,
        probabilities=chances,
        seconds=seconds,
    )


def calibration_error(chances: NDArray[np.float32], right: NDArray[np.bool_]) -> float:
    """Σ over bins of the share of images in it times |how often right − how sure| [Guo et al. 2017]."""
    if not len(chances):
        return 0.0
    bins = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    apart = np.bincount(bins, right - chances.astype(np.float64), BINS)
    return float(np.abs(apart).sum() / len(chances))
