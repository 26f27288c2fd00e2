"""Other numbers than the usual: scales, bases, windows, groups, dilations and whatever else a recipe may say.

One part of a stack differs at a time, in all of its numbers; a word of several, each in turn.
"""

from typing import Any

import torch
from torch import Tensor

from regard.model.mask import Mask
from regard.model.menu import MENU

from .small import SLOT, WIDTH, Case, blocks_of, build, every, other_words, others, small, tokens, unchecked, varied
from .trained import loss

READERS, WRITERS, ANSWERERS = (
    varied("encoder", "seq2seq"),
    varied("decoder", "language_model"),
    varied("decoder", "seq2seq"),
)


def close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


@every([*READERS, *ANSWERERS])
def test_every_parameter_gets_a_gradient(case: Case) -> None:
    model = case.build().train()
    loss(model).backward()
    assert not [name for name, each in model.named_parameters() if each.grad is None or not each.grad.any()]
    assert all(each.grad.isfinite().all() for each in model.parameters() if each.grad is not None)


@every(WRITERS)
def test_the_future_changes_nothing_and_steps_add_up(case: Case) -> None:
    model, target = case.build(), tokens(2, 21)
    with torch.no_grad(), unchecked(), blocks_of(4):
        at_once = model(target)
        other = model(torch.cat([target[:, :14], (target[:, 14:] + 1) % 11], 1))
        close(other[:, :14], at_once[:, :14])
        assert not torch.equal(other[:, 14:], at_once[:, 14:])
        memory = model.start(rows=2)
        steps = [model.step(part, memory) for part in target.split([9, 1, 1, 7, 3], 1)]
        close(model.head(torch.cat(steps, 1)), at_once)


@every(ANSWERERS)
def test_an_answer_written_in_steps_is_the_one_written_at_once(case: Case) -> None:
    model, source, target, lengths = case.build(), tokens(2, 9), tokens(2, 7, seed=1), torch.tensor([9, 4])
    with torch.no_grad(), unchecked():
        memory = model.start(source, lengths)
        steps = [model.step(part, memory) for part in target.split([2, 1, 4], 1)]
        close(model.head(torch.cat(steps, 1)), model(source, target, lengths))


@every(READERS)
def test_a_padded_row_equals_the_row_alone(case: Case) -> None:
    encoder = case.build().encoder
    x = torch.randn(3, 17, WIDTH, generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), unchecked(), blocks_of(4):
        states = encoder(x, Mask(key_lengths=torch.tensor([17, 11, 0]))).states
        close(states[0], encoder(x[:1], Mask()).states[0])
        close(states[1, :11], encoder(x[1:2, :11], Mask()).states[0])
    assert (states[1, 11:] == 0).all()
    assert (states[2] == 0).all()


HEARD_WITH = {("rotary", option): {"stretch": 4.0, "trained": 24} for option in ("slow", "fast")}
SILENT = {"kernel", "dropout", "balance"}  # the same answer by other means, or heard in training alone


def options() -> list[tuple[str, str, str, Any]]:
    """Every option of a part of a Transformer, with one other value for it."""
    slots = {name: SLOT[abstract] for name, abstract in MENU.parts["decoder"]["transformer"].slots.items()}
    found = []
    for name, slot in slots.items():
        for kind in MENU.parts[slot] if name != "cross" else ():
            numbers = others(slot, kind)
            words = {option: other_words(slot, kind, option) for option in MENU.parts[slot][kind].model_fields}
            for option, values in words.items():
                for value in values or ([numbers[option]] if option in numbers else []):
                    found.append((name, kind, option, value))
    return [one for one in found if one[2] not in SILENT and one[2:] != ("portions", "active")]  # as auto, of two


def test_every_option_makes_a_difference() -> None:
    """Other weights, or another answer by the same weights: nothing that a recipe may say goes unheard."""
    deaf, compared = [], 0
    for name, kind, option, value in options():
        slot = SLOT[MENU.parts["decoder"]["transformer"].slots[name]]
        usual, other = (
            small("model", "language_model", decoder=small("decoder", "transformer", **{name: part}))
            for more in [HEARD_WITH.get((kind, option), {})]
            for part in (small(slot, kind, **more), small(slot, kind, **more | {option: value}))
        )
        with unchecked(), torch.no_grad():
            one, two = build(usual), build(other)
            if shapes(one) == shapes(two):
                two.load_state_dict(one.state_dict())
                deaf += [(name, kind, option)] * torch.equal(one(tokens(1, 9)), two(tokens(1, 9)))
                compared += 1
    assert not deaf
    assert compared >= 10


def shapes(model: torch.nn.Module) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in model.state_dict().items()}
