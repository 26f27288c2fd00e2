"""Images are made ready as the processors of other makers do it: the same bytes, the same numbers."""

import json
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from seers import TimmVit, photograph, put_seer, put_timm, seer, timm_seer
from strangers import change
from transformers import ConvNextImageProcessorPil, DeiTImageProcessorPil, ViTImageProcessorPil

from regard.datasets.images.fit import Fitting, enlarged, fitted, fitting
from regard.errors import InputError
from regard.importing import ImportedClassifier, read_model
from regard.importing.vision.design import PatchesDesign
from regard.importing.vision.processor import read_processor
from regard.importing.vision.timm import read_timm_config

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet
SIZES = [(37, 53), (53, 37), (21, 21), (90, 24), (7, 11), (200, 311)]
PROCESSORS: dict[str, tuple[str, Any]] = {
    "vit": ("vit", ViTImageProcessorPil(size=21)),
    "vit lanczos": (
        "vit",
        ViTImageProcessorPil(size={"height": 12, "width": 31}, resample=1, image_mean=[0.1, 0.5, 0.9]),
    ),
    "vit nearest, not scaled": ("vit", ViTImageProcessorPil(size=17, resample=0, do_normalize=False)),
    "vit in bytes": (
        "vit",
        ViTImageProcessorPil(size=16, do_rescale=False, image_mean=127.0, image_std=[40.0, 50.0, 60.0]),
    ),
    "vit in halves": ("vit", ViTImageProcessorPil(size=16, rescale_factor=1 / 127.5, image_mean=1.0, image_std=1.0)),
    "vit cut": ("vit", ViTImageProcessorPil(size={"shortest_edge": 24}, do_center_crop=True, crop_size=19)),
    "deit": ("deit", DeiTImageProcessorPil(size=25, crop_size=21)),
    "deit odd": (
        "deit",
        DeiTImageProcessorPil(size={"height": 24, "width": 48}, crop_size={"height": 15, "width": 30}),
    ),
    "resnet": ("resnet", ConvNextImageProcessorPil(size=22, image_std=[0.2, 0.3, 0.4])),
    "resnet uncut": ("resnet", ConvNextImageProcessorPil(size=23, crop_pct=1.0, resample=2)),
    "resnet large": ("resnet", ConvNextImageProcessorPil(size=384)),
}


@pytest.mark.parametrize("case", PROCESSORS)
def test_pixels_are_those_of_transformers(case: str) -> None:
    family, processor = PROCESSORS[case]
    prepared = read_processor(json.loads(processor.to_json_string()), family, 3, "preprocessor_config.json")
    mean, std = (np.array(one, np.float32)[:, None, None] for one in (prepared.mean, prepared.std))
    for rows, columns in SIZES[: 2 if case == "resnet large" else None]:
        image = photograph(rows, columns)
        wanted = processor(Image.fromarray(image), return_tensors="np")["pixel_values"][0]
        ours = fitted(image, prepared.shape, 3, prepared.fit)
        given = (ours.astype(np.float32) / 255 - mean) / std
        np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=2e-5)


def test_older_files_say_less() -> None:
    """A name of a feature extractor, one number for a size, and no factor."""
    for kind, size, crop, shape, fit in (
        ("ViTFeatureExtractor", 32, None, (32, 32), "squash"),
        ("DeiTFeatureExtractor", 32, 28, (28, 28), Fitting("squash", "bicubic", 0.875)),
        ("ConvNextFeatureExtractor", 28, None, (28, 28), Fitting("shortest_edge", "bicubic", 0.875)),
    ):
        table = {"feature_extractor_type": kind, "size": size} | ({"crop_size": crop} if crop else {})
        prepared = read_processor(table, "vit", 3, "x")
        assert (prepared.shape, prepared.fit, prepared.mean) == (shape, fit, (0.5, 0.5, 0.5))


