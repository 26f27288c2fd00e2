"""The task of images: what is learnt from, what a run keeps of it, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from heard import Heard
from small_images import BODIES, CLASSES, drawn, prepared, put, recipe
from torch import nn

from regard.datasets.images.pixels import Pixels
from regard.errors import InputError, RecipeError
from regard.listener import SILENT
from regard.model.assembly import ImageClassifier
from regard.model.build import build
from regard.recipe import Recipe
from regard.tasks.classification import Classification
from regard.tasks.classification.facts import FILE, Facts
from regard.tasks.classification.loss import classification_loss
from regard.tasks.images import statistics as measuring
from regard.tasks.images.statistics import statistics
from regard.tasks.task import Exam
from regard.training.menu import MENU


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def test_what_the_images_say_is_kept_and_opened_without_them(tmp_path: Path) -> None:
    task, _ = prepared(put(tmp_path / "data"))
    facts = task.facts
    assert facts.classes == tuple(CLASSES)
    assert (facts.shape, facts.channels, facts.fit, facts.size) == ((8, 8), 3, "crop", 8)
    assert sum(facts.counts) == len(task.batches(1).pixels)
    assert task.sizes() == {"classes": 3, "channels": 3, "size": 8}
    again = Recipe.check(recipe(tmp_path / "nowhere"), MENU).wants("task").build(task.files())
    assert again.facts == facts
    assert again.sizes() == task.sizes()


def test_pixels_are_scaled_to_mean_zero_and_deviation_one(tmp_path: Path) -> None:
    task, _ = prepared(put(tmp_path / "data"))
    batches = task.batches(1)
    scaled = task.facts.normalised(torch.from_numpy(np.array(batches.pixels.images)))
    assert scaled.mean((0, 2, 3)).abs().max() < 0.01
    assert (scaled.std((0, 2, 3)) - 1).abs().max() < 0.01


def test_images_of_one_colour_are_divided_by_one(tmp_path: Path) -> None:
    from PIL import Image

    for kind in ("a", "b"):
        (tmp_path / kind).mkdir()
        for number in range(8):
            Image.new("RGB", (8, 8), (40, 40, 40 + number)).save(tmp_path / kind / f"{kind}{number}.png")
    task, _ = prepared(tmp_path)
    assert task.facts.std[:2] == (1.0, 1.0)


def test_mean_and_deviation_are_those_of_images_from_all_over_whatever_is_held_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = np.random.default_rng(1).integers(0, 99, (9, 3, 4, 5), dtype=np.uint8)
    images[5:] += 150  # sorted by class, as folders are
    empty = np.zeros(0, np.uint8)
    pixels = Pixels(images, np.repeat([0, 1], [5, 4]), ("a", "b"), empty, np.zeros(9, np.int64))
    mean, std = images.mean((0, 2, 3)) / 255, images.std((0, 2, 3)) / 255
    monkeypatch.setattr(measuring, "TOGETHER", 1)
    np.testing.assert_allclose(statistics(pixels), (mean, std), atol=1e-4)
    assert statistics(pixels, mean=[0.1, 0.2, 0.3])[0] == (0.1, 0.2, 0.3)
    assert statistics(pixels, std=[0.1, 0.2, 0.3]) == (statistics(pixels)[0], (0.1, 0.2, 0.3))
    monkeypatch.setattr(measuring, "LOOKED", 2)
    ends = images[[0, -1]].mean((0, 2, 3)) / 255
    np.testing.assert_allclose(statistics(pixels)[0], ends, atol=1e-4)


def test_what_is_said_of_pixels_is_taken(tmp_path: Path) -> None:
    task, _ = prepared(put(tmp_path / "data"), task={"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]})
    assert (task.facts.mean, task.facts.std) == ((0.5,) * 3, (0.25,) * 3)
    with pytest.raises(RecipeError, match=r"task: mean: 1 numbers for 3 channels"):
        prepared(put(tmp_path / "data"), task={"mean": [0.5]})


def test_pixels_are_shuffled_after_images_are_varied_and_wherever_they_are_looked_at(tmp_path: Path) -> None:
    """Shifted first and shuffled then: a shift of shuffled pixels would be no shift of what they show."""
    folder, augmentation = put(tmp_path / "data"), {"crop_padding": 2, "flip": 0.5}
    (plain, _), (task, model) = (
        prepared(folder, "resnet", task={"shuffle_pixels": number}, augmentation=augmentation) for number in (0, 7)
    )
    seen = []
    model.train().register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    task.loss(model, task.batches(1)[0])
    plain.loss(model, plain.batches(1)[0])
    assert torch.equal(seen[0], task.facts.arranged(seen[1]))
    assert not torch.equal(*seen)
    image = drawn("up", 3)
    task.answerer(model, quick=True).classify([image])
    plain.answerer(model, quick=True).classify([image])
    assert torch.equal(seen[2], task.facts.arranged(seen[3]))
    look = task.answerer(model).look(image)
    fitted = torch.from_numpy(task.answerer(model).fitted(image))
    assert torch.equal(torch.from_numpy(look.image).permute(2, 0, 1), task.facts.arranged(fitted))
    again = prepared(folder)[0]
    again.follow(task.files())
    assert again.shuffle_pixels == 7


@pytest.mark.parametrize("body", BODIES)
def test_every_body_learns_with_the_plain_loss(body: str, tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"), body)
    batch = task.batches(1)[0]
    found = task.loss(model.train(), batch)
    logits = model.train()(task.facts.normalised(batch.images))
    expected = F.cross_entropy(logits, batch.labels, reduction="sum")
    torch.testing.assert_close(found.total, expected, rtol=1e-4, atol=1e-4)
    assert not found.plain.requires_grad
    found.total.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_smoothed_labels_are_learnt_and_plain_ones_told(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"), task={"label_smoothing": 0.3})
    batch = task.batches(1)[0]
    logits = model(task.facts.normalised(batch.images))
    found = task.loss(model.train(), batch)
    smooth = F.cross_entropy(logits, batch.labels, reduction="sum", label_smoothing=0.3)
    torch.testing.assert_close(found.total, smooth)
    torch.testing.assert_close(found.plain, F.cross_entropy(logits, batch.labels, reduction="sum"))


def test_of_mixed_images_both_classes_count_by_their_shares(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"), augmentation={"mixup": 1.0})
    batch = task.batches(1)[0]
    assert batch.draws is not None
    share = batch.draws.each["share"]
    mixed = (torch.cat([batch.images[1:], batch.images[:1]]).float() / 255, torch.roll(batch.labels, -1))
    images = share[:, None, None, None] * batch.images / 255 + (1 - share[:, None, None, None]) * mixed[0]
    logits = model.train()(task.facts.scaled(images)).log_softmax(1)
    rows = torch.arange(len(logits))
    expected = -(share * logits[rows, batch.labels] + (1 - share) * logits[rows, mixed[1]]).sum()
    torch.testing.assert_close(classification_loss(model, batch, task.facts, task.augmentation).total, expected)
    smooth = 0.7 * expected - 0.3 * logits.mean(1).sum()
    torch.testing.assert_close(classification_loss(model, batch, task.facts, task.augmentation, 0.3).total, smooth)


def test_who_only_looks_varies_nothing(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"), augmentation={"mixup": 1.0, "crop_padding": 3})
    batch = task.batches(1)[0]
    logits = model.eval()(task.facts.normalised(batch.images))
    torch.testing.assert_close(task.loss(model, batch).total, F.cross_entropy(logits, batch.labels, reduction="sum"))


def test_half_precision_does_not_reach_the_pixels(tmp_path: Path) -> None:
    """Turned images are found at places that have no bfloat16."""
    task, model = prepared(put(tmp_path / "data"), augmentation={"operations": 3})
    batch, seen = task.batches(1)[0], []
    model.body.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    task.loss(model.train(), batch)
    with torch.autocast("cpu", torch.bfloat16):
        task.loss(model, batch)
    assert torch.equal(*seen)


def test_rectangles_grey_and_other_fits_go_through(tmp_path: Path) -> None:
    for more in ({"size": [8, 12]}, {"channels": 1}, {"fit": "pad"}, {"fit": "squash"}):
        task, model = prepared(put(tmp_path / "data"), task=more)
        task.loss(model, task.batches(1)[0])
        assert task.batches(1)[0].images.shape[1:] == (task.channels, *task.shape)


def test_unequal_classes_are_named_with_a_remedy(tmp_path: Path) -> None:
    put(tmp_path / "data", {"up": 40, "flat": 8, "down": 12})
    made = Recipe.check(recipe(tmp_path / "data"), MENU).wants("task").build(None)
    report = made.prepare(SILENT)["train"]
    assert "the largest ('up'" in str(report)
    assert str(report).endswith("task.balanced=true shows all classes alike")
    balanced = Recipe.check(recipe(tmp_path / "data", task={"balanced": True}), MENU).wants("task").build(None)
    assert "task.balanced" not in str(balanced.prepare(SILENT)["train"])
    assert isinstance(balanced, Classification)
    assert (balanced.facts.classes, balanced.facts.counts) == (("down", "flat", "up"), (8, 4, 24))
    labels = torch.cat([balanced.batches(1)[step].labels for step in range(20)])
    assert labels.bincount(minlength=3).min() > 0.25 * len(labels)


def test_one_class_alone_is_nothing_to_tell_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one class"):
        prepared(put(tmp_path / "data", {"up": 12}))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"size": 0}, "task.size: wanted a whole number ≥ 1"),
        ({"size": 5000}, "task.size: wanted a whole number ≥ 1 and ≤ 4096"),
        ({"size": [8, 8, 8]}, "task.size: wanted a whole number"),
        ({"size": "8"}, "task.size: wanted a whole number"),
        ({"channels": 4}, "task.channels: wanted 1 or 3, given 4"),
        ({"fit": "zoom"}, "task.fit: wanted one of crop, squash, pad, shortest_edge, given 'zoom'"),
        ({"std": [0.0, 1.0, 1.0]}, "task.std: wanted a list of numbers"),
        ({"context": 3}, "task.context: unknown"),
    ],
)
def test_what_a_recipe_may_not_say(more: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as error:
        Recipe.check(recipe(tmp_path, task=more), MENU)
    assert str(error.value).startswith(said)
    assert len(str(error.value).splitlines()) <= 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"operations": 10**9}, "augmentation.operations: wanted a whole number ≥ 0 and ≤ 16, given 1000000000"),
        ({"crop_padding": -1}, "augmentation.crop_padding: wanted a whole number ≥ 0 and ≤ 4096, given -1"),
        ({"mixup": 1e308}, "augmentation.mixup: wanted a number ≥ 0 and ≤ 100, given 1e+308"),
        ({"flip": 1.0}, "augmentation.flip: wanted a number ≥ 0 and < 1, given 1.0"),
        ({"flop": 0.5}, "augmentation.flop: unknown; did you mean augmentation.flip?"),
    ],
)
def test_what_may_not_be_done_to_images(more: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as error:
        Recipe.check(recipe(tmp_path, augmentation=more), MENU)
    assert str(error.value) == said


# --- what becomes of a trained model --------------------------------------------------------------------------------


def test_an_exam_on_other_images_goes_by_the_names_of_classes(tmp_path: Path) -> None:
    """`down` is missing there, and what it does not know is left out and told."""
    task, model = prepared(put(tmp_path / "data"))
    put(tmp_path / "other", {"up": 5, "flat": 3}, first=90)
    (tmp_path / "other" / "sideways").mkdir()
    (tmp_path / "other" / "flat" / "90.png").rename(tmp_path / "other" / "sideways" / "1.png")
    heard = Heard()
    other = task.data_from(str(tmp_path / "other"))
    found = task.evaluate(task.answerer(model), Exam(other, "test", listener=heard))
    assert found is not None
    assert found.images == 7
    assert sorted(found.labels.tolist()) == [1, 1, 2, 2, 2, 2, 2]
    assert any("1 of a class that is not learnt" in line for line in heard.said)


def test_in_use_norms_are_part_of_convolutions_and_the_answers_the_same(tmp_path: Path) -> None:
    """A validation while training looks at the model itself, which goes on learning."""
    task, model = prepared(put(tmp_path / "data"), "resnet")
    for number in range(20):  # so that the norms have something to say
        task.loss(model.train(), task.batches(1)[number])
    model.eval()
    used, watched = task.answerer(model), task.answerer(model, quick=True)
    assert watched.model is model
    kinds = [{type(part) for part in one.modules()} for one in (model, used.model)]
    assert nn.BatchNorm2d in kinds[0] - kinds[1]
    images = torch.from_numpy(np.stack([used.fitted(drawn(kind, 7)) for kind in CLASSES]))
    torch.testing.assert_close(used.log_probabilities(images), watched.log_probabilities(images), rtol=1e-4, atol=1e-5)
    assert used.look(drawn("up", 7)).maps
    task, model = prepared(put(tmp_path / "data"), "vit")
    assert task.answerer(model).model is model  # nothing to fold


def test_nothing_that_it_knows_is_refused(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"))
    for kind in ("cat", "dog"):
        (tmp_path / "other" / kind).mkdir(parents=True)
        (put(tmp_path / "more", 2) / "up" / f"{int(kind == 'dog')}.png").rename(tmp_path / "other" / kind / "1.png")
    with pytest.raises(InputError, match="2 of a class that is not learnt"):
        task.evaluate(task.answerer(model), Exam(task.data_from(str(tmp_path / "other")), "test"))


def test_an_exam_can_be_stopped(tmp_path: Path) -> None:
    task, model = prepared(put(tmp_path / "data"))
    assert task.evaluate(task.answerer(model), Exam(task.data, "valid", stopped=lambda: True)) is None


def test_answers_are_prepared_as_training_was(tmp_path: Path) -> None:
    """An image of the training data gets the same pixels from the cache and from its file."""
    task, model = prepared(put(tmp_path / "data"), task={"fit": "pad"})
    pixels, classifier = task.batches(1).pixels, task.answerer(model)
    for row in (0, len(pixels) - 1):
        kind, number = Path(pixels.names(row)).parts[-2:]
        image = drawn(kind, int(Path(number).stem))
        assert np.array_equal(classifier.fitted(image), pixels.images[row])


def test_many_images_keep_their_names_and_answers_whatever_is_classified_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, model = prepared(put(tmp_path / "data"))
    torch.nn.init.normal_(model.head.weight, generator=torch.Generator().manual_seed(1))
    classifier, images = task.answerer(model), [drawn(kind, 7) for kind in CLASSES]
    whole = classifier.classify(images, CLASSES, 2)
    monkeypatch.setattr("regard.tasks.classification.classifier.TOGETHER", 2)
    parts = classifier.classify(images, CLASSES, 2)
    assert [one.name for one in parts] == [one.name for one in whole] == CLASSES
    assert [one.labels for one in parts] == [one.labels for one in whole]
    for one in parts:
        assert one.probabilities == sorted(one.probabilities, reverse=True)
        assert len(one.labels) == 2
    assert [one.name for one in classifier.classify(images)] == ["image 1", "image 2", "image 3"]


def test_resumed_or_shared_the_task_knows_its_classes_from_what_is_kept(tmp_path: Path) -> None:
    folder = put(tmp_path / "data")
    task, _ = prepared(folder)
    again = Recipe.check(recipe(folder), MENU).wants("task").build(task.files())
    assert isinstance(again, Classification)
    reports = again.prepare(SILENT)
    assert "test" not in reports
    one, other = task.batches(3)[5], again.batches(3)[5]
    assert torch.equal(one.images, other.images)
    assert torch.equal(one.labels, other.labels)
    said = recipe(folder, task={"size": 16, "channels": 1, "fit": "pad"})  # which is not what the model has learnt
    told = Recipe.check(said, MENU).wants("task").build(task.files())
    assert isinstance(told, Classification)
    assert (told.shape, told.channels, told.fit) == ((8, 8), 3, "crop")
    assert told.batches(3)[5].images.shape == one.images.shape


def test_a_recipe_says_the_size_of_images_once(tmp_path: Path) -> None:
    table = recipe(tmp_path, task={"size": [8, 12], "channels": 1})
    model = build(table)
    assert isinstance(model, ImageClassifier)
    assert (model.image_shape, model.channels) == ((8, 12), 1)
    assert Recipe.check(table, MENU).table()["model"]["size"] == [8, 12]


def test_a_head_is_outgrown_by_other_classes_alone(tmp_path: Path) -> None:
    task, _ = prepared(put(tmp_path / "data"))
    facts = task.facts
    other = Facts(("x", *facts.classes[1:]), facts.shape, 3, "crop", facts.mean, facts.std)
    assert task.outgrown(task.files()) == ()
    assert task.outgrown({FILE: other.file()}) == ("head",)
    turned = Facts(facts.classes[::-1], facts.shape, 3, "crop", facts.mean, facts.std)
    assert task.outgrown({FILE: turned.file()}) == ("head",)  # the same classes at other places
    assert task.outgrown({}) == ("head",)
