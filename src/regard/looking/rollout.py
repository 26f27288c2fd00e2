"""Attention followed through all layers: from the last positions back to the tokens themselves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.errors import InputError
from regard.looking.layers import TITLES
from regard.looking.panel import Panel
from regard.model.residual import NoResidual

if TYPE_CHECKING:
    from regard.looking.layers import Layer
    from regard.looking.look import Look

SQUARE = ("encoder", "masked")


def rollout(look: "Look", rest: Sequence[str]) -> Panel:
    """Ã_L ⋯ Ã_1 with Ã = ½ (I + mean over heads of α): half of every layer goes around it [Abnar & Zuidema 2020].

    Without a way around, Ã is α itself. Only kinds in which positions look at positions of their own side have one.
    """
    there: list[str] = [kind for kind in look.kinds if kind in SQUARE]
    kind = rest[0] if rest else (there or [""])[-1]
    if kind not in there or len(rest) > 1:
        named = ".".join(["rollout", *rest])
        said = f"there are {', '.join(f'rollout.{one}' for one in there)}" if there else "there is no self-attention"
        raise InputError(f"{named}: nothing here has this name; {said}")
    layers = look.of(kind)
    line = look.scene.lines[layers[0].rows]
    title = f"rollout of {TITLES[layers[0].kind]} through {len(layers)} layers"
    return Panel(
        f"rollout.{kind}",
        title,
        line,
        line,
        lambda start, stop: _rolled(look, layers, start, stop),
        place=(f"rollout.{kind}", None, None),
    )


def _rolled(look: "Look", layers: "list[Layer]", start: int, stop: int) -> Tensor:
    """Some rows, from the top down; of every layer no more than a block is held."""
    size = len(look.scene.lines[layers[0].rows])
    flow = torch.zeros(stop - start, size)
    flow[torch.arange(stop - start), torch.arange(start, stop)] = 1.0
    for layer in reversed(layers):
        around = 0.5 if _goes_around(look, layer) else 0.0
        below = around * flow
        step = min(layer.most, size)
        for low in range(0, size, step):
            through = flow[:, low : low + step]
            if through.any():
                weights = look.rows(layer, low, min(low + step, size)).mean(0).cpu()
                below += (1 - around) * through @ weights
        flow = below
    return flow


def _goes_around(look: "Look", layer: "Layer") -> bool:
    """Whether there is a way around an attention: where none is said, the usual one is taken to be there."""
    parent = look.scene.model.get_submodule(layer.name.rpartition(".")[0])
    return not any(isinstance(part, NoResidual) for part in parent.modules())