@pytest.mark.parametrize("mode", ["center", "squash"])
def test_pixels_are_those_of_timm(mode: str, tmp_path: Path) -> None:
    """Made larger, floor(size / crop_pct), then cut; only where what is over is even, as timm rounds halves to even."""
    shape = [12, 12] if mode == "center" else [12, 30]
    args = {"embed_dim": 20, "depth": 2, "num_heads": 4, "mlp_ratio": 1.7, "patch_size": [4, 6], "img_size": shape}
    model = timm_seer(TimmVit, img_size=shape)
    found = read_model(
        put_timm(tmp_path, model, "vit_tiny_patch16_224", args, crop_mode=mode, input_size=[3, *shape], crop_pct=0.84)
    )
    assert isinstance(found, ImportedClassifier)
    high, wide = (floor(side / 0.84) for side in shape)
    for rows, columns in [(28, 28), (42, 98), (98, 42)]:
        image = photograph(rows, columns)
        if mode == "center":
            across, down = (14, 14 * rows // columns) if columns <= rows else (14 * columns // rows, 14)
        else:
            across, down = wide, high
        left, top = round((across - shape[1]) / 2), round((down - shape[0]) / 2)
        whole = Image.fromarray(image).resize((across, down), Image.Resampling.BICUBIC)
        wanted = np.array(whole.crop((left, top, left + shape[1], top + shape[0])))
        if (across - shape[1]) % 2 or (down - shape[0]) % 2:
            continue
        assert np.array_equal(fitted(image, found.facts.shape, 3, found.facts.fit), wanted.transpose(2, 0, 1))
    assert found.facts.mean == (0.5, 0.5, 0.5)
    assert found.facts.std == (0.5, 0.4, 0.6)


def test_an_image_gives_the_logits_of_transformers(tmp_path: Path) -> None:
    """From bytes to logits, through all that either does."""
    from seers import FAMILIES, seen

    from regard.tasks.classification.classifier import Classifier

    for family in ("deit", "resnet"):
        theirs = seer(family)
        found = read_model(put_seer(tmp_path / family, family, theirs))
        assert isinstance(found, ImportedClassifier)
        image = photograph(47, 61)
        given = FAMILIES[family][2](Image.fromarray(image), return_tensors="pt")
        with torch.inference_mode():
            wanted = theirs(**given).logits.log_softmax(1)
        classifier = Classifier(seen(found), found.facts)
        ours = classifier.log_probabilities(torch.from_numpy(classifier.fitted(image))[None])
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", ["crop", "squash", "pad", "shortest_edge"])
def test_every_way_makes_the_shape_it_should(way: Any) -> None:
    for rows, columns in [*SIZES, (1, 1), (1, 300), (300, 1), (2, 3)]:
        image = photograph(rows, columns, 1)
        for how in (way, Fitting(way, "bicubic", 0.6), Fitting(way, "lanczos", 0.05), Fitting(way, "nearest", 0.999)):
            for shape in ((8, 8), (5, 13), (1, 1)):
                assert fitted(image, shape, 1, how).shape == (1, *shape)
                assert fitted(image, shape, 3, how).shape == (3, *shape)
    assert fitting(way, "bilinear", 1.0) == way
    flat = np.full((31, 47, 3), 90, np.uint8)
    if way != "pad":
        assert (fitted(flat, (9, 9), 3, Fitting(way, "bicubic", 0.7)) == 90).all()


def test_the_middle_is_in_the_middle() -> None:
    image = np.zeros((40, 40, 1), np.uint8)
    image[10:30, 10:30] = 255
    for way in ("crop", "squash", "shortest_edge", "pad"):
        assert (fitted(image, (10, 10), 1, Fitting(way, "box", 0.5)) == 255).all()
        assert (fitted(image, (40, 40), 1, Fitting(way, "box", 0.5)) == 255).all()  # also of images of this size
        assert fitted(image, (10, 10), 1, Fitting(way, "box", 1.0)).mean() == pytest.approx(255 / 4, abs=1)


def test_a_share_leads_back_to_the_whole_pixels_it_was_made_of() -> None:
    for larger in range(224, 449):
        assert enlarged((224, 112), 224 / larger)[0] == larger


@pytest.mark.parametrize(("channels", "mean", "std"), [(3, MEAN, STD), (1, MEAN[:1], STD[:1])])
def test_what_a_file_of_timm_leaves_out_is_what_timm_takes(channels: int, mean: Any, std: Any) -> None:
    table = {"architecture": "vit_tiny_patch16_224", "num_classes": 3, "pretrained_cfg": {}}
    design, prepared, classes = read_timm_config(table | {"model_args": {"in_chans": channels}}, "config.json")
    assert (prepared.shape, prepared.fit) == ((224, 224), Fitting("shortest_edge", "bicubic", 0.875))
    assert (prepared.mean, prepared.std) == (mean, std)
    assert isinstance(design, PatchesDesign)
    assert (design.eps, design.channels, classes) == (1e-6, channels, ("0", "1", "2"))


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "another processor": (
        "vit",
        {"image_processor_type": "CLIPImageProcessor"},
        "image_processor_type: 'CLIPImage.*wanted",
    ),
    "no text": ("vit", {"image_processor_type": 7}, "image_processor_type: 7"),
    "code": ("vit", {"auto_map": {"AutoImageProcessor": "x.Y"}}, "auto_map: .*code of its own"),
    "not resized": ("vit", {"do_resize": False}, "do_resize: False"),
    "padded": ("vit", {"do_pad": True}, "do_pad: True"),
    "a filter": ("vit", {"resample": 6}, "resample: 6: wanted one of Pillow's"),
    "a filter that is none": ("vit", {"resample": [3]}, r"resample: \[3\]"),
    "longest": ("vit", {"size": {"longest_edge": 21}}, "size: height: missing"),
    "any shape": ("vit", {"size": {"shortest_edge": 21}}, "leaves images of any shape"),
    "more": ("vit", {"size": {"height": 21, "width": 21, "depth": 3}}, "depth: 3: not known here"),
    "nothing": ("vit", {"size": 0}, "size: 0: wanted a whole number"),
    "huge": ("vit", {"size": 10**6}, "sides of more than 4,096"),
    "another size": ("vit", {"size": 28}, "asks for images of 21×21 pixels, preprocessor_config.json makes them 28×28"),
    "cut too large": ("deit", {"crop_size": 30}, "crop_size: 30: cannot be cut out of"),
    "cut otherwise": ("deit", {"crop_size": {"height": 21, "width": 12}}, "the same share of rows and columns"),
    "cut to little": ("deit", {"size": 4000}, "from 0.05 to 1"),
    "cut twice": ("resnet", {"do_center_crop": True}, "do_center_crop: True: ConvNeXT cuts by crop_pct"),
    "a share": ("resnet", {"crop_pct": 1.5}, "crop_pct: 1.5: wanted a share"),
    "no share": ("resnet", {"crop_pct": 0.0}, "crop_pct: 0.0: wanted a share"),
    "of no such": ("vit", {"crop_pct": 0.9}, "crop_pct: 0.9: of ConvNeXT alone"),
    "squashed": ("resnet", {"size": {"height": 35, "width": 35}}, "wanted shortest_edge"),
    "one mean": ("vit", {"image_mean": [0.5]}, "image_mean: .*wanted 3 numbers"),
    "means that are none": ("vit", {"image_mean": ["a", "b", "c"]}, "image_mean: .*wanted 3 numbers"),
    "by zero": ("vit", {"image_std": [0.5, 0.0, 0.5]}, "image_std: .*wanted deviations"),
    "by nothing": ("vit", {"rescale_factor": 0.0}, "image_std: .*wanted deviations"),
    "by much": ("vit", {"rescale_factor": 1e9}, "image_std: .*wanted deviations"),
    "far": ("vit", {"image_mean": [1e6, 0.5, 0.5]}, "image_mean: .*wanted means"),
    "unknown": ("vit", {"do_magic": True}, "do_magic: True: not known here.*HARMLESS"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("prepared")
    return {family: put_seer(place / family, family) for family in ("vit", "deit", "resnet")}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused_by_name(case: str, folders: dict[str, Path]) -> None:
    family, changed, said = REFUSED[case]
    path = folders[family] / "preprocessor_config.json"
    kept = path.read_text()
    try:
        change(folders[family], path.name, **changed)
        with pytest.raises(InputError, match=said) as raised:
            read_model(folders[family])
        assert len(str(raised.value)) < 500
    finally:
        path.write_text(kept)


def test_a_folder_must_say_how_images_are_made_ready(tmp_path: Path) -> None:
    folder = put_seer(tmp_path)
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(InputError, match=r"no preprocessor_config\.json in it"):
        read_model(folder)
