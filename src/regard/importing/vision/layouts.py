"""What the weights of each maker are called, and where they go in Regard."""

from collections.abc import Collection, Mapping

from torch import Tensor

from regard.importing.layouts import refuse_fewer
from regard.importing.plan import Plan, cut
from regard.importing.vision.design import PatchesDesign, ResnetDesign, VisionDesign

HUGGING = {
    "cls": "embeddings.cls_token",
    "second": "embeddings.distillation_token",
    "positions": "embeddings.position_embeddings",
    "patches": "embeddings.patch_embeddings.projection",
    "close": "layernorm",
    "layer": "encoder.layer.{}.",
    "attention norm": "layernorm_before",
    "query": "attention.attention.query",
    "key": "attention.attention.key",
    "value": "attention.attention.value",
    "output": "attention.output.dense",
    "mlp norm": "layernorm_after",
    "up": "intermediate.dense",
    "down": "output.dense",
}
NEWER = HUGGING | {
    "layer": "layers.{}.",
    "query": "attention.q_proj",
    "key": "attention.k_proj",
    "value": "attention.v_proj",
    "output": "attention.o_proj",
    "up": "mlp.fc1",
    "down": "mlp.fc2",
}
TIMM = {
    "cls": "cls_token",
    "second": "dist_token",
    "registers": "reg_token",
    "positions": "pos_embed",
    "patches": "patch_embed.proj",
    "close": "norm",
    "layer": "blocks.{}.",
    "attention norm": "norm1",
    "all": "attn.qkv",
    "output": "attn.proj",
    "attention scale": "ls1.gamma",
    "mlp norm": "norm2",
    "up": "mlp.fc1",
    "down": "mlp.fc2",
    "mlp scale": "ls2.gamma",
    "head": "head",
    "second head": "head_dist",
}
OUTSIDE = ("cls", "second", "positions", "patches", "close", "layer")
NORM = ("weight", "bias", "running_mean", "running_var")
Words = Mapping[str, str]


def vision_plan(design: VisionDesign, found: Collection[str], named: str) -> Plan:
    """Where the weights of a folder go."""
    refuse_fewer(found, design.least, named)
    if isinstance(design, ResnetDesign):
        return _resnet(design)
    if design.family == "timm":
        return _patches(design, TIMM)
    taught, before = design.pooling == "distilled", f"{design.family}."
    words = NEWER if f"{before}layers.0.layernorm_before.weight" in found else HUGGING
    words = {role: before + word if role in OUTSIDE else word for role, word in words.items()}
    heads = {"head": "cls_classifier" if taught else "classifier", "second head": "distillation_classifier"}
    return _patches(design, words | heads)


def _patches(design: PatchesDesign, words: Words) -> Plan:
    """A Vision Transformer: tokens, positions, patches, layers and heads."""
    plan, width = Plan(), design.width
    _tokens(plan, design, words)
    cut_out = (width, design.channels, *design.patch)
    plan.put(f"{words['patches']}.weight", cut_out, "body.embed.project.weight", turn=_flat)
    plan.put(f"{words['patches']}.bias", (width,), "body.embed.project.bias")
    for number in range(design.layers):
        _layer(plan, design, words, number)
    for end in ("weight", "bias"):
        plan.put(f"{words['close']}.{end}", (width,), f"body.encoder.close.{end}")
    if design.pooling != "distilled":
        plan.put(f"{words['head']}.weight", (design.classes, width), "head.weight")
        plan.put(f"{words['head']}.bias", (design.classes,), "head.bias")
        return plan
    plan.blank("head.bias")  # the mean of two heads, each of which reads a token, is one that reads both
    for word, columns in (("head", slice(0, width)), ("second head", slice(width, 2 * width))):
        plan.put(f"{words[word]}.weight", (design.classes, width), "head.weight", slice(None), columns, turn=_half)
        plan.put(f"{words[word]}.bias", (design.classes,), "head.bias", turn=_half, added=True)
    return plan


def _tokens(plan: Plan, design: PatchesDesign, words: Words) -> None:
    """Those that the head reads stand first; positions of those that have none are zeros."""
    start = 0
    for word, count in design.tokens:
        target, at = ("body.cls", start) if start < design.read else ("body.registers", start - design.read)
        plan.put(words[word], (1, count, design.width), target, slice(None), slice(at, at + count))
        start += count
    if design.positions:
        table = "body.encoder.positions.table.weight"
        rows, skipped = design.placed + design.patches, design.extra - design.placed
        if skipped:
            plan.blank(table)
        plan.put(words["positions"], (1, rows, design.width), table, slice(skipped, skipped + rows), turn=_first)


