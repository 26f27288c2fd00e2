"""The task of restoring: what is learnt from, what a run keeps, how it is examined, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from heard import Heard
from PIL import Image
from small_images import drawn, put
from small_restorers import ready, restoring
from torch.testing import assert_close

from regard.errors import InputError, RecipeError
from regard.listener import SILENT
from regard.recipe import Recipe
from regard.tasks.restoration import examining
from regard.tasks.restoration.facts import FILE, Facts
from regard.tasks.task import Batch, Exam
from regard.training.menu import MENU


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return put(tmp_path / "images")


def flat(folder: Path, count: int = 12) -> Path:
    """Images of no class at all."""
    folder.mkdir()
    for number in range(count):
        Image.fromarray(drawn("up", number)).save(folder / f"{number}.png")
    return folder


def test_images_of_no_class_are_learnt_from_and_examined_on(tmp_path: Path) -> None:
    task, model = ready(flat(tmp_path / "flat"))
    counts = [len(task._pixels[split][0]) for split in ("train", "valid", "test")]
    assert sum(counts) == 12
    assert min(counts) >= 2
    others = task.data_from(str(flat(tmp_path / "others", 3)))
    found = task.evaluate(task.answerer(model), Exam(others, "test"))
    assert found is not None
    assert found.images == 3


def test_all_images_of_all_classes_are_taken_and_no_class_is_told(images: Path) -> None:
    task, _ = ready(images)
    assert sum(len(task._pixels[split][0]) for split in ("train", "valid", "test")) == 36
    assert not any("class" in note for note in task._pixels["train"][1].notes)


def test_the_loss_is_that_of_the_formula(images: Path) -> None:
    task, model = ready(images, corruption={"kind": "noise", "strength": 0.2})
    batch = task.batches(1)[0]
    clean = batch.clean.images.float() / 255
    spoilt = (clean + batch.drawn["noise"]).clamp(0, 1)
    wanted = task.facts.scaled(clean)
    model.train()
    found = task.loss(model, batch)
    expected = (model(task.facts.scaled(spoilt)) - wanted).square().mean((1, 2, 3)).sum()
    assert_close(found.total, expected, rtol=1e-4, atol=1e-4)
    assert not found.plain.requires_grad
    found.total.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_varied_images_are_what_is_to_be_given_back(images: Path) -> None:
    """Nothing but a mirror: a model that gives back what it gets has no loss where nothing is spoilt."""
    task, model = ready(
        images, augmentation={"flip": 0.9, "mixup": 0.5}, corruption={"kind": "fewer_pixels", "factor": 1}
    )
    model.forward = lambda pixels: pixels  # type: ignore[method-assign]
    model.train()
    assert float(task.loss(model, task.batches(1)[0]).plain) < 1e-9


def test_batches_are_a_function_of_seed_and_step(images: Path) -> None:
    task, _ = ready(images)
    again, _ = ready(images)
    one, same, other, later = task.batches(1)[3], again.batches(1)[3], task.batches(2)[3], task.batches(1)[4]
    assert isinstance(one, Batch)
    assert torch.equal(one.drawn["noise"], same.drawn["noise"])
    assert torch.equal(one.clean.images, same.clean.images)
    for unlike in (other, later):
        assert not torch.equal(one.drawn["noise"], unlike.drawn["noise"])


@pytest.mark.parametrize("augmentation", [{}, {"mixup": 0.5, "crop_padding": 2}])
def test_processes_that_share_a_batch_learn_what_one_does(images: Path, augmentation: dict[str, Any]) -> None:
    task, model = ready(images, augmentation=augmentation)
    model.eval()  # running statistics would tell the parts apart
    for part in model.modules():
        part.training = part is model
    batch = task.batches(1)[0]
    parts = [task.loss(model, batch.part(number, 3)).plain for number in range(3)]
    assert sum(batch.part(number, 3).size for number in range(3)) == batch.size == batch.predictions
    assert_close(sum(parts), task.loss(model, batch).plain, rtol=1e-4, atol=1e-5)


def test_an_exam_gives_the_figures_of_the_images_themselves(images: Path) -> None:
    task, model = ready(images)
    answerer = task.answerer(model)
    found = task.evaluate(answerer, Exam(task.data, "test"))
    assert found is not None
    pixels = task._pixels["test"][0]
    spoilt = [answerer.corrupted(pixels.images[row].transpose(1, 2, 0), row) for row in range(len(pixels))]
    for row, (image, name) in enumerate(zip(spoilt, found.names, strict=True)):
        error = ((image.transpose(2, 0, 1).astype(float) - pixels.images[row]) / 255) ** 2
        assert found.before.psnr[row] == pytest.approx(-10 * np.log10(error.mean()), abs=1e-3)
        error = ((answerer.restore(image).transpose(2, 0, 1).astype(float) - pixels.images[row]) / 255) ** 2
        assert found.after.psnr[row] == pytest.approx(-10 * np.log10(error.mean()), abs=0.05)
        assert name == pixels.names(row)
    assert found.scores["psnr"] == pytest.approx(float(np.mean(found.after.psnr)))
    assert set(found.scores) == set(task.metrics)


def test_exams_are_the_same_again_and_in_any_company(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = ready(images)
    exam = Exam(task.data, "test")
    one = task.evaluate(task.answerer(model), exam)
    monkeypatch.setattr("regard.tasks.restoration.restorer.PIXELS", 128)  # two at a time
    two = task.evaluate(task.answerer(model), exam)
    assert one is not None
    assert two is not None
    assert one.psnr == pytest.approx(two.psnr, abs=1e-4)
    assert np.array_equal(one.before.psnr, two.before.psnr)
    monkeypatch.setattr(examining, "QUICK", 2)
    quick = task.evaluate(task.answerer(model), Exam(task.data, "test", quick=True))
    assert quick is not None
    assert quick.images == 2
    assert quick.before.psnr.tolist() == [one.before.psnr[0], one.before.psnr[-1]]
    assert task.evaluate(task.answerer(model), Exam(task.data, "test", stopped=lambda: True)) is None


def test_scores_are_told_drawn_and_kept(images: Path, tmp_path: Path) -> None:
    task, model = ready(images)
    found = task.evaluate(task.answerer(model), Exam(task.data, "test"))
    assert found is not None
    json.dumps(found.facts())
    assert "PSNR" in str(found)
    rows = [line.split(",") for line in found.files()["restored.csv"].decode().splitlines()]
    assert rows[0] == ["image", "psnr_corrupted", "psnr", "ssim_corrupted", "ssim", "data"]
    columns = (found.before.psnr, found.after.psnr, found.before.ssim, found.after.ssim)
    assert rows[1:] == [[name, *(f"{one[n]:.4f}" for one in columns), ""] for n, name in enumerate(found.names)]
    figures = list(zip(found.before.psnr.tolist(), found.after.psnr.tolist(), strict=True))
    assert found.worse == pytest.approx(100 * np.mean([after < before for before, after in figures]))
    assert 0 < found.worse != 50  # or nothing would be shown
    places = np.linspace(0, found.images - 1, 6).astype(int)
    assert [sample.name for sample in found.samples] == [found.names[place] for place in places]
    assert [(one.before, one.after) for one in found.samples] == [figures[place] for place in places]
    assert np.array_equal(found.samples[-1].clean, task._pixels["test"][0].images[places[-1]])
    assert found.draw(tmp_path, {"a": found, "b": found}) == tmp_path / "restored.png"
    with Image.open(tmp_path / "restored.png") as picture:
        assert min(picture.size) > 200
    beside = found.beside({"a": found, "b": found})
    assert beside is not None
    assert beside.heads == ("", " spoilt", " a", " b")


def test_a_run_opens_without_its_images(images: Path, tmp_path: Path) -> None:
    task, _ = ready(images, task={"size": [8, 12], "channels": 1})
    again = Recipe.check(restoring(tmp_path / "nowhere"), MENU).wants("task").build(task.files())
    assert again.facts == task.facts
    assert again.sizes() == {"channels": 1, "size": [8, 12]}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("shape", [8, 4097], "no shape"),
        ("shape", [True, 8], "no shape"),
        ("channels", 2, "2 channels"),
        ("fit", "stretch", "no way to fit"),
        ("mean", [0.1], "wanted 3 numbers"),
        ("std", [0.0, 1.0, 1.0], "divided by 0"),
        ("std", [float("inf"), 1.0, 1.0], "none of pixels"),
    ],
)
def test_what_a_stranger_spoilt_is_refused_in_a_line(key: str, value: Any, said: str) -> None:
    table = json.loads(Facts((8, 8), 3, "crop", (0.1,) * 3, (0.5,) * 3).file()) | {key: value}
    with pytest.raises(InputError, match="^restoration.json: damaged") as error:
        Facts.open({FILE: json.dumps(table).encode()})
    assert said in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"{}"])
def test_no_table_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="restoration.json: damaged"):
        Facts.open({FILE: content})


def test_weights_of_another_run_bring_their_scale_of_pixels(images: Path) -> None:
    task = Recipe.check(restoring(images), MENU).wants("task").build(None)
    task.follow({FILE: Facts((4, 4), 3, "pad", (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)).file()})
    task.prepare(SILENT)
    assert (task.facts.mean, task.facts.std) == ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"task": {"mean": [0.5]}}, r"task: mean: 1 numbers for 3 channels"),
        ({"corruption": {"kind": "noise", "strength": 0}}, r"corruption.strength"),
        ({"corruption": {"kind": "squares", "side": 2}}, r"side: a share of the image's side"),
        ({"corruption": {"kind": "nois"}}, r"corruption.*did you mean 'noise'"),
        ({"model": {"scales": 5}}, r"cannot be halved 4 times"),
    ],
)
def test_what_cannot_be_is_refused(images: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        ready(images, **more)


def test_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no train images in it$|no image"):
        ready(tmp_path / "empty")
    task, model = ready(flat(tmp_path / "flat"))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.png").write_bytes(b"nothing")
    with pytest.raises(InputError, match="no image"):
        task.evaluate(task.answerer(model), Exam(task.data_from(str(tmp_path / "bad")), "test", listener=Heard()))
