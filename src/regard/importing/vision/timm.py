"""The config.json of timm: an architecture by name, arguments that change it, and how images are made ready."""

from collections.abc import Mapping
from math import floor
from typing import Any

from regard.datasets.images.fit import Way
from regard.importing.harmless import HARMLESS_ARGS, HARMLESS_PRETRAINED, HARMLESS_TIMM, WHERE
from regard.importing.settings import Settings
from regard.importing.vision.architectures import KNOWN, resnet_arguments, vit_arguments
from regard.importing.vision.configs import activation
from regard.importing.vision.design import PatchesDesign, ResnetDesign, Token, VisionDesign, stage_widths
from regard.importing.vision.labels import class_names, numbered_names
from regard.importing.vision.prepared import INTERPOLATIONS, Prepared, cut, scale
from regard.tasks.images.options import CHANNELS, LARGEST

GELU = {"gelu": "none", "gelu_tanh": "tanh"}
EPS = 1e-6
CHOSEN = {"distilled", "block"}
STEM = 64  # channels, whatever follows
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PLAIN = {  # what else timm's networks can be asked to be, and what they are without
    "qk_norm": False,
    "scale_attn_norm": False,
    "scale_mlp_norm": False,
    "proj_bias": True,
    "pre_norm": False,
    "final_norm": True,
    "pool_include_prefix": False,
    "dynamic_img_pad": False,
    "norm_layer": "layernorm",
}
PLAIN_RESNET = {
    "cardinality": 1,
    "base_width": 64,
    "stem_width": 64,
    "stem_type": "",
    "replace_stem_pool": False,
    "block_reduce_first": 1,
    "down_kernel_size": 1,
    "avg_down": False,
    "output_stride": 32,
    "act_layer": "relu",
    "norm_layer": "batchnorm2d",
}


def read_timm_config(table: Mapping[str, Any], named: str) -> tuple[VisionDesign, Prepared, tuple[str, ...]]:
    """The design that a config.json of timm asks for, how images are made ready, and the names of its classes."""
    settings = Settings(table, named)
    name = settings.get("architecture")
    vit, resnet = (of(name) if isinstance(name, str) else None for of in (vit_arguments, resnet_arguments))
    if vit is None and resnet is None:
        raise settings.refusal("architecture", name, f"not among those that can be imported: {KNOWN}")
    pretrained = Settings(_table(settings, "pretrained_cfg"), f"{named}: pretrained_cfg")
    given = _table(settings, "model_args") if settings.get("model_args") is not None else {}
    args = Settings((vit or resnet or {}) | {**given}, f"{named}: model_args")
    for key in given.keys() & CHOSEN:
        raise args.refusal(key, given[key], "the name of the architecture says it")
    classes = _classes(settings, pretrained)
    channels = args.count("in_chans", 3)
    if channels not in CHANNELS:
        raise args.refusal("in_chans", channels, "images have 1 channel here, or 3")
    prepared = _prepared(pretrained, channels)
    if vit is not None:
        design: VisionDesign = _vit(args, settings, prepared, channels, len(classes))
    else:
        design = _resnet(args, settings, prepared, channels, len(classes))
    args.close(HARMLESS_ARGS, WHERE)
    settings.close(HARMLESS_TIMM, WHERE)
    pretrained.close(HARMLESS_PRETRAINED, WHERE)
    return design, prepared, classes


def _table(settings: Settings, key: str) -> Mapping[str, Any]:
    value = settings.get(key)
    if not isinstance(value, Mapping):
        raise settings.refusal(key, value, "wanted a table")
    return value


def _classes(settings: Settings, pretrained: Settings) -> tuple[str, ...]:
    """As many as the head has, by their names where the config has some."""
    at_hand = settings if settings.get("num_classes") is not None else pretrained
    if at_hand.get("num_classes") == 0:
        raise at_hand.refusal("num_classes", 0, "no classifier: it has no head")
    count = at_hand.count("num_classes")
    pretrained.get("num_classes")
    pretrained.must("label_offset", 0, why="Regard counts classes from the first")
    for one in (settings, pretrained):
        names = one.get("label_names")
        if names is not None:
            return class_names(one, "label_names", names, count)
    return numbered_names(at_hand, "num_classes", count)


