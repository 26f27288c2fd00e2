"""First weights: the same as ever at the same seed, and smaller at the ends of deeper models."""

import ast
import inspect

import pytest
import torch
from torch import Tensor, nn

from regard.model import initial
from regard.model.build import build
from regard.model.mechanism import Block, Mechanism

SMALL = ("model.width=64", "model.vocab_size=100", "model.decoder.layers=2")
TEXT = ("model.source_vocab_size=200", "model.target_vocab_size=200")
PATCHES = ("model.body.stem=patches", "model.body.pooling=cls", "model.body.encoder.positions.limit=65")
RECIPES: dict[str, tuple[tuple[str, ...], float]] = {
    "numbers-gru": (TEXT, 8.4173),
    "seq2seq-lstm": (TEXT, -39.3149),
    "conv-seq2seq": (TEXT, 103.8837),
    "transformer-tiny": (TEXT, -22.0420),
    "numbers-transformer": (TEXT, 17.7252),
    "llama": (SMALL, -14.0338),
    "mixtral": (("model.vocab_size=100", "model.decoder.layers=1"), -6.1932),
    "gpt-linear": (("model.vocab_size=100", "model.decoder.layers=2"), -68.5705),
    "resnet": ((), 45.6878),
    "vit-32": (PATCHES, 1.6640),
}


def fingerprint(model: nn.Module) -> float:
    """A number in which every weight has a say of its own: other draws, or the same in another order, change it."""
    total = 0.0
    for place, tensor in enumerate(model.state_dict().values()):
        flat = tensor.double().flatten()
        total += float((flat * torch.cos(torch.arange(len(flat)) * 0.7 + place)).sum())
    return total


@pytest.mark.parametrize("name", RECIPES)
def test_the_first_weights_at_a_seed_are_what_they_always_were(name: str) -> None:
    options, wanted = RECIPES[name]
    torch.manual_seed(1)
    assert fingerprint(build(name, *options)) == pytest.approx(wanted, abs=2e-3)


def test_the_rules_name_no_mechanism() -> None:
    """Only torch's own modules are known there; from this project it imports the contract alone."""
    tree = ast.parse(inspect.getsource(initial))
    sources = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert sources == {"torch", "regard.model.mechanism"}


class Writes(Mechanism):
    """Holds one parameter, which it also writes through."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def initial(self) -> None:
        nn.init.ones_(self.weight)

    def ends(self) -> list[Tensor]:
        return [self.weight]


class Layer(Block):
    """A layer of one part."""

    def __init__(self, adds: bool) -> None:
        super().__init__()
        self.part, self.adds = Writes(), adds

    def ends(self) -> list[Tensor]:
        return self.part.ends()


@pytest.mark.parametrize(("adds", "wanted"), [(True, 8**-0.5), (False, 1.0)])
def test_whatever_names_its_ends_is_scaled_with_depth(adds: bool, wanted: float) -> None:
    model = nn.Sequential(*(Layer(adds) for _ in range(4)))
    initial.initialise(model)
    for layer in model:
        assert layer.part.weight.tolist() == pytest.approx([wanted] * 3)
