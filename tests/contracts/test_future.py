"""The future changes nothing: what is written up to a position does not depend on what follows."""

import torch

from .pairs import of
from .small import VOCABULARY, Case, blocks_of, decoders, every, tokens, translators, unchecked

LENGTH = 29


def same(case: Case, one: torch.Tensor, other: torch.Tensor) -> bool:
    """Bit by bit, but for experts.

    They multiply all tokens of an expert together, and how many there are decides how the product is cut.
    """
    if "experts" in str(case):
        return torch.allclose(one, other, rtol=0, atol=1e-6)
    return torch.equal(one, other)


def changed(target: torch.Tensor, turn: int) -> torch.Tensor:
    """Other tokens, every one of them, from a turn on."""
    return torch.cat([target[:, :turn], (target[:, turn:] + 1) % VOCABULARY], 1)


@every([*of("decoder"), *decoders()])
def test_a_language_model_does_not_see_the_future(case: Case) -> None:
    model, target = case.build(), tokens(2, LENGTH)
    with torch.no_grad(), blocks_of(4):
        written = model(target)
        for turn in (1, 14, 27):
            with unchecked():
                other = model(changed(target, turn))
            assert same(case, written[:, :turn], other[:, :turn])
            assert not torch.equal(written[:, turn:], other[:, turn:])


@every(translators())
def test_a_translator_does_not_see_the_future(case: Case) -> None:
    model, source, target = case.build(), tokens(2, 7), tokens(2, 13, seed=1)
    lengths = torch.tensor([7, 4])
    with torch.no_grad(), unchecked(), blocks_of(4):
        written = model(source, target, lengths)
        for turn in (1, 6, 11):
            other = model(source, changed(target, turn), lengths)
            assert torch.equal(written[:, :turn], other[:, :turn])
            assert not torch.equal(written[:, turn:], other[:, turn:])


@every([pair for pair in of("decoder") if pair.positions == "none" and pair.attention in ("multihead", "linear")])
def test_nor_at_the_size_of_real_blocks(case: Case) -> None:
    model, target = case.build(), tokens(1, 401)
    with torch.no_grad():
        one, other = model(target), model(changed(target, 300))
    assert torch.equal(one[:, :300], other[:, :300])
