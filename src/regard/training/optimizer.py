"""Optimisers: from gradients to steps."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import torch
from annotated_doc import Doc
from jaxtyping import Float
from torch import Tensor, nn

from regard.recipe import Positive, Share

LearningRate = Annotated[
    Positive, Doc("Size of the steps at full height; the schedule says how much of it each step has.")
]
Beta1 = Annotated[Share, Doc("Share of the running mean of gradients that is kept at each step; 0 keeps no past.")]
Beta2 = Annotated[Share, Doc("Share of the running mean of squared gradients that is kept at each step.")]
WeightDecay = Annotated[Share, Doc("Matrices shrink by this share times the learning rate at each step; 0 never.")]


class OptimizerFactory(ABC):
    """Makes the optimisers of a model's parameters; each group's `base_lr` is scaled by the schedule."""

    @abstractmethod
    def make(self, model: nn.Module) -> list[torch.optim.Optimizer]:
        """One or several that together take every parameter once."""


class Adamw(OptimizerFactory):
    """Adam with decoupled weight decay [Kingma & Ba 2015, Loshchilov & Hutter 2019], one fused pass."""

    def __init__(
        self,
        *,
        learning_rate: LearningRate = 1e-3,
        beta1: Beta1 = 0.9,
        beta2: Beta2 = 0.98,
        weight_decay: WeightDecay = 0.01,
    ) -> None:
        self.learning_rate, self.betas, self.weight_decay = learning_rate, (beta1, beta2), weight_decay

    def make(self, model: nn.Module) -> list[torch.optim.Optimizer]:
        return [self.over(parameters(model))]

    def over(self, chosen: Iterable[Tensor]) -> torch.optim.Optimizer:
        """Matrices decay, gains and biases do not."""
        chosen = list(chosen)
        groups = [
            {
                "params": [p for p in chosen if p.ndim >= 2],
                "weight_decay": self.weight_decay,
                "base_lr": self.learning_rate,
            },
            {"params": [p for p in chosen if p.ndim < 2], "weight_decay": 0.0, "base_lr": self.learning_rate},
        ]
        return torch.optim.AdamW(
            [group for group in groups if group["params"]], self.learning_rate, self.betas, fused=True
        )


class Muon(OptimizerFactory):
    """Momentum, made orthogonal, for the matrices inside; AdamW for embeddings, head, gains and biases.

    M ← μM + G,  W ← W − lr √max(1, m/n) NewtonSchulz(G + μM) [Jordan et al. 2024]
    """

    def __init__(
        self,
        *,
        learning_rate: LearningRate = 0.02,
        momentum: Annotated[Share, Doc("Share of the last step's direction that goes on into the next.")] = 0.95,
        weight_decay: WeightDecay = 0.0,
        adamw_learning_rate: Annotated[
            Positive, Doc("Size of the steps of embeddings, head, gains and biases, which AdamW takes.")
        ] = 2e-3,
        beta1: Beta1 = 0.9,
        beta2: Beta2 = 0.98,
    ) -> None:
        self.learning_rate, self.momentum, self.weight_decay = learning_rate, momentum, weight_decay
        self.adamw = Adamw(learning_rate=adamw_learning_rate, beta1=beta1, beta2=beta2, weight_decay=weight_decay)

    def make(self, model: nn.Module) -> list[torch.optim.Optimizer]:
        outer = {id(p) for name, part in model.named_modules() if _outer(name, part) for p in part.parameters()}
        inner = [p for p in parameters(model) if p.ndim == 2 and id(p) not in outer]
        others = [p for p in parameters(model) if p.ndim != 2 or id(p) in outer]
        made: list[torch.optim.Optimizer] = [self.adamw.over(others)]
        if inner:
            made.append(Orthogonal(inner, self.learning_rate, self.momentum, self.weight_decay))
        return made


class Orthogonal(torch.optim.Optimizer):
    """Steps whose singular values are all about one. Matrices of one shape go through together.

    torch.optim.Muon computes in bfloat16, which a CPU without it emulates a hundred times slower.
    """

    def __init__(self, chosen: list[Tensor], learning_rate: float, momentum: float, weight_decay: float) -> None:
        super().__init__(
            [{"params": chosen, "base_lr": learning_rate}],
            {"lr": learning_rate, "momentum": momentum, "weight_decay": weight_decay},
        )

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
        torch._foreach_mul_(alike, 1 - group["lr"] * group["weight_decay"])
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
