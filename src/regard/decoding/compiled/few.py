"""Which steps are compiled: those of a few rows on a CPU, of models that are covered, once there is machine code."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoding.compiled.machine_code import MACHINE_CODE
from regard.decoding.compiled.stepper import Stepper
from regard.decoding.compiled.weights import NotCoveredError
from regard.model.assembly import Writer
from regard.model.memory import Memory
from regard.model.quantize import QuantizedLinear

ROWS = 16  # from more rows on torch's products are faster: in float32, …
ROWS_ROUNDED = 8  # … in eight bits, …
ROWS_EXACT = 32  # … and in eight bits where torch first has to write out all weights as numbers


def most_rows(head: nn.Module) -> int:
    """So many rows are few for a model with this head."""
    if not isinstance(head, QuantizedLinear):
        return ROWS
    return ROWS_ROUNDED if head.rounds_inputs else ROWS_EXACT


class FewRows:
    """The steps of a model that need not be torch's. One thread at a time may ask."""

    def __init__(self, model: Writer, device: torch.device) -> None:
        self.model = model
        self._most = most_rows(model.head) if device.type == "cpu" else 0
        self._stepper: Stepper | None = None

    def step(self, tokens: Int[Tensor, "R T"], memory: Memory, head: nn.Module) -> Float[Tensor, "R V"] | None:
        """The logits after one more token in every row; None, and nothing done, where torch should take this step."""
        if len(tokens) > self._most or tokens.shape[1] != 1 or not memory.length:
            return None
        if self._stepper is None:
            self._begin()
        return None if self._stepper is None else self._stepper.step(tokens, memory, head)

    def _begin(self) -> None:
        code = MACHINE_CODE.get()
        if code is None:
            return
        try:
            self._stepper = Stepper(code, self.model)
        except NotCoveredError:
            self._most = 0
