"""The weights of whole `transformers` models under the names of Regard; gradients go the same way."""

import re

import torch
from torch import Tensor, nn

Tensors = dict[str, Tensor]

ATTENTION = {
    r"self_attn\.": "attention.",
    r"encoder_attn\.": "cross.",
    r"q_proj": "query",
    r"k_proj": "key",
    r"v_proj": "value",
    r"(o|out)_proj": "output",
}
GPT2 = {
    r"^transformer\.wte": "target.table",
    r"^transformer\.wpe": "decoder.positions.table",
    r"^transformer\.ln_f": "decoder.close",
    r"^transformer\.h": "decoder.layers",
    r"ln_1": "around_attention.norm",
    r"ln_2": "around_mlp.norm",
    r"\.attn\.c_attn": ".attention.all",
    r"\.attn\.c_proj": ".attention.output",
    r"c_fc": "up",
    r"mlp\.c_proj": "mlp.down",
}
LLAMA = {
    r"^model\.embed_tokens": "target.table",
    r"^model\.layers": "decoder.layers",
    r"^model\.norm": "decoder.close",
    r"^lm_head": "head",
    r"input_layernorm": "around_attention.norm",
    r"post_attention_layernorm": "around_mlp.norm",
    r"gate_proj": "gate",
    r"mlp\.up_proj": "mlp.up",
    r"mlp\.down_proj": "mlp.down",
} | ATTENTION
MIXTRAL = {
    r"mlp\.gate\.": "mlp.route.",
    r"experts\.gate_up_proj": "up",
    r"experts\.down_proj": "down",
} | LLAMA
VIT = {
    r"^vit\.embeddings\.cls_token": "body.cls",
    r"^vit\.embeddings\.position_embeddings": "body.encoder.positions.table.weight",
    r"^vit\.embeddings\.patch_embeddings\.projection": "body.embed.project",
    r"^vit\.layers": "body.encoder.layers",
    r"^vit\.layernorm": "body.encoder.close",
    r"^classifier": "head",
    r"layernorm_before": "around_attention.norm",
    r"layernorm_after": "around_mlp.norm",
    r"fc1": "up",
    r"fc2": "down",
} | ATTENTION
DEIT = {r"^deit\.": "vit.", r"^vit\.embeddings\.distillation_token": "body.registers"}
RESNET = {
    r"^resnet\.embedder\.embedder\.convolution": "body.stem.0",
    r"^resnet\.embedder\.embedder\.normalization": "body.stem.1",
    r"shortcut\.convolution": "around.0",
    r"shortcut\.normalization": "around.1",
    r"^classifier\.1": "head",
}
MARIAN = {
    r"^model\.shared": "source.table",
    r"^final_logits_bias": "head.bias",
    r"^model\.": "",
    r"self_attn_layer_norm": "around_attention.norm",
    r"encoder_attn_layer_norm": "around_cross.norm",
    r"final_layer_norm": "around_mlp.norm",
    r"fc1": "mlp.up",
    r"fc2": "mlp.down",
} | ATTENTION


def from_gpt2(given: Tensors) -> Tensors:
    """Its matrices stand the other way round, and one holds queries, keys and values."""
    found = {}
    for name, tensor in renamed(given, GPT2).items():
        turned = tensor.T if re.search(r"\.(attention|mlp)\.\w+\.weight", name) else tensor
        if ".all." in name:
            size = len(turned) // 3
            found[name.replace("all", "query")], found[name.replace("all", "key_value")] = turned.split(
                [size, 2 * size]
            )
        else:
            found[name] = turned
    return found


def from_llama(given: Tensors, head_width: int) -> Tensors:
    return joined(paired(renamed(given, LLAMA), head_width))


def from_mixtral(given: Tensors, head_width: int) -> Tensors:
    return joined(paired(renamed(given, MIXTRAL), head_width))


def from_vit(given: Tensors) -> Tensors:
    found = joined(renamed(given, VIT))
    found["body.embed.project.weight"] = found["body.embed.project.weight"].flatten(1)
    found["body.encoder.positions.table.weight"] = found["body.encoder.positions.table.weight"][0]
    return found


def from_deit(given: Tensors) -> Tensors:
    """The second token is there, and nobody reads it."""
    return from_vit(renamed(given, DEIT))


def from_taught_deit(given: Tensors, weight: float = 0.5, bias: float = 0.5) -> Tensors:
    """Two heads whose answers are averaged are one that reads both tokens; of gradients other shares are taken."""
    found = from_deit(renamed(given, {r"^cls_classifier": "classifier"}))
    found["body.cls"] = torch.cat([found["body.cls"], found.pop("body.registers")], 1)
    more = [found.pop(f"distillation_classifier.{name}") for name in ("weight", "bias")]
    found["head.weight"] = weight * torch.cat([found["head.weight"], more[0]], 1)
    found["head.bias"] = bias * (found["head.bias"] + more[1])
    return found


def from_resnet(given: Tensors, depths: list[int]) -> Tensors:
    """Blocks are numbered through all stages; the parts of one stand in a row, a ReLU between each two."""
    places = {"convolution": 0, "normalization": 1}

    def inner(found: re.Match[str]) -> str:
        return f"inner.{3 * int(found[1]) + places[found[2]]}"

    found = {}
    for old, tensor in renamed(given, RESNET).items():
        stage = re.match(r"resnet\.encoder\.stages\.(\d+)\.layers\.(\d+)\.", old)
        name = re.sub(r"layer\.(\d+)\.(convolution|normalization)", inner, old[stage.end() :]) if stage else old
        found[f"body.blocks.{sum(depths[: int(stage[1])]) + int(stage[2])}.{name}" if stage else name] = tensor
    return found


def from_marian(given: Tensors) -> Tensors:
    found = joined(renamed(given, MARIAN))
    return found | {"head.bias": found["head.bias"].flatten()}


def renamed(given: Tensors, words: dict[str, str]) -> Tensors:
    found = {}
    for old, tensor in given.items():
        name = old
        for pattern, word in words.items():
            name = re.sub(pattern, word, name)
        found[name] = tensor
    return found


def joined(given: Tensors) -> Tensors:
    """Keys and values are one matrix in Regard, and so are a gate and what it lets pass."""
    found = dict(given)
    for first, second, whole in (("key", "value", "key_value"), ("gate", "up", "gate_up")):
        for name in [name for name in found if f".{first}." in name]:
            other = found.pop(name.replace(f".{first}.", f".{second}."))
            found[name.replace(f".{first}.", f".{whole}.")] = torch.cat([found.pop(name), other])
    return found


def paired(given: Tensors, head_width: int) -> Tensors:
    """Llama turns number i with number i + K/2 of a head, Regard neighbours with each other."""

    def neighbours(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (-1, 2, head_width // 2)).transpose(1, 2).flatten(0, 2)

    turns = re.compile(r"attention\.(query|key)\.")
    return {name: neighbours(tensor) if turns.search(name) else tensor for name, tensor in given.items()}


def copy(weights: Tensors, model: nn.Module) -> None:
    """Every weight of the one is a weight of the other."""
    parameters = dict(model.named_parameters())
    assert weights.keys() == parameters.keys()
    with torch.no_grad():
        for name, parameter in parameters.items():
            assert parameter.shape == weights[name].shape, name
            parameter.copy_(weights[name])
