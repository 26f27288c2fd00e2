"""One gated convolution over time."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.mechanism import Block
from regard.model.memory import Held


class Gated(Block):
    """(X*W + b) ⊗ σ(X*V + c) over `kernel_size` neighbours [Dauphin et al. 2017; Gehring et al. 2017].

    With a memory of earlier inputs it looks back only; without one, to both sides evenly. The
    neighbours are laid side by side and multiplied once, which on a CPU is about three times as
    fast as torch's convolution at these widths.
    """

    def __init__(self, width: int, kernel_size: int, dilation: int) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.mix = nn.Linear(kernel_size * width, 2 * width)

    @property
    def tail(self) -> int:
        """How many earlier inputs a step needs."""
        return (self.kernel_size - 1) * self.dilation

    def forward(self, x: Float[Tensor, "B T D"], memory: Held | None = None) -> Float[Tensor, "B T D"]:
        steps = x.shape[1]
        if memory is not None:
            x = torch.cat([memory.held[0], x], 1)
            memory.replace(x[:, x.shape[1] - self.tail :])
        else:
            x = F.pad(x, (0, 0, self.tail // 2, self.tail // 2))
        beside = [x[:, i * self.dilation : i * self.dilation + steps] for i in range(self.kernel_size)]
        return F.glu(self.mix(torch.cat(beside, -1)), -1)
