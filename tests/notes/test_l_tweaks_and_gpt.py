"""Notes, part L: tweaks, mixtures of experts, GPT."""

import pytest
import torch
from measures import Operations, filled, language_model, made, parameters
from torch import nn
from torch.testing import assert_close

from regard.model.attention import NOWHERE
from regard.model.mask import Mask
from regard.model.mlp import Experts, Swiglu
from regard.model.norms import RmsNorm


def silent_layer(residual: str, norm: str) -> nn.Module:
    """One layer whose sub-layers say nothing."""
    encoder = made(
        "encoder",
        {
            "kind": "transformer",
            "layers": 1,
            "residual": residual,
            "norm": norm,
            "attention": {"kind": "multihead", "heads": 2},
        },
        8,
    )
    layer = encoder.layers[0]
    for part in (layer.attention, layer.mlp):
        for parameter in part.parameters():
            nn.init.zeros_(parameter)
    return layer


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_158_with_the_norm_inside_a_silent_block_is_the_identity(norm: str):
    x = torch.randn(2, 5, 8)
    assert torch.equal(silent_layer("pre", norm)(x, Mask(), NOWHERE), x)
    post = silent_layer("post", norm)
    out = post(x, Mask(), NOWHERE)
    assert (out - x).abs().max() > 0.1
    assert_close(out, post.around_mlp.norm(post.around_attention.norm(x)))


def test_159_rms_norm_is_its_formula_and_torchs():
    norm, theirs, x = filled(RmsNorm(7)), nn.RMSNorm(7, eps=1e-6), torch.randn(2, 3, 7) * 5
    theirs.load_state_dict(norm.state_dict())
    wanted = x * norm.weight / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    assert_close(norm(x), wanted, atol=1e-6, rtol=1e-5)
    assert_close(norm(x), theirs(x), atol=1e-6, rtol=1e-5)
    assert_close(norm(3 * x), norm(x), atol=1e-4, rtol=1e-4)  # the length is gone, the mean is not
    assert (norm(x + 10) - norm(x)).abs().max() > 0.1


def test_160_swiglu_is_its_formula():
    mlp, x = filled(Swiglu(6, hidden=10)), torch.randn(2, 3, 6)
    gate, value = (x @ weight.T for weight in mlp.gate_up.weight.chunk(2))
    swish = gate / (1 + (-gate).exp())
    assert_close(mlp(x), (swish * value) @ mlp.down.weight.T, atol=1e-5, rtol=1e-5)


def test_160_at_two_thirds_of_the_width_it_costs_as_much_as_a_plain_mlp():
    assert parameters(Swiglu(96)) == parameters(made("mlp", {"kind": "relu", "bias": False}, 96))


@pytest.mark.parametrize(("experts", "active"), [(4, 1), (8, 2), (16, 2)])
@pytest.mark.parametrize("hidden", [24, 5], ids=["grouped", "odd"])
def test_161_parameters_grow_with_experts_and_work_with_those_active(experts: int, active: int, hidden: int):
    one, x = filled(Swiglu(16, hidden=hidden)), torch.randn(2, 50, 16)
    many = filled(Experts(16, experts=experts, active=active, hidden=hidden))
    router = 16 * experts
    assert parameters(many) == experts * parameters(one) + router
    costs = []
    for mlp in (one, many):
        with torch.no_grad(), Operations() as seen:
            mlp(x)
        costs.append(seen.work())
    assert costs[1] == active * costs[0] + 2 * 100 * router


def test_161_experts_that_nobody_picked_are_not_even_read():
    mixture, x = filled(Experts(16, experts=8, active=2, hidden=24)), torch.randn(1, 2, 16)
    before = mixture(x)
    picked = mixture.route(x[0]).topk(2, -1).indices.flatten().tolist()
    with torch.no_grad():
        for number in set(range(8)) - set(picked):
            mixture.up[number], mixture.down[number] = float("nan"), float("nan")
    assert torch.equal(mixture(x), before)


def test_161_each_token_is_the_mix_of_its_best_experts():
    mixture, x = filled(Experts(8, experts=5, active=2, hidden=12)), torch.randn(1, 6, 8)
    for place, token in enumerate(x[0]):
        scores = mixture.route.weight @ token
        chosen = scores.argsort(descending=True)[:2]
        shares = scores[chosen].exp() / scores[chosen].exp().sum()
        wanted = sum(share * expert(mixture, int(i), token) for share, i in zip(shares, chosen, strict=True))
        assert_close(mixture(x)[0, place], wanted, atol=1e-5, rtol=1e-4)


def expert(mixture: Experts, number: int, token: torch.Tensor) -> torch.Tensor:
    gate, value = (mixture.up[number] @ token).chunk(2)
    return mixture.down[number] @ (gate * gate.sigmoid() * value)


def test_163_all_positions_of_the_input_in_one_pass():
    writer, tokens = language_model(), torch.randint(11, (2, 9))
    at_once = writer(tokens)
    for stop in range(1, 10):
        assert_close(at_once[:, stop - 1], writer(tokens[:, :stop])[:, -1], atol=1e-5, rtol=1e-5)
    counts = []
    writer(torch.randint(11, (1, 50)))  # tables of positions have grown
    for length in (5, 50):
        with Operations() as seen:
            writer(torch.randint(11, (1, length)))
        counts.append(len(seen.names))
    assert counts[0] == counts[1]
