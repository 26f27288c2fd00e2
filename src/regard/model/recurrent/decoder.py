"""Recurrent decoder."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.attention import Attention, NoAttention, Site
from regard.model.attention.kernels.segments import Packed
from regard.model.dropout import dropped
from regard.model.mask import Mask
from regard.model.memory import Held, Memory
from regard.model.module_list import ModuleList
from regard.model.options import Dropout, Layers
from regard.model.recurrent.cells import Cell
from regard.model.stack import Decoder, DecoderSite, Encoded, Source, State
from regard.recipe import Part, choose


class RecurrentDecoder(Decoder):
    """Writes word by word from a state, with a fixed context vector or with attention.

    Without attention, the context is the start state, or also fed at every step [N3:13-14].
    With it, `order` says which state asks and where the answer goes (trap T3):
    bahdanau c_t from s_{t-1}, s_t = RNN(s_{t-1}, y_{t-1}, c_t); luong s_t first, then c_t from it;
    luong_feeding the same with h̃_{t-1} fed back; literal s_t = RNN(s_{t-1}, y_{t-1}, c_{t-1}) [N4:65].
    `readout` tanh is h̃ = tanh(W[c;h]) [N2:248-253], concat is [s;c] [N4:69].
    """

    def __init__(
        self,
        site: DecoderSite,
        *,
        cell: Part[Cell] = choose("gru"),
        layers: Layers = 1,
        dropout: Dropout = 0.0,
        attention: Annotated[
            Part[Attention], Doc("How it looks back at the source; none gives it one fixed context vector instead.")
        ] = choose("none"),
        context: Annotated[
            Literal["start", "every_step"],
            Doc("Where a fixed context vector goes in without attention: as first state only, or at every step too."),
        ] = "start",
        order: Annotated[
            Literal["bahdanau", "luong", "luong_feeding", "literal"],
            Doc(
                "Which state asks: the one before the step (bahdanau, literal) or after it (luong); feeding hands h̃ on."
            ),
        ] = "bahdanau",
        readout: Annotated[
            Literal["tanh", "concat"],
            Doc(
                "How state and context become one: tanh mixes them to the model's width, concat sets them side by side."
            ),
        ] = "tanh",
    ) -> None:
        super().__init__()
        width, source = site.width, site.source
        self.width, self.dropout, self.order = width, dropout, order
        self.attention = None if source is None else _built(attention, Site(width, source.width))
        told = 0  # how wide a context each step is told
        if self.attention is not None:
            told = self.attention.out_width
        elif source is not None and context == "every_step":
            told = source.width
        _refuse(source, attention.kind, context, order, readout)
        fed = {"luong": 0, "luong_feeding": width}.get(order, told) if self.attention else told
        self.cells = ModuleList(cell.build(width + (fed if i == 0 else 0), width) for i in range(layers))
        self.fed = fed
        self.combine = nn.Linear(told + width, width, bias=False) if told and readout == "tanh" else None
        self.out_width = width if self.combine or not told else told + width
        fits = source is not None and source.width == width and source.final == tuple(c.states for c in self.cells)
        self.bridge = None if source is None or fits else nn.Linear(source.width, width)

    def start(self, encoded: Encoded | None, rows: int) -> Memory:
        if encoded is None:
            blank = self.cells[0].weight_hh.new_zeros(rows, 1)
            return Memory(rows, [Held(*cell.zero(blank)) for cell in self.cells])
        states = [Held(*state) for state in self._first_states(encoded)]
        if self.attention is None:
            fed = Held(encoded.summary()) if self.fed else None
            return Memory(rows, states, fed=fed, source_lengths=encoded.lengths)
        read = self.attention.remember(encoded.states, encoded.mask())
        fed = Held(encoded.states.new_zeros(rows, self.fed))
        return Memory(rows, states, fed=fed, cross=[read], source_lengths=encoded.lengths)

    def _first_states(self, encoded: Encoded) -> list[State]:
        """s_0 = h_T exactly where the shapes agree [N4:17-19], else a learned bridge."""
        if self.bridge is None:
            return list(encoded.final)
        first = torch.tanh(self.bridge(encoded.summary()))
        return [(first, *cell.zero(first)[1:]) for cell in self.cells]

    def forward(
        self, x: Float[Tensor, "B T D"], encoded: Encoded | None, mask: Mask, memory: Memory | None = None
    ) -> Float[Tensor, "B T O"]:
        if mask.segments is not None:
            packed = Packed(mask)
            rows = packed.unpack(x[:, None])[:, 0]
            return packed.pack(self(rows, encoded, packed.mask)[:, None])[:, 0]
        memory = self.start(encoded, len(x)) if memory is None else memory
        memory.advance(x.shape[1])
        x = dropped(x, self.dropout, self.training)
        if self.attention is None or self.order == "luong":
            return self._at_once(x, memory)
        return self._step_by_step(x, memory)

    def _at_once(self, x: Tensor, memory: Memory) -> Tensor:
        """No step waits for a context: the fused kernel runs over all of them."""
        told = memory.fed.held[0][:, None].expand(-1, x.shape[1], -1) if memory.fed and self.fed else None
        x = x if told is None else torch.cat([x, told], -1)
        for i, (cell, entry) in enumerate(zip(self.cells, memory.held(), strict=True)):
            x = dropped(x, self.dropout, self.training) if i else x
            if x.shape[1] == 1:  # the fused kernel would prepare its weights anew for every step
                state = cell.step(cell.project(x[:, 0]), entry.held)
                x = state[0][:, None]
            else:
                x, state = cell.run(x, entry.held)
            entry.replace(*state)
        if self.attention is not None:
            told = self._look(x, memory)
        return x if told is None else self._read_out(x, told)

    def _step_by_step(self, x: Tensor, memory: Memory) -> Tensor:
        """Each step waits for a context that depends on the one before."""
        assert memory.fed is not None
        first = self.cells[0]
        projected, weight_fed = first.project(x).unbind(1), first.weight_ih[:, self.width :]
        states, fed = [entry.held for entry in memory.held()], memory.fed.held[0]
        tops, contexts = [], []
        for step in projected:
            if self.order == "luong_feeding":  # the new state asks
                states = self._advance(step + F.linear(fed, weight_fed), states)
                fed = self._read_out(states[-1][0], self._look(states[-1][0][:, None], memory)[:, 0])
                tops.append(fed)
            else:  # the old state asks
                told = self._look(states[-1][0][:, None], memory)[:, 0]
                states = self._advance(step + F.linear(told if self.order == "bahdanau" else fed, weight_fed), states)
                fed = told
                tops.append(states[-1][0])
                contexts.append(told)
        for entry, state in zip(memory.held(), states, strict=True):
            entry.replace(*state)
        memory.fed.replace(fed)
        out = torch.stack(tops, 1)
        return self._read_out(out, torch.stack(contexts, 1)) if contexts else out

    def _advance(self, projected: Tensor, states: list[State]) -> list[State]:
        new = [self.cells[0].step(projected, states[0])]
        for cell, state in list(zip(self.cells, states, strict=True))[1:]:
            new.append(cell.step(cell.project(dropped(new[-1][0], self.dropout, self.training)), state))
        return new

    def _look(self, queries: Tensor, memory: Memory) -> Tensor:
        assert self.attention is not None
        looked: Tensor = self.attention(queries, None, memory.source_mask(), memory=memory.cross[0])
        return looked

    def _read_out(self, state: Tensor, told: Tensor) -> Tensor:
        both = torch.cat([told, state], -1) if self.combine else torch.cat([state, told], -1)
        return torch.tanh(self.combine(both)) if self.combine else both


def _built(attention: Part[Attention], site: Site) -> Attention | None:
    built = attention.build(site)
    return None if isinstance(built, NoAttention) else built


def _refuse(source: Source | None, attention: str, context: str, order: str, readout: str) -> None:
    if source is None and (attention != "none" or context != "start"):
        raise ValueError("there is no encoder to attend to; choose attention none and context start")
    if attention != "none" and context == "every_step":
        raise ValueError("context: attention makes a new context at every step already; choose context start")
    if attention != "none" and order == "luong_feeding" and readout == "concat":
        raise ValueError("readout: luong_feeding feeds back h̃ = tanh(W[c;h]); choose readout tanh")
