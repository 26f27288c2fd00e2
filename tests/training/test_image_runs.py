"""Runs on images: cut short and gone on with to the bit, in one process and in two, and begun from one another."""

import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from heard import Heard
from small_images import EVERYTHING, put, recipe
from test_parallel import slow, two
from toyruns import FILES, fingerprint, killed, tensors, until, whole

from regard.errors import FailedError, RecipeError
from regard.model.menu import MENU as MODEL_MENU
from regard.recipe import Recipe
from regard.training.events import Event, Step, Validated
from regard.training.menu import MENU


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return put(tmp_path / "images")


def step(number: int) -> Any:
    return lambda event: isinstance(event, Step) and event.number == number


def table(images: Path, body: str, **more: Any) -> dict[str, Any]:
    """All that has a state of its own: chance of every kind, averages, running statistics."""
    task = {"label_smoothing": 0.1, "balanced": True} | more.pop("task", {})
    training = {"ema": 0.9, "accumulate": 2, "steps": 6, "checkpoints": {"validate_every": 3, "keep": 9}}
    return recipe(
        images, body, task=task, augmentation=EVERYTHING, training=training | more.pop("training", {}), **more
    )


@pytest.mark.parametrize("body", ["vit", "resnet"])
def test_resumed_it_ends_as_if_never_interrupted_to_the_bit(body: str, images: Path, tmp_path: Path) -> None:
    asked = table(images, body)
    if body == "vit":
        asked["model"]["body"] = asked["model"]["body"] | {
            "encoder": asked["model"]["body"]["encoder"] | {"dropout": 0.1}
        }
    whole(asked, tmp_path / "whole")
    until(asked, tmp_path / "other", step(1))
    killed(asked, tmp_path / "other", step(5), resume=True)
    whole(asked, tmp_path / "other", resume=True)
    assert fingerprint(tmp_path / "other") == fingerprint(tmp_path / "whole")


def test_running_statistics_are_saved_and_averaged_and_gone_on_with(images: Path, tmp_path: Path) -> None:
    asked = table(images, "resnet", training={"accumulate": 1})
    whole(asked, tmp_path / "run")
    weights, state = (tensors(tmp_path / "run", file) for file in FILES)
    counters = [name for name in weights if name.endswith("num_batches_tracked")]
    assert counters
    assert {int(weights[name]) for name in counters} == {6}
    mean = counters[0].replace("num_batches_tracked", "running_mean")
    assert weights[mean].abs().max() > 0
    assert not torch.equal(weights[mean], state[f"weights/{mean}"])  # the one is averaged, the other goes on


