"""Cells: what happens in one step. Weights are laid out as in `torch.nn`.

`step` is the formula of the notes; `run` does many steps in torch's fused kernel.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.mechanism import Mechanism, glorot
from regard.model.precision import as_it_is, rounded_to
from regard.model.stack import State


class Cell(Mechanism, ABC):
    """A state that is updated by every input, with the same weights at every step."""

    gates: int
    states = 1

    def __init__(self, in_width: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.weight_ih = nn.Parameter(torch.empty(self.gates * width, in_width))
        self.weight_hh = nn.Parameter(torch.empty(self.gates * width, width))
        self.bias_ih = nn.Parameter(torch.empty(self.gates * width))
        self.bias_hh = nn.Parameter(torch.empty(self.gates * width))

    def initial(self) -> None:
        """Orthogonal over time, so that the past neither fades nor grows."""
        glorot(self.weight_ih)
        for gate in self.weight_hh.chunk(self.gates):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.bias_ih)
        nn.init.zeros_(self.bias_hh)

    def project(self, x: Float[Tensor, "*rows I"]) -> Float[Tensor, "*rows W"]:
        """The part of the gates that does not wait for the past: all steps in one product."""
        return F.linear(x, self.weight_ih[:, : x.shape[-1]], self.bias_ih)

    @abstractmethod
    def step(self, projected: Float[Tensor, "B W"], state: State) -> State:
        """One step: the new state from a projected input and the old state."""

    @abstractmethod
    def run(self, x: Float[Tensor, "B T I"], state: State) -> tuple[Float[Tensor, "B T H"], State]:
        """Many steps at once."""

    def fused(self, x: Tensor, state: State) -> "tuple[AbstractContextManager[None], Tensor, list[Tensor]]":
        """What torch's fused kernel works with: on a CPU the type of the weights, as it has no other for every cell."""
        if rounded_to(x) != self.weight_hh.dtype and x.device.type == "cpu":
            kind = self.weight_hh.dtype
            return as_it_is(x.device), x.to(kind), [part[None].to(kind) for part in state]
        return nullcontext(), x, [part[None].to(x.dtype) for part in state]

    def zero(self, x: Float[Tensor, "B *rest"]) -> State:
        return (x.new_zeros(len(x), self.width),) * self.states

    def weights(self) -> list[Tensor]:
        return [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh]


class Elman(Cell):
    """The plain recurrent network.

    h_t = tanh(W_x x_t + W_h h_{t-1} + b) [N0:5; Elman 1990]
    """

    gates = 1

    def step(self, projected: Float[Tensor, "B W"], state: State) -> State:
        return (torch.tanh(projected + F.linear(state[0], self.weight_hh, self.bias_hh)),)

    def run(self, x: Float[Tensor, "B T I"], state: State) -> tuple[Float[Tensor, "B T H"], State]:
        alone, x, first = self.fused(x, state)
        with alone:
            out, last = torch.rnn_tanh(x, first[0], self.weights(), True, 1, 0.0, self.training, False, True)
        return out, (last[0],)


class Lstm(Cell):
    """A cell state that gates write to, keep, and read from, so that gradients last longer.

    c_t = f⊙c_{t-1} + i⊙g, h_t = o⊙tanh(c_t) [N0:30-32; Hochreiter & Schmidhuber 1997]
    """

    gates = 4
    states = 2

    def initial(self) -> None:
        """It begins by remembering."""
        super().initial()
        with torch.no_grad():
            self.bias_ih[self.width : 2 * self.width] = 1.0

    def step(self, projected: Float[Tensor, "B W"], state: State) -> State:
        write, keep, new, read = (projected + F.linear(state[0], self.weight_hh, self.bias_hh)).chunk(4, -1)
        cell = keep.sigmoid() * state[1] + write.sigmoid() * new.tanh()
        return read.sigmoid() * cell.tanh(), cell

    def run(self, x: Float[Tensor, "B T I"], state: State) -> tuple[Float[Tensor, "B T H"], State]:
        alone, x, first = self.fused(x, state)
        with alone:
            out, hidden, cell = torch.lstm(x, first, self.weights(), True, 1, 0.0, self.training, False, True)
        return out, (hidden[0], cell[0])


class Gru(Cell):
    """Two gates decide how much of the past is forgotten and how much is new.

    h_t = (1-z)⊙n + z⊙h_{t-1}, n = tanh(W x + r⊙(U h_{t-1})) [N0:30-32; Cho et al. 2014]
    """

    gates = 3

    def step(self, projected: Float[Tensor, "B W"], state: State) -> State:
        reset, keep, new = projected.chunk(3, -1)
        past_reset, past_keep, past_new = F.linear(state[0], self.weight_hh, self.bias_hh).chunk(3, -1)
        new = torch.tanh(new + (reset + past_reset).sigmoid() * past_new)
        kept, kind = (keep + past_keep).sigmoid(), torch.promote_types(new.dtype, state[0].dtype)
        return (torch.lerp(new.to(kind), state[0].to(kind), kept.to(kind)),)

    def run(self, x: Float[Tensor, "B T I"], state: State) -> tuple[Float[Tensor, "B T H"], State]:
        alone, x, first = self.fused(x, state)
        with alone:
            out, last = torch.gru(x, first[0], self.weights(), True, 1, 0.0, self.training, False, True)
        return out, (last[0],)
