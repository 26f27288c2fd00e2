"""The preprocessor_config.json of `transformers`: how ViT, DeiT and ConvNeXT (whose ResNet has) make images ready."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from regard.datasets.images.fit import Fit, Interpolation, Shape
from regard.importing.harmless import HARMLESS_PROCESSOR, WHERE
from regard.importing.settings import Settings
from regard.importing.vision.prepared import Prepared, cut, scale

RESAMPLE: dict[int, Interpolation] = {
    0: "nearest",
    1: "lanczos",
    2: "bilinear",
    3: "bicubic",
    4: "box",
    5: "hamming",
}
NAME = re.compile(r"(ViT|DeiT|ConvNext)(ImageProcessor(Fast|Pil)?|FeatureExtractor)")
OF_FAMILY = {"vit": "ViT", "deit": "DeiT", "resnet": "ConvNext"}
CROPPED_BELOW = 384  # where ConvNeXT cuts, and squashes from there on


@dataclass(frozen=True)
class _Kind:
    """What a processor does where its file does not say."""

    size: int
    resample: int
    crop: int = 0
    shortest: bool = False


KINDS = {"ViT": _Kind(224, 2), "DeiT": _Kind(256, 3, crop=224), "ConvNext": _Kind(384, 3, shortest=True)}


def read_processor(table: Mapping[str, Any], family: str, channels: int, named: str) -> Prepared:
    """How images are made ready; what cannot be done so here is refused by name."""
    settings = Settings(table, named)
    settings.must("auto_map", why="it brings code of its own, and none is ever run")
    said = settings.get("image_processor_type") or settings.get("feature_extractor_type")
    found = NAME.fullmatch(said) if isinstance(said, str) else None
    if said is not None and found is None:
        raise settings.refusal("image_processor_type", said, f"wanted that of {', '.join(KINDS)}")
    name = found[1] if found else OF_FAMILY[family]
    settings.must("do_resize", True, why="images of any size must become those of one")
    settings.must("do_pad", False, why="Regard adds no margin here")
    resample = settings.get("resample")
    resample = KINDS[name].resample if resample is None else resample
    if type(resample) is not int or resample not in RESAMPLE:
        raise settings.refusal("resample", resample, f"wanted one of Pillow's, 0 to {max(RESAMPLE)}")
    square = settings.truth("default_to_square", not KINDS[name].shortest)
    kind, prepared = replace(KINDS[name], shortest=not square), _convnext if name == "ConvNext" else _plain
    shape, fit = prepared(settings, kind, RESAMPLE[resample])
    mean, std = _scale(settings, channels)
    settings.close(HARMLESS_PROCESSOR, WHERE)
    return Prepared(shape, fit, mean, std)


def _plain(settings: Settings, kind: _Kind, drawn: Interpolation) -> tuple[Shape, Fit]:
    """All of an image squashed, or its shorter side brought to a length; then the middle, if it is cut."""
    larger, shortest = _sides(settings, "size", kind.size, kind.shortest)
    settings.must("crop_pct", why="of ConvNeXT alone")
    if not settings.truth("do_center_crop", bool(kind.crop)):
        settings.get("crop_size")
        if shortest:
            raise settings.refusal("size", settings.get("size"), "leaves images of any shape; wanted height and width")
        return larger, cut(settings, "size", "squash", drawn, larger, larger)
    shape, odd = _sides(settings, "crop_size", kind.crop or 224, False)
    if odd or shape[0] > larger[0] or shape[1] > larger[1]:
        raise settings.refusal("crop_size", settings.get("crop_size"), f"cannot be cut out of {list(larger)}")
    if shortest and shape[0] != shape[1]:
        raise settings.refusal("crop_size", settings.get("crop_size"), "wanted a square, as size names one edge")
    return shape, cut(settings, "size", "shortest_edge" if shortest else "squash", drawn, larger, shape)


def _convnext(settings: Settings, kind: _Kind, drawn: Interpolation) -> tuple[Shape, Fit]:
    """Small images are cut out of ones that are a little larger, large ones squashed."""
    settings.must("do_center_crop", False, why="ConvNeXT cuts by crop_pct")
    settings.must("crop_size", why="ConvNeXT cuts by crop_pct")
    shape, shortest = _sides(settings, "size", kind.size, kind.shortest)
    share = settings.number("crop_pct", 224 / 256)
    if not shortest:
        raise settings.refusal("size", settings.get("size"), "wanted shortest_edge")
    if shape[0] >= CROPPED_BELOW:
        return shape, cut(settings, "size", "squash", drawn, shape, shape)
    if not 0.01 <= share <= 1:
        raise settings.refusal("crop_pct", share, "wanted a share of the sides")
    side = int(shape[0] / share)
    return shape, cut(settings, "crop_pct", "shortest_edge", drawn, (side, side), shape)


def _sides(settings: Settings, key: str, default: int, shortest: bool) -> tuple[Shape, bool]:
    """Rows and columns, and whether they are said of the shorter side alone; older files say one number."""
    value = settings.get(key)
    if not isinstance(value, Mapping):
        return settings.pair(key, default), shortest and not isinstance(value, list)
    inner = Settings(value, f"{settings.named}: {key}")
    if inner.get("shortest_edge") is not None:
        side, alone = inner.count("shortest_edge"), True
        shape = (side, side)
    else:
        shape, alone = (inner.count("height"), inner.count("width")), False
    inner.close((), WHERE)
    return shape, alone


def _scale(settings: Settings, channels: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What pixels between 0 and 1 are brought to, whatever they are multiplied by before."""
    factor = settings.number("rescale_factor", 1 / 255)
    white = 255 * factor if settings.truth("do_rescale", True) else 255.0
    white = 1.0 if abs(white - 1) < 1e-9 else white
    half = [0.5] * channels
    mean, std = settings.figures("image_mean", channels, half), settings.figures("image_std", channels, half)
    if not settings.truth("do_normalize", True):
        mean, std = [0.0] * channels, [1.0] * channels
    return scale(settings, ("image_mean", "image_std"), mean, std, white)
