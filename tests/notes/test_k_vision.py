"""Notes, part K: the Vision Transformer."""

import pytest
import torch
import torch.nn.functional as F
from measures import filled, layer_by_layer, model, reach
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.mask import Mask
from regard.model.vision import PatchEmbedding
from regard.model.watch import watch


def classifier(positions: str = "learned", pooling: str = "cls", layers: int = 2) -> nn.Module:
    """Images of 12 by 12 in nine patches of 4 by 4."""
    encoder = {
        "kind": "transformer",
        "layers": layers,
        "positions": positions,
        "mlp": "gelu",
        "attention": {"kind": "multihead", "heads": 2},
    }
    body = {"kind": "patches", "width": 16, "patch": 4, "pooling": pooling, "encoder": encoder}
    return filled(model("image_classifier", classes=5, channels=3, size=12, body=body), 0.2)


def shuffled(pixels: Tensor, order: Tensor) -> Tensor:
    """The same patches of 4 by 4 in another order."""
    patches = F.unfold(pixels, 4, stride=4)[:, :, order]
    return F.fold(patches, pixels.shape[2:], 4, stride=4)


def weights_in(whole: nn.Module, pixels: Tensor) -> list[Tensor]:
    with watch(whole) as seen:
        whole(pixels)
    return [sight.weights for sight in seen.values()]


def test_150_an_image_is_patches_through_an_encoder_and_a_class_token():
    whole, pixels = classifier(), torch.randn(2, 3, 12, 12)
    body = whole.body
    tokens = torch.cat([body.cls.expand(2, -1, -1), body.embed(pixels)], 1)
    assert tokens.shape == (2, 1 + 9, 16)
    states = body.encoder(tokens, Mask()).states
    assert_close(whole(pixels), whole.head(states[:, 0]))
    for shares in weights_in(whole, pixels):
        assert shares.shape == (2, 2, 10, 10)
        assert (shares[:, :, 1:, 1:] > 0).all()  # patches look at patches


def test_152_a_vit_is_told_nothing_of_neighbours():
    """Whatever order patches stand in, there is as good a start: the same one with its positions in that order."""
    whole, pixels = classifier(), torch.randn(2, 3, 12, 12)
    order, wanted = torch.tensor([4, 0, 8, 2, 6, 1, 7, 3, 5]), whole(pixels)
    assert not torch.allclose(whole(shuffled(pixels, order)), wanted, atol=1e-4)
    table = whole.body.encoder.positions.table.weight
    with torch.no_grad():
        table[1:] = table[1:][order].clone()
    assert_close(whole(shuffled(pixels, order)), wanted, atol=1e-5, rtol=1e-5)


def test_152_a_resnet_knows_before_it_learns_that_a_thing_is_the_same_elsewhere():
    body = {"kind": "resnet", "width": 4, "blocks": 1, "stages": 2}
    convolutions = filled(model("image_classifier", classes=5, channels=3, size=64, body=body), 0.5).eval()
    here, there = torch.zeros(2, 1, 3, 64, 64)
    here[..., 28:32, 28:32] = thing = 100 * torch.randn(3, 4, 4)
    there[..., 32:36, 26:30] = thing
    empty = convolutions(torch.zeros_like(here))
    assert (convolutions(here) - empty).abs().max() > 0.1
    assert_close(convolutions(there), convolutions(here), atol=1e-4, rtol=1e-4)


def test_153_patches_are_cut_flattened_and_projected():
    embed, pixels = filled(PatchEmbedding(3, 4, 16)), torch.randn(2, 3, 12, 8)
    out = embed(pixels)
    assert out.shape == (2, 6, 16)
    for number in range(6):
        y, x = divmod(number, 2)
        flat = pixels[:, :, 4 * y : 4 * y + 4, 4 * x : 4 * x + 4].reshape(2, 48)
        assert_close(out[:, number], flat @ embed.project.weight.T + embed.project.bias, atol=1e-5, rtol=1e-5)


def test_154_patches_of_sixteen_are_a_convolution_with_stride_sixteen():
    embed, pixels = filled(PatchEmbedding(3, 16, 24), 0.05), torch.randn(2, 3, 64, 48)
    convolution = nn.Conv2d(3, 24, 16, stride=16)
    with torch.no_grad():
        convolution.weight.copy_(embed.project.weight.view(24, 3, 16, 16))
        convolution.bias.copy_(embed.project.bias)
    assert embed.project.weight.shape == (24, 16 * 16 * 3)
    assert_close(embed(pixels), convolution(pixels).flatten(2).mT, atol=1e-5, rtol=1e-5)


def test_155_nothing_is_masked_and_every_patch_has_an_output():
    whole = classifier(pooling="mean", layers=1)
    patches = whole.body.embed(torch.randn(1, 3, 12, 12)).detach().requires_grad_()
    states = whole.body.encoder(patches, Mask()).states
    assert states.shape == patches.shape == (1, 9, 16)
    assert reach(states, patches).all()
    assert (weights_in(whole, torch.randn(1, 3, 12, 12))[0] > 0).all()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal"])
def test_156_without_positions_shuffled_patches_are_the_same_image(positions: str, pooling: str):
    """Trap T4 again: here, where one vector is taken out, "permutation-invariant" is the right word."""
    whole, pixels = classifier(positions, pooling), torch.randn(2, 3, 12, 12)
    other = shuffled(pixels, torch.tensor([4, 0, 8, 2, 6, 1, 7, 3, 5]))
    assert not torch.equal(pixels, other)
    assert torch.allclose(whole(pixels), whole(other), atol=1e-4, rtol=1e-4) == (positions == "none")


def test_157_a_learnable_token_stands_first_and_the_head_reads_it_alone():
    whole, pixels = classifier(), torch.randn(1, 3, 12, 12)
    body, heard = whole.body, []
    body.encoder.register_forward_hook(lambda module, given, out: heard.append((given[0], out.states)))
    logits = whole(pixels)
    tokens, states = heard[0]
    assert torch.equal(tokens[:, 0], body.cls[0])
    (grad,) = torch.autograd.grad(logits.square().sum(), states, retain_graph=True)
    assert (grad[:, 0] != 0).all()
    assert (grad[:, 1:] == 0).all()
    (learned,) = torch.autograd.grad(logits.square().sum(), body.cls)
    assert learned.abs().max() > 0


def test_157_it_looks_at_all_patches_from_the_first_layer_on():
    whole, pixels = classifier(layers=3), torch.randn(1, 3, 12, 12)
    for shares in weights_in(whole, pixels):
        assert (shares[:, :, 0] > 0).all()
    known = [known_after(whole, pixels, layers) for layers in range(4)]
    assert known == [0, 9, 9, 9]


def known_after(whole: nn.Module, pixels: Tensor, layers: int) -> int:
    """How many patches the class token knows of after so many layers."""
    body = whole.body
    patches = body.embed(pixels).detach().requires_grad_()
    tokens = torch.cat([body.cls, patches], 1)
    path = layer_by_layer(body.encoder.layers, lambda: body.encoder(tokens, Mask()))
    (grad,) = torch.autograd.grad((path[layers][:, 0] * torch.randn(16)).sum(), patches, allow_unused=True)
    return 0 if grad is None else int((grad.abs().sum((0, 2)) > 0).sum())