def _vit(args: Settings, settings: Settings, prepared: Prepared, channels: int, classes: int) -> PatchesDesign:
    for key, value in PLAIN.items():
        args.must(key, value)
    width, heads = args.count("embed_dim"), args.count("num_heads")
    if width % heads:
        raise args.refusal("num_heads", heads, f"does not divide embed_dim {width}")
    shape = args.pair("img_size") if args.get("img_size") is not None else prepared.shape
    if shape != prepared.shape:
        raise args.refusal("img_size", list(shape), f"images are made ready at {list(prepared.shape)}")
    hidden = int(width * args.number("mlp_ratio", 4.0))
    if not hidden:
        raise args.refusal("mlp_ratio", args.get("mlp_ratio"), "leaves no numbers inside")
    tokens, pooling = _tokens(args, settings)
    places = args.get("pos_embed")
    if places not in (None, "learn", "none", ""):
        raise args.refusal("pos_embed", places, "wanted learn or none")
    return PatchesDesign(
        family="timm",
        classes=classes,
        channels=channels,
        shape=shape,
        patch=args.pair("patch_size", 16),
        width=width,
        layers=args.count("depth"),
        heads=heads,
        head_width=width // heads,
        hidden=hidden,
        eps=EPS,
        mlp=activation(args, "act_layer", GELU),
        tokens=tokens,
        pooling=pooling,
        placed=0 if args.truth("no_embed_class", False) else sum(count for _, count in tokens),
        positions=places in (None, "learn"),
        qkv_bias=args.truth("qkv_bias", True),
        layer_scale=args.number("init_values", 0.0),
    )


def _tokens(args: Settings, settings: Settings) -> tuple[tuple[tuple[Token, int], ...], Any]:
    """What stands before the patches, and what stands for the image."""
    distilled = args.truth("distilled", False)
    registers = 0 if args.get("reg_tokens") in (None, 0) else args.count("reg_tokens")
    tokens: list[tuple[Token, int]] = [("cls", 1)] if args.truth("class_token", True) else []
    tokens += [("second", 1)] if distilled else []
    tokens += [("registers", registers)] if registers else []
    pool = args.get("global_pool") or settings.get("global_pool") or "token"
    settings.must("global_pool", pool, why=f"the architecture has {pool!r}")
    if distilled and (registers or pool != "token" or len(tokens) != 2):
        raise args.refusal("distilled", True, "wanted a class token, a second one, and no other")
    if pool == "token" and tokens[:1] == [("cls", 1)]:
        args.must("fc_norm", False, why="the last norm stands before the pooling in Regard")
        return tuple(tokens), "distilled" if distilled else "cls"
    if pool != "avg":
        raise args.refusal("global_pool", pool, "wanted token or avg")
    if args.get("fc_norm") is not False:
        raise args.refusal(
            "fc_norm", args.get("fc_norm") or True, "the mean is taken before the last norm, and after it in Regard"
        )
    return tuple(tokens), "mean"


def _resnet(args: Settings, settings: Settings, prepared: Prepared, channels: int, classes: int) -> ResnetDesign:
    for key, value in PLAIN_RESNET.items():
        args.must(key, value, why="Regard has plain ResNets alone")
    for one in (args, settings):
        one.must("global_pool", "avg", why="wanted avg")
    block, depths = args.get("block"), args.counts("layers")
    if block not in ("basic", "bottleneck"):
        raise args.refusal("block", block, "wanted that of the architecture")
    widths = [STEM * 2**stage for stage in range(4)] if args.get("channels") is None else args.counts("channels")
    if widths != stage_widths(STEM, "basic", len(depths)):
        raise args.refusal(
            "channels", widths, f"wanted {STEM} for the first of {len(depths)} stages, and doubled each time"
        )
    return ResnetDesign(
        family="timm", classes=classes, channels=channels, shape=prepared.shape, width=STEM, depths=depths, block=block
    )


def _prepared(settings: Settings, channels: int) -> Prepared:
    """As timm evaluates: images are made a little larger than `input_size`, and their middle is cut out."""
    size = settings.get("input_size")
    size = [channels, 224, 224] if size is None else size
    fine = isinstance(size, list) and len(size) == 3
    if not fine or any(type(one) is not int or not 0 < one <= LARGEST for one in size):
        raise settings.refusal("input_size", size, "wanted channels, rows and columns")
    if size[0] != channels:
        raise settings.refusal("input_size", size, f"the model has {channels} channels")
    shape, mode = (size[1], size[2]), settings.get("crop_mode") or "center"
    if mode not in ("center", "squash"):
        raise settings.refusal("crop_mode", mode, "wanted center or squash")
    if mode == "center" and shape[0] != shape[1]:
        raise settings.refusal("input_size", size, "no square, which Regard can make ready only by crop_mode squash")
    drawn = settings.get("interpolation") or "bicubic"
    if drawn not in INTERPOLATIONS:
        raise settings.refusal("interpolation", drawn, f"wanted one of {', '.join(INTERPOLATIONS)}")
    share = settings.number("crop_pct", 0.875) or 0.875
    if not 0.01 <= share <= 1:
        raise settings.refusal("crop_pct", share, "wanted a share of the sides")
    larger = (floor(shape[0] / share), floor(shape[1] / share))
    way: Way = "squash" if mode == "squash" else "shortest_edge"
    fit = cut(settings, "crop_pct", way, drawn, larger, shape, share)
    grey = channels == 1
    mean = settings.figures("mean", channels, MEAN[:1] if grey else MEAN)
    std = settings.figures("std", channels, STD[:1] if grey else STD)
    return Prepared(shape, fit, *scale(settings, ("mean", "std"), mean, std))
