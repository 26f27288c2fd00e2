"""What one of two processes does: every stack learns for a few steps together, and as one process alone does.

Started by torchrun once for all stacks; the first process writes down what it found. `traced`, blocks go through
the first half of the compiler, which follows their Python but writes no code; `compiled`, through all of it.
"""

import json
import sys
from copy import deepcopy
from functools import partialmethod
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parents[1]))

from contracts.small import order, small
from contracts.trained import batch

from regard.model.mechanism import auxiliary_loss
from regard.model.menu import MENU
from regard.training.parallel import Processes, processes

STEPS = 2


class Cost(nn.Module):
    """A model and its loss as one module, as training has it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: tuple[Tensor, ...], labels: Tensor) -> Tensor:
        cost = F.cross_entropy(self.model(*inputs).flatten(0, -2), labels.flatten())
        extra = auxiliary_loss(self.model)
        return cost if extra is None else cost + extra


def stacks() -> dict[str, dict[str, Any]]:
    """Every encoder, decoder and body of the menu, those of a kind together, and what is special in blocks."""
    heads = {"attention": small("attention", "multihead")}
    experts = small("mlp", "experts", balance=0.0)  # its balance is a mean of means
    found = {
        kind: small("model", "seq2seq", encoder=usual("encoder", kind), decoder=usual("decoder", kind))
        for kind in MENU.parts["encoder"] | MENU.parts["decoder"]
    }
    looking = small("decoder", "recurrent", cell=small("cell", "lstm"), order="luong_feeding", **heads)
    plain = small("decoder", "convolution", positions=small("positions", "none"), residual=small("residual", "post"))
    found["recurrent looking"] = small("model", "seq2seq", decoder=looking)
    found["convolution after transformer"] = small(
        "model", "seq2seq", encoder=small("encoder", "transformer"), decoder=plain
    )
    turned = small("decoder", "transformer", mlp=experts, positions=small("positions", "rotary"))
    found["experts"] = small("model", "language_model", decoder=turned)
    for body in MENU.parts["body"]:
        found[body] = small("model", "image_classifier", body=small("body", body))
    return found


def usual(slot: str, kind: str) -> dict[str, Any]:
    return small(slot, kind if kind in MENU.parts[slot] else "transformer")


def learnt(cost: nn.Module, model: nn.Module, inputs: tuple[Tensor, ...], labels: Tensor, group: Processes) -> Any:
    """Weights after a few steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(STEPS):
        optimizer.zero_grad()
        cost(inputs, labels).backward()
        optimizer.step()
    return {name: group.whole(parameter) for name, parameter in model.named_parameters()}


def farthest(table: dict[str, Any], how: str, compiled: bool, group: Processes) -> float:
    """How far the weights that two processes learnt are from those that one learnt."""
    torch.manual_seed(1)
    model = order(table).build().train()
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.eval()  # statistics of half a batch are others
    alone = deepcopy(model)
    inputs, labels = batch(model)
    mine = slice(2 * group.rank, 2 * group.rank + 2)
    wrapped = group.wrap(Cost(model), how, compiled)
    together = learnt(wrapped, model, tuple(part[mine] for part in inputs), labels[mine], group)
    alone_learnt = learnt(Cost(alone), alone, inputs, labels, group)
    assert together.keys() == alone_learnt.keys()
    group.release(wrapped)
    return max(float((together[name] - alone_learnt[name]).abs().max()) for name in alone_learnt)


def main(out: str, how_compiled: str) -> None:
    found = {}
    if how_compiled == "traced":
        nn.Module.compile = partialmethod(nn.Module.compile, backend="eager")  # type: ignore[method-assign]
    with processes("cpu") as group:
        for name, table in stacks().items():
            for how in ("ddp", "fsdp"):
                try:
                    found[f"{name}, {how}"] = farthest(table, how, how_compiled != "plain", group)
                except Exception as error:
                    found[f"{name}, {how}"] = f"{type(error).__name__}: {error}"
    if group.leads:
        Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
