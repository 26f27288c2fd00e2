"""A model that learns: one step at a time, each a function of the state before it and its number."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import FailedError
from regard.model.assembly import Assembly
from regard.model.mlp.experts import balance_loss
from regard.model.weights import fit, named
from regard.tasks.task import Task
from regard.training.optimizer import parameters
from regard.training.parallel import Team
from regard.training.settings import Training


@dataclass(frozen=True)
class Step:
    """What one step was like: the mean −log p of its predictions, before it learnt from them."""

    number: int
    loss: float
    tokens: int
    seconds: float
    rate: float
    norm: float


class Losses(nn.Module):
    """Model and task as one module, so that whatever wraps modules can wrap them."""

    def __init__(self, model: Assembly, task: Task, settings: Training) -> None:
        super().__init__()
        self.model, self.task, self.settings = model, task, settings

    def forward(self, batch: Any) -> tuple[Tensor, Tensor]:
        found = self.task.loss(self.model, batch, self.settings.smoothing, self.settings.sampling)
        balance = balance_loss(self.model)
        return found.total if balance is None else found.total + balance * batch.targets, found.plain


class Learner:
    """Model, optimisers and averages. Dropout at step n depends on the seed and n alone."""

    def __init__(self, model: Assembly, task: Task, settings: Training, team: Team) -> None:
        self.task, self.settings, self.team = task, settings, team
        self.model = model.to(team.device)
        self.losses = team.wrap(Losses(self.model, task, settings), settings.parallel, settings.compile)
        self.optimizers = settings.optimizer.build(self.model)
        self.batches = task.batches(settings.batch_tokens, settings.seed)
        self.total = settings.total(len(self.batches))
        self.names = {id(p): name for name, p in self.model.named_parameters()}
        self.averages = {name: t.detach().clone() for name, t in self._named()} if settings.average else {}

    def close(self) -> None:
        self.team.release(self.losses)

    def step(self, number: int) -> Step:
        """Learn from the batches of one step. Nothing is changed if anything is not a number."""
        start = time.perf_counter()
        pieces = [self.batches[number * self.settings.accumulate + i] for i in range(self.settings.accumulate)]
        targets = sum(piece.targets for piece in pieces)
        plain = self._gradients(number, pieces, targets)
        norm = float(nn.utils.clip_grad_norm_(parameters(self.model), self.settings.clip or float("inf")))
        loss = self.team.sum(plain) / targets
        if not isfinite(loss) or not isfinite(norm):
            self._forget()
            raise FailedError(
                f"step {number}: the loss is {loss:.3g} and its gradient {norm:.3g}; nothing was changed by this step\n"
                "lower training.optimizer.rate, lengthen training.schedule.warmup, or lower training.clip"
            )
        rate = self.settings.schedule.factor(number, self.total)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * rate
            optimizer.step()
        self._forget()
        self._average(number)
        tokens = sum(piece.tokens for piece in pieces)
        return Step(number + 1, loss, tokens, time.perf_counter() - start, rate, norm)

    def _gradients(self, number: int, pieces: list[Any], targets: int) -> Tensor:
        """Σ over all pieces of the gradient of the mean loss; gives back this process's part of the plain loss."""
        team = self.team
        torch.manual_seed(_mixed(self.settings.seed, number, team.rank))
        self.model.train()
        plain = torch.zeros((), device=team.device)
        for place, piece in enumerate(pieces):
            here = piece if team.size == 1 else piece.part(team.rank, team.size)
            weight = team.size / targets
            if not here.targets:  # fewer rows than processes: take part, but count for nothing
                here, weight = piece.part(0, team.size), 0.0
            with self._precision(), team.joining(self.losses, place == len(pieces) - 1):
                total, said = self._losses(here.to(team.device))
                (total * weight).backward()
            plain += said if weight else 0.0
        return plain

    def _losses(self, batch: Any) -> tuple[Tensor, Tensor]:
        try:
            losses: tuple[Tensor, Tensor] = self.losses(batch)
        except torch._dynamo.exc.TorchDynamoException as error:
            said = str(error).splitlines()[0]
            raise FailedError(f"training.compile: {said}\nset training.compile=false") from error
        return losses

    def _precision(self) -> AbstractContextManager[Any]:
        if self.settings.precision == "float32" or (
            self.settings.precision == "auto" and not _gains_from_bfloat16(self.team.device)
        ):
            return nullcontext()
        return torch.autocast(self.team.device.type, torch.bfloat16)

    def _forget(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    @torch.no_grad()
    def _average(self, number: int) -> None:
        """w̄ ← d w̄ + (1−d) w, with a shorter memory in the beginning."""
        if self.averages:
            keep = min(self.settings.average, (1 + number) / (10 + number))
            new = {name: tensor.detach() for name, tensor in self._named()}
            moving = [name for name, tensor in new.items() if tensor.is_floating_point()]
            for name in new.keys() - set(moving):
                self.averages[name].copy_(new[name])
            torch._foreach_lerp_([self.averages[n] for n in moving], [new[n] for n in moving], 1 - keep)

    def _named(self) -> Iterator[tuple[str, Tensor]]:
        return iter(named(self.model).items())

    def weights(self) -> dict[str, Tensor]:
        """What a user should get: averages where they are kept, every tensor whole."""
        whole = self.averages or dict(self._named())
        return {name: self.team.whole(tensor) for name, tensor in whole.items()}

    def state(self) -> dict[str, Tensor]:
        """All else that the next step depends on."""
        state = {f"weights/{name}": p for name, p in self._named()} if self.averages else {}
        for place, optimizer in enumerate(self.optimizers):
            for parameter, held in optimizer.state.items():
                state |= {f"optimizer/{place}/{self.names[id(parameter)]}/{key}": held[key] for key in sorted(held)}
        return {name: self.team.whole(tensor) for name, tensor in state.items()}

    @torch.no_grad()
    def restore(self, weights: dict[str, Tensor], state: dict[str, Tensor]) -> None:
        """Continue exactly from what `weights` and `state` gave."""
        fit(self.model, {name: list(tensor.shape) for name, tensor in weights.items()})
        for name, tensor in self._named():
            self.team.place(tensor, state.get(f"weights/{name}", weights[name]))
            if self.averages:
                self.team.place(self.averages[name], weights[name])
        mine = dict(self._named())
        for key, tensor in state.items():
            if key.startswith("optimizer/"):
                _, place, name, what = key.split("/")
                held = self.optimizers[int(place)].state[mine[name]]
                held[what] = self.team.like(tensor, mine[name])


def _mixed(*numbers: int) -> int:
    """One seed from several numbers, none of which shows through."""
    return int.from_bytes(hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()) >> 1


def _gains_from_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return device.type == "cpu" and bool(torch.cpu._is_amx_tile_supported())  # AVX2 alone emulates it, far slower
