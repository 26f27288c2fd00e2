"""Image classifiers of `transformers`: the same logits and gradients, whatever the family and its switches."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from seers import CLASSES, FAMILIES, agree_on_images, put_seer, seer
from strangers import change

from regard.errors import InputError
from regard.importing import ImportedClassifier, read_model
from regard.importing.settings import Settings
from regard.importing.vision.labels import class_names


def read(path: Path) -> ImportedClassifier:
    found = read_model(path)
    assert isinstance(found, ImportedClassifier)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_gives_the_logits_of_transformers(family: str, tmp_path: Path) -> None:
    theirs = seer(family)
    found = read(put_seer(tmp_path / "given", family, theirs))
    agree_on_images(found, theirs)
    assert found.name == found.recipe["name"] == "given"
    assert found.origin["family"] == theirs.config.model_type
    assert set(found.origin["files"]) == {"config.json", "preprocessor_config.json", "model.safetensors"}
    assert found.facts.classes == tuple(f"LABEL_{number}" for number in range(CLASSES))
    kinds = {weight.dtype for name, weight in found.weights.items() if not name.endswith("num_batches_tracked")}
    assert kinds == {torch.float32}


@pytest.mark.parametrize("family", ["deit taught", "resnet"])
def test_many_files_are_one_model(family: str, tmp_path: Path) -> None:
    theirs = seer(family)
    folder = put_seer(tmp_path, family, theirs, max_shard_size="4KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 2
    found = read(folder)
    agree_on_images(found, theirs)
    for path in shards:
        assert found.origin["files"][path.name] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("family", ["deit taught", "resnet"])
def test_weights_of_other_types_become_float32(family: str, kind: torch.dtype, tmp_path: Path) -> None:
    theirs = seer(family)
    with torch.no_grad():
        for weight in theirs.state_dict().values():
            weight.copy_(weight.to(kind) if weight.is_floating_point() else weight)
    folder = put_seer(tmp_path, family, theirs)
    held = load_file(folder / "model.safetensors")
    save_file(
        {name: one.to(kind) if one.is_floating_point() else one for name, one in held.items()},
        folder / "model.safetensors",
    )
    agree_on_images(read(folder), theirs)


@pytest.mark.parametrize("family", ["vit", "deit"])
def test_newer_names_and_parts_that_no_answer_needs(family: str, tmp_path: Path) -> None:
    """As a state dict is called today, with a pooler and a token for masks that classifiers leave alone."""
    theirs = seer(family)
    folder = put_seer(tmp_path, family, theirs)
    more = {f"{family}.pooler.dense.weight": torch.ones(20, 20), f"{family}.pooler.dense.bias": torch.ones(20)}
    more |= {f"{family}.embeddings.mask_token": torch.zeros(1, 1, 20)}
    save_file(theirs.state_dict() | more, folder / "model.safetensors")
    assert f"{family}.layers.0.attention.q_proj.weight" in load_file(folder / "model.safetensors")
    agree_on_images(read(folder), theirs)


def test_statistics_may_lack_what_counts_batches(tmp_path: Path) -> None:
    theirs = seer("resnet")
    folder = put_seer(tmp_path, "resnet", theirs)
    held = load_file(folder / "model.safetensors")
    save_file({name: one for name, one in held.items() if "num_batches" not in name}, folder / "model.safetensors")
    found = read(folder)
    agree_on_images(found, theirs)
    assert {one.dtype for name, one in found.weights.items() if "num_batches" in name} == {torch.int64}


def test_classes_have_the_names_that_the_config_gives_them(tmp_path: Path) -> None:
    folder = put_seer(tmp_path)
    names = ["tench, Tinca tinca", "crane", "Größe 😀", "crane", "cat"]
    change(folder, id2label={str(number): name for number, name in enumerate(names)})
    assert read(folder).facts.classes == ("tench, Tinca tinca", "crane", "Größe 😀", "crane (3)", "cat")
    for wrong in (names[:4], [*names[:4], ""], [*names[:4], 7], [*names[:4], "a\x1b[31mb"], "abcde", []):
        table = {str(number): name for number, name in enumerate(wrong)} if isinstance(wrong, list) else wrong
        with pytest.raises(InputError, match="id2label|is 5×20, and its config asks for 4×20"):
            read(change(folder, id2label=table))
    for table in (
        {"0": "a", "2": "b"},
        {str(number): "a (1)" if not number else "a" for number in range(2)} | {"1": "a (1)"},
    ):
        with pytest.raises(InputError, match="id2label|asks for 2"):
            read(change(folder, id2label=table))


def test_more_than_ten_classes_go_by_number_and_not_by_letter() -> None:
    names = {str(number): f"class {number}" for number in range(12)}
    assert class_names(Settings({}, "config.json"), "id2label", names, 12) == tuple(names.values())


def test_two_classes_need_no_names(tmp_path: Path) -> None:
    folder = put_seer(tmp_path, "vit", seer("vit", num_labels=2, id2label=None, label2id=None))
    assert "id2label" not in json.loads((folder / "config.json").read_text())
    assert read(folder).facts.classes == ("LABEL_0", "LABEL_1")


def test_a_licence_is_that_of_the_card(tmp_path: Path) -> None:
    folder = put_seer(tmp_path, "resnet")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    assert read(folder).origin["licence"] == "apache-2.0"
