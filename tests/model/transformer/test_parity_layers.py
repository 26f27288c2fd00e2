"""Transformer stacks equal torch's layers with copied weights: pre and post, relu and gelu, padded."""

import re

import pytest
import torch
from torch import Tensor, nn

from regard.model.mask import Mask
from regard.model.menu import MENU
from regard.model.stack import DecoderSite, Encoded, Source

ROWS, WIDTH, HEADS, HIDDEN, SOURCE, TARGET = 3, 12, 3, 20, 7, 5
SOURCE_LENGTHS, TARGET_LENGTHS = torch.tensor([7, 2, 4]), torch.tensor([3, 5, 1])

RENAMED = {
    r"self_attn\.in_proj_": "attention.in.",
    r"self_attn\.out_proj": "attention.output",
    r"multihead_attn\.in_proj_": "cross.in.",
    r"multihead_attn\.out_proj": "cross.output",
    r"linear1": "mlp.up",
    r"linear2": "mlp.down",
    r"norm1": "around_attention.norm",
    r"^norm": "close",
}
LAST_NORMS = {
    "encoder": {"norm2": "around_mlp.norm"},
    "decoder": {"norm2": "around_cross.norm", "norm3": "around_mlp.norm"},
}

every_depth = pytest.mark.parametrize("layers", [1, 2])
every_residual = pytest.mark.parametrize("residual", ["pre", "post", "post, closed"])
every_mlp = pytest.mark.parametrize("mlp", ["relu", "gelu"])
with_and_without_padding = pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])


def translated(given: dict[str, Tensor], stack: str) -> dict[str, Tensor]:
    """Weights, or gradients, of a stack of torch under the names of Regard's."""
    found = {}
    for old, tensor in given.items():
        name = old
        for pattern, word in (RENAMED | LAST_NORMS[stack]).items():
            name = re.sub(pattern, word, name)
        if ".in." in name:
            found[name.replace(".in.", ".query.")], found[name.replace(".in.", ".key_value.")] = tensor.split(
                [WIDTH, 2 * WIDTH]
            )
        else:
            found[name] = tensor
    return found


def shaken(module: nn.Module) -> nn.Module:
    """No weight may stay at a value that hides a mistake, such as a norm of ones."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return module


def counterpart(stack: str, layers: int, residual: str, mlp: str) -> nn.Module:
    kinds = {
        "encoder": (nn.TransformerEncoderLayer, nn.TransformerEncoder),
        "decoder": (nn.TransformerDecoderLayer, nn.TransformerDecoder),
    }
    one, many = kinds[stack]
    layer = one(WIDTH, HEADS, HIDDEN, 0.0, mlp, batch_first=True, norm_first=residual == "pre")
    last = None if residual == "post" else nn.LayerNorm(WIDTH)
    options = {"enable_nested_tensor": False} if stack == "encoder" else {}
    return shaken(many(layer, layers, last, **options))


def table(layers: int, residual: str, mlp: str) -> dict[str, object]:
    attention = {"kind": "multihead", "heads": HEADS}
    return {
        "kind": "transformer",
        "layers": layers,
        "attention": attention,
        "positions": "none",
        "residual": {"kind": "post", "closing_norm": True} if residual == "post, closed" else residual,
        "mlp": {"kind": mlp, "hidden": HIDDEN},
    }


def padding(lengths: Tensor | None, size: int) -> Tensor | None:
    return None if lengths is None else torch.arange(size) >= lengths[:, None]


def agree_in_gradients(stack: str, ours: nn.Module, theirs: nn.Module, losses: tuple[Tensor, Tensor]) -> None:
    for loss in losses:
        loss.backward()
    gradients = translated({name: weight.grad for name, weight in theirs.named_parameters()}, stack)
    assert gradients.keys() == dict(ours.named_parameters()).keys()
    for name, weight in ours.named_parameters():
        wanted = gradients[name]
        tolerance = 1e-5 * max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(weight.grad, wanted, rtol=0, atol=tolerance, msg=lambda text, n=name: f"{n}: {text}")


def slanted(x: Tensor) -> Tensor:
    return (x * torch.linspace(-1, 1.5, x.numel()).view_as(x)).sum()


@every_depth
@every_residual
@every_mlp
@with_and_without_padding
def test_a_transformer_encoder_equals_torch(layers: int, residual: str, mlp: str, padded: bool) -> None:
    theirs = counterpart("encoder", layers, residual, mlp)
    ours = MENU.order("encoder", table(layers, residual, mlp), "encoder").build(WIDTH)
    ours.load_state_dict(translated(theirs.state_dict(), "encoder"))
    lengths = SOURCE_LENGTHS if padded else None
    x, y = (torch.randn(ROWS, SOURCE, WIDTH, generator=torch.manual_seed(2)).requires_grad_() for _ in "xy")
    pads = padding(lengths, SOURCE)
    found, wanted = ours(x, Mask(key_lengths=lengths)).states, theirs(y, src_key_padding_mask=pads)
    wanted = wanted if pads is None else wanted.masked_fill(pads[..., None], 0.0)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
    agree_in_gradients("encoder", ours, theirs, (slanted(found), slanted(wanted)))
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-5, atol=1e-5)


@every_depth
@every_residual
@every_mlp
@with_and_without_padding
def test_a_transformer_decoder_with_a_source_equals_torch(layers: int, residual: str, mlp: str, padded: bool) -> None:
    theirs = counterpart("decoder", layers, residual, mlp)
    options = table(layers, residual, mlp) | {"cross": {"kind": "multihead", "heads": HEADS}}
    ours = MENU.order("decoder", options, "decoder").build(DecoderSite(WIDTH, Source(WIDTH)))
    ours.load_state_dict(translated(theirs.state_dict(), "decoder"))
    source_lengths, target_lengths = (SOURCE_LENGTHS, TARGET_LENGTHS) if padded else (None, None)
    x, y = (torch.randn(ROWS, TARGET, WIDTH, generator=torch.manual_seed(2)).requires_grad_() for _ in "xy")
    told, heard = (torch.randn(ROWS, SOURCE, WIDTH, generator=torch.manual_seed(3)).requires_grad_() for _ in "xy")
    pads = padding(target_lengths, TARGET)
    found = ours(x, Encoded(told, source_lengths), Mask(key_lengths=target_lengths))
    wanted = theirs(
        y,
        heard,
        tgt_mask=torch.ones(TARGET, TARGET, dtype=torch.bool).triu(1),
        tgt_key_padding_mask=pads,
        memory_key_padding_mask=padding(source_lengths, SOURCE),
    )
    if pads is not None:
        found, wanted = (each.masked_fill(pads[..., None], 0.0) for each in (found, wanted))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
    agree_in_gradients("decoder", ours, theirs, (slanted(found), slanted(wanted)))
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(told.grad, heard.grad, rtol=1e-5, atol=1e-5)


@every_residual
def test_a_transformer_decoder_without_a_source_equals_a_masked_encoder_of_torch(residual: str) -> None:
    theirs = counterpart("encoder", 2, residual, "gelu")
    ours = MENU.order("decoder", table(2, residual, "gelu"), "decoder").build(DecoderSite(WIDTH))
    ours.load_state_dict(translated(theirs.state_dict(), "encoder"))
    x = torch.randn(ROWS, TARGET, WIDTH)
    found = ours(x, None, Mask())
    wanted = theirs(x, mask=torch.ones(TARGET, TARGET, dtype=torch.bool).triu(1))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
    agree_in_gradients("encoder", ours, theirs, (slanted(found), slanted(wanted)))