def _layer(plan: Plan, design: PatchesDesign, words: Words, number: int) -> None:
    width, inner, hidden = design.width, design.heads * design.head_width, design.hidden
    here, there = words["layer"].format(number), f"body.encoder.layers.{number}."
    parts = {"query": slice(0, inner), "key": slice(inner, 2 * inner), "value": slice(2 * inner, 3 * inner)}
    for end, more in (("weight", (width,)), ("bias", ())):
        if end == "bias" and not design.qkv_bias:
            plan.blank(f"{there}attention.query.bias")
            plan.blank(f"{there}attention.key_value.bias")
            continue
        for part, rows in parts.items():
            target = f"{there}attention.{'query' if part == 'query' else 'key_value'}.{end}"
            place = slice(inner, 2 * inner) if part == "value" else slice(0, inner)
            if "all" in words:
                plan.put(f"{here}{words['all']}.{end}", (3 * inner, *more), target, place, turn=cut(rows))
            else:
                plan.put(f"{here}{words[part]}.{end}", (inner, *more), target, place)
    for word, target, wide, narrow in (
        ("output", "attention.output", width, inner),
        ("up", "mlp.up", hidden, width),
        ("down", "mlp.down", width, hidden),
    ):
        plan.put(f"{here}{words[word]}.weight", (wide, narrow), f"{there}{target}.weight")
        plan.put(f"{here}{words[word]}.bias", (wide,), f"{there}{target}.bias")
    for sublayer in ("attention", "mlp"):
        for end in ("weight", "bias"):
            plan.put(f"{here}{words[f'{sublayer} norm']}.{end}", (width,), f"{there}around_{sublayer}.norm.{end}")
        if design.layer_scale:
            plan.put(f"{here}{words[f'{sublayer} scale']}", (width,), f"{there}around_{sublayer}.scale")


def _resnet(design: ResnetDesign) -> Plan:
    """A stem, blocks that are numbered through all stages, a way around each that changes the shape, and a head."""
    plan, timm = Plan(), design.family == "timm"
    stem = ("conv1", "bn1") if timm else _pair("resnet.embedder.embedder")
    _convolution(plan, stem, (design.width, design.channels, 7, 7), ("body.stem.0", "body.stem.1"))
    before, made = design.width, 0
    for stage, (depth, after) in enumerate(zip(design.depths, design.widths, strict=True)):
        for number in range(depth):
            here = f"layer{stage + 1}.{number}." if timm else f"resnet.encoder.stages.{stage}.layers.{number}."
            there = f"body.blocks.{made}."
            for place, shape in enumerate(_shapes(design, before, after)):
                names = (f"{here}conv{place + 1}", f"{here}bn{place + 1}") if timm else _pair(f"{here}layer.{place}")
                _convolution(plan, names, shape, (f"{there}inner.{3 * place}", f"{there}inner.{3 * place + 1}"))
            if before != after or (stage and not number):
                names = (f"{here}downsample.0", f"{here}downsample.1") if timm else _pair(f"{here}shortcut")
                _convolution(plan, names, (after, before, 1, 1), (f"{there}around.0", f"{there}around.1"))
            before, made = after, made + 1
    head = "fc" if timm else "classifier.1"
    plan.put(f"{head}.weight", (design.classes, before), "head.weight")
    plan.put(f"{head}.bias", (design.classes,), "head.bias")
    return plan


def _shapes(design: ResnetDesign, before: int, after: int) -> list[tuple[int, int, int, int]]:
    if design.block == "basic":
        return [(after, before, 3, 3), (after, after, 3, 3)]
    narrow = after // 4
    return [(narrow, before, 1, 1), (narrow, narrow, 3, 3), (after, narrow, 1, 1)]


def _pair(before: str) -> tuple[str, str]:
    return f"{before}.convolution", f"{before}.normalization"


def _convolution(
    plan: Plan, names: tuple[str, str], shape: tuple[int, int, int, int], targets: tuple[str, str]
) -> None:
    """A convolution and its norm, with the statistics that it has kept."""
    plan.put(f"{names[0]}.weight", shape, f"{targets[0]}.weight")
    for end in NORM:
        plan.put(f"{names[1]}.{end}", shape[:1], f"{targets[1]}.{end}")


def _flat(tensor: Tensor) -> Tensor:
    return tensor.flatten(1)


def _first(tensor: Tensor) -> Tensor:
    return tensor[0]


def _half(tensor: Tensor) -> Tensor:
    return 0.5 * tensor.float()
