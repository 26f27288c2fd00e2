"""A model whose single steps are compiled, beside those that the machine code has to leave to torch."""

from typing import Any

import torch
from torch import Tensor

from regard.decoding.compiled.machine_code import Code
from regard.decoding.compiled.plan import Plan
from regard.decoding.compiled.stepper import Stepper
from regard.decoding.compiled.weights import NotCoveredError
from regard.model.memory import Memory


class Compiled:
    """Takes every step that it can by machine code, and counts them; all else is the model's own.

    Where it `reads`, steps are taken as those of a prompt are: also the first.
    """

    def __init__(self, code: Code, model: Any, reads: bool = False) -> None:
        self.model, self.stepper, self.taken, self.reads = model, Stepper(code, model), 0, reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def step(self, tokens: Tensor, memory: Memory) -> Tensor:
        states = self.stepper.read(tokens, memory) if self.reads else self.stepper.step(tokens, memory, None)
        if states is None:
            return self.model.step(tokens, memory)
        self.taken += 1
        return states.view(*tokens.shape, -1)


def covered(model: Any) -> bool:
    """Whether the machine code can take its steps at all."""
    try:
        Plan(model.decoder, model.target.table.embedding_dim)
    except NotCoveredError:
        return False
    return True


def close(one: Tensor, other: Tensor) -> None:
    """Equal within 1e-4 of the largest number."""
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4 * float(other.abs().max()))
