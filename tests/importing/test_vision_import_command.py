"""An imported image classifier is a run like any other: it classifies, is evaluated, looked into, trained further."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from seers import TimmVit, photograph, put_seer, put_timm, seer, timm_seer
from spoken import Done, refused, regard
from strangers import change

from regard import classify, open_run
from regard.run import Run

NAMES = ("bird", "cat", "dog", "frog", "ship")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A small DeiT with names of classes, images of two of them, and what importing it said."""
    place = tmp_path_factory.mktemp("vision")
    folder = put_seer(place / "deit", "deit", seer("deit"))
    change(folder, id2label=dict(enumerate(NAMES)), label2id={})
    for label in ("cat", "dog"):
        (place / "images" / label).mkdir(parents=True)
        for number in range(6):
            image = photograph(23 + number, 31, seed=number + 10 * len(label) + (label == "dog"))
            Image.fromarray(image).save(place / "images" / label / f"{number}.png")
    done = regard("import", str(folder), "--out", str(place / "run"))
    assert done.code == 0, done.err
    return place / "run", done


def test_what_was_made_and_what_comes_next_is_told(made: tuple[Path, Done]) -> None:
    run, done = made
    assert f"regard classify {run} IMAGE" in done.out
    assert f"regard train from={run} data.train=FOLDER" in done.out
    opened = Run.open(run)
    assert opened.facts["origin"]["family"] == "deit"
    assert opened.recipe["task"]["interpolation"] == "bicubic"
    assert opened.recipe["task"]["middle"] == 0.875


def test_it_says_what_transformers_would(made: tuple[Path, Done]) -> None:
    from seers import FAMILIES

    path = made[0].parent / "images" / "cat" / "3.png"
    given = FAMILIES["deit"][2](Image.open(path), return_tensors="pt")
    with torch.inference_mode():
        wanted = seer("deit")(**given).logits[0].softmax(0)
    (found,) = classify(open_run(made[0]), [str(path)], top=5)
    order = wanted.argsort(descending=True).tolist()
    assert found.labels == [NAMES[place] for place in order]
    np.testing.assert_allclose(found.probabilities, wanted[order], atol=1e-4)


def test_it_does_what_a_trained_one_does(made: tuple[Path, Done], tmp_path: Path) -> None:
    run, images = str(made[0]), str(made[0].parent / "images")
    done = regard("evaluate", run, "--on", images, "--json")
    assert done.code == 0, done.err
    assert 0 <= json.loads(done.out)["accuracy"] <= 100
    shown = tmp_path / "seen.png"
    done = regard("classify", run, f"{images}/dog/1.png", "--show", str(shown))
    assert done.code == 0, done.err
    assert shown.stat().st_size > 1000
    for verb in (["describe", run], ["runs", "show", run], ["pack", run, "--out", str(tmp_path / "packed")]):
        assert regard(*verb).code == 0, verb
    refused(3, "name files with --on", "evaluate", run)
    refused(3, "from=", "train", run, "--resume")
    refused(3, "data.train=FOLDER", "train", f"from={run}", "--out", str(tmp_path / "none"))


def test_it_is_trained_further_at_another_size(made: tuple[Path, Done], tmp_path: Path) -> None:
    """Positions are drawn out of its own, and the head is new: two classes instead of five."""
    run, tuned = str(made[0]), tmp_path / "tuned"
    words = [f"from={run}", f"data.train={made[0].parent / 'images'}", "data.valid_share=0.3", "task.size=[14, 28]"]
    words += ["task.batch_images=4", "training.steps=2"]
    done = regard("train", *words, "--out", str(tuned))
    assert done.code == 0, done.err
    assert "fresh: head.weight, head.bias" in done.out + done.err
    opened = open_run(tuned)
    assert opened.model.image_shape == (14, 28)
    assert opened.task.facts.classes == ("cat", "dog")
    assert opened.task.facts.mean == open_run(made[0]).task.facts.mean
    assert opened.task.facts.fit == open_run(made[0]).task.facts.fit
    tables = [
        dict(one.model.named_parameters())["body.encoder.positions.table.weight"] for one in (opened, open_run(run))
    ]
    assert [len(table) for table in tables] == [2 + 2 * 4, 2 + 3 * 3]
    assert regard("classify", str(tuned), str(made[0].parent / "images" / "dog")).code == 0


def test_a_folder_of_timm_becomes_a_run(tmp_path: Path) -> None:
    args = {"embed_dim": 20, "depth": 2, "num_heads": 4, "mlp_ratio": 1.7, "patch_size": [4, 6]}
    put_timm(tmp_path / "timm", timm_seer(TimmVit, qkv_bias=False), "vit_base_patch16_224_miil", args)
    done = regard("import", str(tmp_path / "timm"), "--out", str(tmp_path / "run"), "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    held = load_file(tmp_path / "timm" / "model.safetensors")
    assert told["origin"]["family"] == "vit_base_patch16_224_miil"
    assert told["parameters"] == sum(one.numel() for one in held.values()) + 2 * 60  # biases that are zeros
    Image.fromarray(photograph(40, 50)).save(tmp_path / "one.jpg")
    done = regard("classify", str(tmp_path / "run"), str(tmp_path / "one.jpg"), "--json", "-k", "5")
    assert done.code == 0, done.err


def test_what_cannot_be_imported_leaves_nothing(made: tuple[Path, Done], tmp_path: Path) -> None:
    folder = put_seer(tmp_path / "vit")
    refused(3, "there is a run already", "import", str(folder), "--out", str(made[0]))
    change(folder, hidden_act="mish")
    refused(3, "hidden_act: 'mish'", "import", str(folder), "--out", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
