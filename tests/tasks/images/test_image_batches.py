"""Batches of images: every image once an epoch, all chance from (seed, step), and parts that make the whole."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_images import EVERYTHING, prepared, put

from regard.datasets.images.pixels import Pixels
from regard.tasks.classification.loss import classification_loss
from regard.tasks.images.augmentation import Random
from regard.tasks.images.batches import ImageBatch, ImageBatches
from regard.tasks.task import Batch, Batches


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def pixels(counts: list[int]) -> Pixels:
    """Images that say themselves which they are."""
    total = sum(counts)
    images = np.broadcast_to(np.arange(total, dtype=np.uint8)[:, None, None, None], (total, 1, 2, 3))
    labels = np.repeat(np.arange(len(counts)), counts)
    names = "".join(f"{n:03}" for n in range(total)).encode()
    ends = 3 * np.arange(1, total + 1)
    return Pixels(images, labels, tuple(map(str, range(len(counts)))), np.frombuffer(names, np.uint8), ends)


def seen(batches: ImageBatches, steps: range) -> list[int]:
    return [int(one) for step in steps for one in batches[step].images[:, 0, 0, 0]]


def test_an_epoch_sees_every_image_once_and_the_next_in_another_order() -> None:
    batches = ImageBatches(pixels([4, 8]), 3, 1, Random())
    first, second = seen(batches, range(4)), seen(batches, range(4, 8))
    assert len(batches) == 4
    assert sorted(first) == sorted(second) == list(range(12))
    assert first != second
    assert isinstance(batches, Batches)
    assert isinstance(batches[0], Batch)
    for step in range(8):
        batch = batches[step]
        assert batch.labels.tolist() == [int(n >= 4) for n in batch.images[:, 0, 0, 0].tolist()]
        assert (batch.size, batch.predictions) == (3, 3)


def test_what_makes_no_whole_batch_waits_and_few_images_are_one_batch() -> None:
    assert len(ImageBatches(pixels([4, 7]), 3, 1, Random())) == 3
    few = ImageBatches(pixels([1, 1]), 64, 1, Random())
    assert (len(few), few[5].size) == (1, 2)


def test_a_step_is_a_function_of_seed_and_number() -> None:
    made = [ImageBatches(pixels([20, 20]), 8, seed, Random(**EVERYTHING)) for seed in (1, 1, 2)]
    one, same, other = (batches[17] for batches in made)
    assert torch.equal(one.images, same.images)
    assert one.draws is not None
    assert same.draws is not None
    assert all(torch.equal(drawn, same.draws.each[name]) for name, drawn in one.draws.each.items())
    assert not torch.equal(one.images, other.images)
    assert other.draws is not None
    assert any(not torch.equal(drawn, other.draws.each[name]) for name, drawn in one.draws.each.items())
    fourth, third = made[0][4].draws, made[0][3].draws
    assert fourth is not None
    assert third is not None
    assert any(not torch.equal(drawn, third.each[name]) for name, drawn in fourth.each.items())


def test_balanced_classes_are_seen_alike_and_all_their_images_are() -> None:
    batches = ImageBatches(pixels([3, 30, 15]), 8, 1, Random(), balanced=True)
    labels = Counter(label for step in range(60) for label in batches[step].labels.tolist())
    assert max(labels.values()) - min(labels.values()) <= 0.05 * 480
    once = Counter(seen(batches, range(6)))
    assert {once[n] for n in range(3)} <= {5, 6}  # all of the small class, as often as each other
    assert set(seen(batches, range(12))) >= {0, 1, 2}
    assert set(seen(batches, range(120))) == set(range(48))  # of the large classes others in every epoch
    assert len(batches) == 6


def test_of_more_classes_than_an_epoch_has_room_for_none_is_forgotten() -> None:
    batches = ImageBatches(pixels([2, *[1] * 9]), 11, 1, Random(), balanced=True)
    labels = Counter(label for step in range(100) for label in batches[step].labels.tolist())
    assert sorted(labels) == list(range(10))
    assert min(labels.values()) > 80
    assert max(labels.values()) < 140


def test_a_class_without_images_is_no_trouble() -> None:
    batches = ImageBatches(pixels([3, 0, 5]), 4, 1, Random(), balanced=True)
    assert set(batches[0].labels.tolist()) <= {0, 2}


@pytest.mark.parametrize("option", [{}, {"crop_padding": 2, "flip": 0.5}, EVERYTHING], ids=["plain", "shifted", "all"])
@pytest.mark.parametrize("of", [2, 3])
def test_the_parts_of_a_batch_learn_what_the_whole_does(tmp_path: Path, option: dict[str, Any], of: int) -> None:
    task, model = prepared(put(tmp_path / "data"), "vit", augmentation=option)
    batch = task.batches(1)[3]
    assert batch.rows == 10

    def loss(some: ImageBatch) -> torch.Tensor:
        return classification_loss(model.train(), some, task.facts, task.augmentation, 0.1).total

    parts = [batch.part(number, of) for number in range(of)]
    assert sum(part.predictions for part in parts) == batch.predictions
    torch.testing.assert_close(sum(map(loss, parts)), loss(batch))


def test_a_part_of_a_part_is_one(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"), "vit", augmentation={"mixup": 1.0})
    batch = task.batches(1)[0]
    quarter = batch.part(1, 2).part(0, 2)
    both = (quarter, batch.part(1, 4))
    losses = [classification_loss(model.train(), some, task.facts, task.augmentation).total for some in both]
    assert quarter.rows == 3
    torch.testing.assert_close(*losses)
