"""A model that learns: one step at a time, each a function of the state before it and its number."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import isfinite
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import DivergedError, FailedError, RecipeError, is_memory
from regard.matmul import Library, multiply_with
from regard.model.assembly import Assembly
from regard.model.mechanism import auxiliary_loss
from regard.model.weights import fit, named
from regard.tasks.task import Task
from regard.training.events import Step
from regard.training.leaving import Exits, LeftError
from regard.training.optimizer import parameters
from regard.training.parallel import Processes
from regard.training.settings import TrainingOptions
from regard.training.state import CARRIED, check_state

MANY = 1_000  # batches a step may have, however few data there are
ABSURD = 1e4  # a loss that no answer would come of, though it is a number


def check_accumulate(asked: int, epoch: int) -> None:
    """Refuse steps that would never end: a step holds its batches together, and nobody needs all data twice in one."""
    if asked > max(epoch, MANY):
        raise RecipeError(f"training.accumulate: given {asked:,} batches a step, and all data make {epoch:,}")


class Losses(nn.Module):
    """Model and task as one module, so that whatever wraps modules can wrap them."""

    def __init__(self, model: Assembly, task: Task) -> None:
        super().__init__()
        self.model, self.task = model, task

    def forward(self, batch: Any) -> tuple[Tensor, Tensor]:
        found = self.task.loss(self.model, batch)
        more = auxiliary_loss(self.model)
        return found.total if more is None else found.total + more * batch.predictions, found.plain


class Learner:
    """Model, optimisers and averages. Dropout at step n depends on the seed and n alone."""

    def __init__(
        self,
        model: Assembly,
        task: Task,
        settings: TrainingOptions,
        processes: Processes,
        matmul: Library = "mkl",
    ) -> None:
        self.task, self.settings, self.processes, self.matmul = task, settings, processes, matmul
        self.model = model.to(processes.device)
        machine = settings.machine
        self.losses = processes.wrap(Losses(self.model, task), machine.parallel, machine.compile)
        self.optimizers = settings.optimizer.make(self.model)
        self.batches = task.batches(settings.seed)
        check_accumulate(settings.accumulate, len(self.batches))
        self.total = settings.total(len(self.batches))
        self.names = {id(p): name for name, p in self.model.named_parameters()}
        self.averages = {name: t.detach().clone() for name, t in self._named()} if settings.ema else {}
        self._carry(task.carried(self.model))
        self._exits = Exits(self.model, machine.compile) if processes.size == 1 else None  # several go together

    def close(self) -> None:
        self.processes.release(self.losses)
        if self._exits is not None:
            self._exits.close()

    def step(self, number: int, leave: Callable[[], bool] = lambda: False) -> Step:
        """Learn from the batches of one step. Nothing is changed if anything is not a number, or if somebody wants to
        `leave` it: that is a LeftError."""
        with multiply_with(self.matmul):
            return self._step(number, leave)

    def _step(self, number: int, leave: Callable[[], bool]) -> Step:
        start = time.perf_counter()
        batches = [self.batches[number * self.settings.accumulate + i] for i in range(self.settings.accumulate)]
        predictions = sum(batch.predictions for batch in batches)
        with self._left_by(leave):
            plain = self._within_memory(number, batches, predictions)
        norm = float(nn.utils.clip_grad_norm_(parameters(self.model), self.settings.max_grad_norm or float("inf")))
        loss = self.processes.sum(plain) / predictions
        if not isfinite(loss) or not isfinite(norm):
            self._forget()
            said = f"step {number}: the loss is {loss:.3g} and its gradient {norm:.3g}"
            raise DivergedError(said, number, usable=self._good(batches))
        factor = self.settings.schedule.factor(number, self.total)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["base_lr"] * factor
            optimizer.step()
        self._forget()
        self._average(number)
        size = sum(batch.size for batch in batches)
        return Step(number + 1, loss, size, predictions, time.perf_counter() - start, factor, norm)

    @contextmanager
    def _left_by(self, leave: Callable[[], bool]) -> Iterator[None]:
        """What a step changes on its way is put back where it is left."""
        if self._exits is None:
            yield
            return
        learnt = {name: held for name, held in self._named() if not isinstance(held, nn.Parameter)}
        before = {name: held.clone() for name, held in learnt.items()}
        carried = self.task.carried(self.model)
        try:
            with self._exits.heed(leave):
                yield
        except LeftError:
            self._forget()
            for name, held in learnt.items():
                held.copy_(before[name])
            self._carry(carried)
            raise

    def _within_memory(self, number: int, batches: list[Any], predictions: int) -> Tensor:
        """The gradients; if there is no room for them, nothing has been changed yet and all can be saved."""
        try:
            return self._gradients(number, batches, predictions)
        except (MemoryError, RuntimeError) as error:
            if not is_memory(error):
                raise
            self._forget()
            largest, key = max(batch.size for batch in batches), self.task.batch_option
            smaller = f"a smaller {key} needs less" if key else "smaller batches need less"
            raise FailedError(
                f"step {number}: not enough memory for a batch of {largest:,} {self.task.unit}; all before is saved\n"
                f"{smaller}, and training.accumulate makes up for it"
            ) from error

    def _gradients(self, number: int, batches: list[Any], predictions: int) -> Tensor:
        """Σ over all batches of the gradient of the mean loss; gives back this process's part of the plain loss."""
        processes = self.processes
        torch.manual_seed(_mixed(self.settings.seed, number, processes.rank))
        self.model.train()
        plain = torch.zeros((), device=processes.device)
        for place, batch in enumerate(batches):
            here = batch if processes.size == 1 else batch.part(processes.rank, processes.size)
            weight = processes.size / predictions
            if not here.predictions:  # fewer rows than processes: take part, but count for nothing
                here, weight = batch.part(0, processes.size), 0.0
            with self._precision(), processes.joining(self.losses, place == len(batches) - 1):
                total, own = self._losses(here.to(processes.device))
                (total * weight).backward()
            plain += own if weight else 0.0
        return plain

    @torch.no_grad()
    def _good(self, batches: list[Any]) -> bool:
        """Whether the weights give a sane loss for batches: it was the machine, or the way back, that failed."""
        self.model.eval()
        found = [float(self.losses(batch.to(self.processes.device))[1]) / batch.predictions for batch in batches]
        return not self.processes.agree(not all(isfinite(loss) and loss < ABSURD for loss in found))

    def _losses(self, batch: Any) -> tuple[Tensor, Tensor]:
        try:
            losses: tuple[Tensor, Tensor] = self.losses(batch)
        except torch._dynamo.exc.TorchDynamoException as error:
            said = str(error).splitlines()[0]
            raise FailedError(f"training.machine.compile: {said}\nset training.machine.compile=false") from error
        return losses

    def _precision(self) -> AbstractContextManager[Any]:
        if self.settings.machine.precision == "float32" or (
            self.settings.machine.precision == "auto" and not _gains_from_bfloat16(self.processes.device)
        ):
            return nullcontext()
        return torch.autocast(self.processes.device.type, torch.bfloat16)

    def _forget(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    @torch.no_grad()
    def _average(self, number: int) -> None:
        """w̄ ← d w̄ + (1−d) w, with a shorter memory in the beginning."""
        if self.averages:
            keep = min(self.settings.ema, (1 + number) / (10 + number))
            new = {name: tensor.detach() for name, tensor in self._named()}
            moving = [name for name, tensor in new.items() if tensor.is_floating_point()]
            for name in new.keys() - set(moving):
                self.averages[name].copy_(new[name])
            torch._foreach_lerp_([self.averages[n] for n in moving], [new[n] for n in moving], 1 - keep)

    def _named(self) -> Iterator[tuple[str, Tensor]]:
        return iter(named(self.model).items())

    def weights(self, step: int) -> dict[str, Tensor]:
        """What a user should get: averages where they are kept, every tensor whole, and nothing but numbers."""
        held = self.averages or dict(self._named())
        whole = {name: self.processes.whole(tensor) for name, tensor in held.items()}
        for name, tensor in whole.items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                raise DivergedError(f"step {step}: there is no number any more in {name}", step)
        return whole

    def state(self) -> dict[str, Tensor]:
        """All else that the next step depends on."""
        state = {f"weights/{name}": p for name, p in self._named()} if self.averages else {}
        for place, optimizer in enumerate(self.optimizers):
            for parameter, held in optimizer.state.items():
                state |= {f"optimizer/{place}/{self.names[id(parameter)]}/{key}": held[key] for key in sorted(held)}
        carried = {name: self.processes.gathered(held) for name, held in self.task.carried(self.model).items()}
        state |= {f"{CARRIED}{name}": held for name, held in carried.items()}
        return {name: self.processes.whole(tensor) for name, tensor in state.items()}

    @torch.no_grad()
    def restore(self, weights: dict[str, Tensor], state: dict[str, Tensor]) -> None:
        """Continue exactly from what `weights` and `state` gave; anything else is refused."""
        fit(self.model, {name: list(tensor.shape) for name, tensor in weights.items()})
        check_state(state, self._empty_state())
        for name, tensor in self._named():
            self.processes.place(tensor, state.get(f"weights/{name}", weights[name]))
            if self.averages:
                self.processes.place(self.averages[name], weights[name])
        mine = dict(self._named())
        for key, tensor in state.items():
            if key.startswith("optimizer/"):
                _, place, name, what = key.split("/")
                held = self.optimizers[int(place)].state[mine[name]]
                held[what] = self.processes.like(tensor, mine[name])
        carried = {name.removeprefix(CARRIED): held for name, held in state.items() if name.startswith(CARRIED)}
        self._carry(carried)

    def _carry(self, rows: dict[str, Tensor]) -> None:
        """Go on from what was carried of all rows of a batch: each process has its own."""
        self.task.carry({name: self.processes.own_rows(held) for name, held in rows.items()})

    def _empty_state(self) -> dict[str, Tensor]:
        """A state as this training would save it, found by a step with no gradient; the weights are put in after it."""
        for parameter in parameters(self.model):
            parameter.grad = torch.zeros_like(parameter)
        for optimizer in self.optimizers:
            optimizer.step()
        state = self.state()
        self._forget()
        for optimizer in self.optimizers:
            optimizer.state.clear()
        return state


def _mixed(*numbers: int) -> int:
    """One seed from several numbers, none of which shows through."""
    return int.from_bytes(hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()) >> 1


def _gains_from_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return device.type == "cpu" and bool(torch.cpu._is_amx_tile_supported())  # AVX2 alone emulates it, far slower
