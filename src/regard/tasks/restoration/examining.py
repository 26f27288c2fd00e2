"""How a restorer is examined: every image of a split once, spoilt always in the same way."""

import time
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.datasets.images.pixels import Pixels
from regard.datasets.rows import Numbers
from regard.tasks.restoration.corruption import drawn_for
from regard.tasks.restoration.evaluation import Likeness, RestorationScores
from regard.tasks.restoration.likeness import psnr, ssim
from regard.tasks.restoration.loss import apart
from regard.tasks.restoration.pictures import Sample
from regard.tasks.restoration.restorer import Restorer, rounded
from regard.tasks.task import Exam

QUICK = 1_000  # images that are looked at in a quick exam
SHOWN = 6  # images that are kept to be looked at, from all over


def examined(restorer: Restorer, pixels: Pixels, exam: Exam) -> RestorationScores | None:
    """Scores of a split; None where somebody wanted it to end."""
    count = min(QUICK, len(pixels)) if exam.quick else len(pixels)
    rows = np.linspace(0, max(0, len(pixels) - 1), count).astype(np.int64)
    shown = set(np.linspace(0, max(0, count - 1), min(SHOWN, count)).astype(int).tolist())
    start, costs, figures, samples = time.perf_counter(), list[Tensor](), list[Tensor](), list[Sample]()
    for first, some in _batches(restorer, rows, exam):
        if exam.stopped():
            return None
        clean = torch.from_numpy(np.ascontiguousarray(pixels.images[some])).float() / 255
        drawn = drawn_for(restorer.corruption, some.tolist(), restorer.facts.channels, restorer.facts.shape)
        spoilt = restorer.corruption.corrupt(clean, drawn)
        found = restorer.outputs(spoilt)
        costs.append(apart(found, restorer.facts.scaled(clean)))
        seen, made = rounded(spoilt), rounded(restorer.facts.unscaled(found))
        figures.append(torch.stack([how(one, clean) for one in (seen, made) for how in (psnr, ssim)]))
        for place in shown.intersection(range(first, first + len(some))):
            one = place - first
            corrupted, restored, as_it_was = (_bytes(each[one]) for each in (seen, made, clean))
            before, after = figures[-1][0, one], figures[-1][2, one]
            name = pixels.names(int(rows[place]))
            samples.append(Sample(name, corrupted, restored, as_it_was, float(before), float(after)))
    each = torch.cat([torch.zeros(4, 0), *figures], 1).numpy()
    loss = float(torch.cat([torch.zeros(0), *costs]).double().sum()) / max(1, count)
    return RestorationScores(
        scores={"loss": loss, "psnr": float(each[2].mean(dtype=np.float64))} if count else {},
        images=count,
        loss=loss,
        before=Likeness(each[0], each[1]),
        after=Likeness(each[2], each[3]),
        names=[pixels.names(int(row)) for row in rows],
        samples=samples,
        seconds=time.perf_counter() - start,
    )


def _batches(restorer: Restorer, rows: Numbers, exam: Exam) -> Iterator[tuple[int, Numbers]]:
    for start in range(0, len(rows), restorer.together):
        exam.listener.at("restoring held-out images", start, len(rows))
        yield start, rows[start : start + restorer.together]


def _bytes(pixels: Tensor) -> NDArray[np.uint8]:
    made: NDArray[np.uint8] = (pixels * 255).round().byte().numpy()
    return made
