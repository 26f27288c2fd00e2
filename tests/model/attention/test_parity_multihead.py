"""Multihead attention equals `nn.MultiheadAttention` with copied weights, by every kernel."""

import pytest
import torch
from torch import Tensor, nn

from regard.model.attention import Multihead, Site
from regard.model.mask import Mask
from regard.model.watch import watch

ROWS, WIDTH, HEADS, QUERIES, KEYS = 3, 12, 3, 5, 7
SELF_LENGTHS, CROSS_LENGTHS = torch.tensor([5, 2, 4]), torch.tensor([7, 1, 4])

every_kernel = pytest.mark.parametrize("kernel", ["auto", "naive", "flash"])
with_and_without_bias = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])


def counterpart(data_width: int, bias: bool) -> nn.MultiheadAttention:
    torch.manual_seed(1)
    module = nn.MultiheadAttention(WIDTH, HEADS, bias=bias, kdim=data_width, vdim=data_width, batch_first=True)
    for weight in module.parameters():
        nn.init.normal_(weight, std=0.4)
    return module


def translated(given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights, or gradients, of torch's module under the names of Regard's."""
    given = {name.replace("out_proj", "output"): tensor for name, tensor in given.items()}
    if "in_proj_weight" in given:
        given["query.weight"], given["key_value.weight"] = given.pop("in_proj_weight").split([WIDTH, 2 * WIDTH])
    else:
        given["query.weight"] = given.pop("q_proj_weight")
        given["key_value.weight"] = torch.cat([given.pop("k_proj_weight"), given.pop("v_proj_weight")])
    if "in_proj_bias" in given:
        given["query.bias"], given["key_value.bias"] = given.pop("in_proj_bias").split([WIDTH, 2 * WIDTH])
    return given


def padding(lengths: Tensor | None, size: int) -> Tensor | None:
    return None if lengths is None else torch.arange(size) >= lengths[:, None]


def agree(attention: Multihead, module: nn.MultiheadAttention, pairs: list[tuple[Tensor, Tensor]]) -> None:
    """Outputs, and the gradients of every weight."""
    for found, wanted in pairs:
        torch.testing.assert_close(found, wanted, rtol=0, atol=2e-6)
    found, wanted = pairs[0]
    slant = torch.linspace(-1, 1.5, found.numel()).view_as(found)
    (found * slant).sum().backward()
    (wanted * slant).sum().backward()
    gradients = translated({name: weight.grad for name, weight in module.named_parameters()})
    assert gradients.keys() == dict(attention.named_parameters()).keys()
    for name, weight in attention.named_parameters():
        torch.testing.assert_close(weight.grad, gradients[name], rtol=1e-5, atol=1e-5)


@every_kernel
@with_and_without_bias
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("lengths", [None, SELF_LENGTHS], ids=["whole", "padded"])
def test_self_attention_equals_torch_with_copied_weights(
    kernel: str, bias: bool, causal: bool, lengths: Tensor | None
) -> None:
    module = counterpart(WIDTH, bias)
    attention = Multihead(Site(WIDTH), heads=HEADS, bias=bias, kernel=kernel)
    attention.load_state_dict(translated(module.state_dict()))
    x, y = (torch.randn(ROWS, QUERIES, WIDTH, generator=torch.manual_seed(2)).requires_grad_() for _ in range(2))
    future = torch.ones(QUERIES, QUERIES, dtype=torch.bool).triu(1) if causal else None
    found = attention(x, None, Mask(causal=causal, key_lengths=lengths))
    wanted, _ = module(y, y, y, padding(lengths, QUERIES), attn_mask=future)
    agree(attention, module, [(found, wanted)])
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-5, atol=1e-5)


@every_kernel
@with_and_without_bias
@pytest.mark.parametrize("data_width", [WIDTH, 10])
@pytest.mark.parametrize("lengths", [None, CROSS_LENGTHS], ids=["whole", "padded"])
def test_cross_attention_equals_torch_with_copied_weights(
    kernel: str, bias: bool, data_width: int, lengths: Tensor | None
) -> None:
    module = counterpart(data_width, bias)
    attention = Multihead(Site(WIDTH, data_width), heads=HEADS, bias=bias, kernel=kernel)
    attention.load_state_dict(translated(module.state_dict()))
    x, y = (torch.randn(ROWS, QUERIES, WIDTH, generator=torch.manual_seed(2)).requires_grad_() for _ in range(2))
    data, facts = (torch.randn(ROWS, KEYS, data_width, generator=torch.manual_seed(3)).requires_grad_() for _ in "xy")
    mask = Mask(key_lengths=lengths)
    found, remembered = attention(x, data, mask), attention(x, None, mask, memory=attention.remember(data, mask))
    wanted, _ = module(y, facts, facts, padding(lengths, KEYS))
    agree(attention, module, [(found, wanted), (remembered, wanted)])
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(data.grad, facts.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_every_head_weighs_as_in_torch(causal: bool) -> None:
    module = counterpart(WIDTH, True)
    attention = Multihead(Site(WIDTH), heads=HEADS)
    attention.load_state_dict(translated(module.state_dict()))
    x = torch.randn(ROWS, QUERIES, WIDTH)
    future = torch.ones(QUERIES, QUERIES, dtype=torch.bool).triu(1) if causal else None
    _, wanted = module(x, x, x, padding(SELF_LENGTHS, QUERIES), attn_mask=future, average_attn_weights=False)
    with watch(attention) as seen:
        attention(x, None, Mask(causal=causal, key_lengths=SELF_LENGTHS))
    torch.testing.assert_close(seen[""].weights, wanted, rtol=0, atol=1e-6)
