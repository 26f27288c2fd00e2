"""Optimisers: from gradients to steps."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.recipe import Positive, Share


class Optimizer(ABC):
    """Makes the optimisers of a model's parameters; each group's `rate` is scaled by the schedule."""

    @abstractmethod
    def build(self, model: nn.Module) -> list[torch.optim.Optimizer]: ...


class Adamw(Optimizer):
    """Adam with decoupled weight decay [Kingma & Ba 2015, Loshchilov & Hutter 2019], one fused pass."""

    def __init__(self, *, rate: Positive = 1e-3, beta1: Share = 0.9, beta2: Share = 0.98, decay: Share = 0.01) -> None:
        self.rate, self.betas, self.decay = rate, (beta1, beta2), decay

    def build(self, model: nn.Module) -> list[torch.optim.Optimizer]:
        return [self.over(parameters(model))]

    def over(self, chosen: Iterable[Tensor]) -> torch.optim.Optimizer:
        """Matrices decay, gains and biases do not."""
        chosen = list(chosen)
        groups = [
            {"params": [p for p in chosen if p.ndim >= 2], "weight_decay": self.decay, "rate": self.rate},
            {"params": [p for p in chosen if p.ndim < 2], "weight_decay": 0.0, "rate": self.rate},
        ]
        return torch.optim.AdamW([group for group in groups if group["params"]], self.rate, self.betas, fused=True)


class Muon(Optimizer):
    """Momentum, made orthogonal, for the matrices inside; AdamW for embeddings, head, gains and biases.

    M ← μM + G,  W ← W − rate √max(1, m/n) NewtonSchulz(G + μM) [Jordan et al. 2024]
    """

    def __init__(
        self,
        *,
        rate: Positive = 0.02,
        momentum: Share = 0.95,
        decay: Share = 0.0,
        adamw_rate: Positive = 2e-3,
        beta1: Share = 0.9,
        beta2: Share = 0.98,
    ) -> None:
        self.rate, self.momentum, self.decay = rate, momentum, decay
        self.adamw = Adamw(rate=adamw_rate, beta1=beta1, beta2=beta2, decay=decay)

    def build(self, model: nn.Module) -> list[torch.optim.Optimizer]:
        outer = {id(p) for name, part in model.named_modules() if _outer(name, part) for p in part.parameters()}
        inner = [p for p in parameters(model) if p.ndim == 2 and id(p) not in outer]
        others = [p for p in parameters(model) if p.ndim != 2 or id(p) in outer]
        made: list[torch.optim.Optimizer] = [self.adamw.over(others)]
        if inner:
            made.append(Orthogonal(inner, self.rate, self.momentum, self.decay))
        return made


class Orthogonal(torch.optim.Optimizer):
    """Steps whose singular values are all about one. Matrices of one shape go through together.

    torch.optim.Muon computes in bfloat16, which a CPU without it emulates a hundred times slower.
    """

    def __init__(self, chosen: list[Tensor], rate: float, momentum: float, decay: float) -> None:
        super().__init__([{"params": chosen, "rate": rate}], {"lr": rate, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            shapes: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes[tuple(parameter.shape)].append(parameter)
            for alike in shapes.values():
                self._together(alike, group)

    def _together(self, alike: list[Tensor], group: dict[str, Any]) -> None:
        grads = [parameter.grad for parameter in alike if parameter.grad is not None]
        for parameter in alike:
            if not self.state[parameter]:
                self.state[parameter]["momentum"] = torch.zeros_like(parameter)
        moments = [self.state[parameter]["momentum"] for parameter in alike]
        torch._foreach_mul_(moments, group["momentum"])
        torch._foreach_add_(moments, grads)
        ahead = torch._foreach_add(grads, moments, alpha=group["momentum"])
        steps = orthogonal(torch.stack(list(ahead))).unbind()
        rows, columns = alike[0].shape
        torch._foreach_mul_(alike, 1 - group["lr"] * group["decay"])
        torch._foreach_add_(alike, steps, alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)


def orthogonal(matrices: Float[Tensor, "N R C"], rounds: int = 5) -> Float[Tensor, "N R C"]:
    """U Vᵀ of each matrix U S Vᵀ, nearly: a polynomial pulls all singular values towards one."""
    tall = matrices.shape[1] > matrices.shape[2]
    x: Tensor = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(rounds):
        square = x @ x.mT
        x = 3.4445 * x + torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315) @ x
    return x.mT if tall else x


def parameters(model: nn.Module) -> list[Tensor]:
    """Every parameter once, also where it is used twice."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def _outer(name: str, part: nn.Module) -> bool:
    return isinstance(part, nn.Embedding) or name == "head" or name.endswith(".head")