def test_who_has_too_little_memory_is_told_what_makes_batches_smaller(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr("regard.training.learner.Learner._gradients", full)
    said = (
        r"^step 0: not enough memory for a batch of 10 images; all before is saved\na smaller task\.batch_images needs"
    )
    with pytest.raises(FailedError, match=said):
        whole(table(images, "vit"), tmp_path / "run")


@slow
@pytest.mark.parametrize("how", ["ddp", "fsdp"])
def test_two_processes_learn_what_one_does_and_one_goes_on_from_two(how: str, images: Path, tmp_path: Path) -> None:
    """Mixed images, too: what one process has may be mixed into what the other learns. Attention has no biases: that of
    keys changes nothing, so its gradient is what rounding leaves, and Adam makes whole steps of it."""
    import tomli_w

    asked = table(images, "vit")
    asked["model"]["body"] = deepcopy(asked["model"]["body"])
    asked["model"]["body"]["encoder"]["attention"]["bias"] = False
    file = tmp_path / "recipe.toml"
    file.write_text(tomli_w.dumps(asked))
    whole(asked, tmp_path / "one")
    said = two("-m", "regard", "train", str(file), f"training.machine.parallel={how}", "--out", str(tmp_path / "two"))
    assert said.count("training for 6 steps") == 1
    alike(tmp_path / "two", tmp_path / "one")
    shutil.rmtree(tmp_path / "two" / "checkpoints" / "step-6")
    events = whole(asked, tmp_path / "two", resume=True)
    assert sum(isinstance(event, Step) for event in events) == 3
    alike(tmp_path / "two", tmp_path / "one")


def alike(folder: Path, other: Path) -> None:
    for file in FILES:
        mine, others = tensors(folder, file, step=6), tensors(other, file, step=6)
        assert mine.keys() == others.keys()
        for name, tensor in mine.items():
            torch.testing.assert_close(tensor, others[name], rtol=1e-3, atol=1e-4)


# --- begun from another run -----------------------------------------------------------------------------------------


@pytest.fixture
def base(images: Path, tmp_path: Path) -> Path:
    whole(recipe(images, "vit", task={"mean": [0.1, 0.2, 0.3], "std": [0.5, 0.6, 0.7]}), tmp_path / "base")
    return tmp_path / "base"


def begun(base: Path, *words: str, out: Path) -> tuple[list[Event], Heard]:
    from regard.training.train import training

    heard = Heard()
    return list(training(f"from={base}", *words, "training.steps=1", out=out, listener=heard)), heard


def test_the_same_classes_keep_their_head(base: Path, tmp_path: Path) -> None:
    other = put(tmp_path / "others", 6, first=50)
    events, heard = begun(base, f"data.train={other}", "training.optimizer.learning_rate=1e-9", out=tmp_path / "new")
    (looked,) = [event for event in events if isinstance(event, Validated)]
    assert looked.scores["accuracy"] > 60
    assert "fresh" not in heard.said[-1]
    torch.testing.assert_close(tensors(tmp_path / "new"), tensors(base))


def test_other_classes_get_a_fresh_head_and_the_same_scale_of_pixels(base: Path, tmp_path: Path) -> None:
    other = put(tmp_path / "others", {"up": 6, "flat": 6})
    _, heard = begun(base, f"data.train={other}", out=tmp_path / "new")
    assert "fresh: head.weight, head.bias" in heard.said[-1]
    assert tensors(tmp_path / "new")["head.weight"].shape == (2, 16)
    from regard.run import Run
    from regard.tasks.classification.facts import Facts

    facts = Facts.open(Run.open(tmp_path / "new").files)
    assert facts.classes == ("flat", "up")
    assert (facts.mean, facts.std) == ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))


def test_another_size_draws_its_positions_out_of_those_there_are(base: Path, tmp_path: Path) -> None:
    _, heard = begun(base, "task.size=[12,16]", "training.optimizer.learning_rate=1e-9", out=tmp_path / "new")
    mine, theirs = tensors(tmp_path / "new"), tensors(base)
    name = "body.encoder.positions.table.weight"
    assert (mine[name].shape, theirs[name].shape) == ((13, 16), (5, 16))
    torch.testing.assert_close(mine[name][0], theirs[name][0])  # that of [CLS]
    torch.testing.assert_close(mine["head.weight"], theirs["head.weight"])
    assert "fresh" not in heard.said[-1]


def test_another_size_of_patches_is_refused_with_a_remedy(base: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="begin what does not fit anew: from.fresh=body"):
        begun(base, "model.body.patch=2", out=tmp_path / "new")


@pytest.mark.parametrize("size", [0, -4, "abc", [16]])
def test_a_size_that_cannot_be_is_refused_where_it_was_said(size: object, images: Path) -> None:
    """The model has it from the task, also where nobody knows of tasks."""
    asked = recipe(images, "vit", task={"size": size})
    for menu in (MENU, MODEL_MENU):
        with pytest.raises(RecipeError, match=r"^task.size"):
            Recipe.check(asked, menu)


def test_what_is_said_in_two_places_must_be_the_same(images: Path, tmp_path: Path) -> None:
    asked = recipe(images, "vit", model={"size": 12})
    with pytest.raises(RecipeError, match=r"model.size: the recipe says 12, task.size is 8; leave it out"):
        whole(asked, tmp_path / "run")
    whole(recipe(images, "vit", model={"size": 8, "channels": 3}, training={"steps": 1}), tmp_path / "run")
