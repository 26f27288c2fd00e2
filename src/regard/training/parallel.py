"""One process or several: torchrun starts them, DDP or FSDP2 keeps them together."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from regard.errors import FailedError, RecipeError
from regard.model.mechanism import Block


@dataclass(frozen=True)
class Processes:
    """The processes that train one model together."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this process writes files and talks."""
        return self.rank == 0

    def wrap(self, module: nn.Module, how: str, compiled: bool) -> nn.Module:
        """Let gradients (DDP) or gradients and weights (FSDP2) be shared.

        Both go block by block: all blocks of a kind are one piece of compiled code, which no batch makes
        anew. What stands outside of blocks, and whole recurrent stacks, stays together for the whole pass.
        """
        blocks = [part for part in module.modules() if isinstance(part, Block)]
        for block in blocks if compiled else ():
            block.compile(dynamic=True)
        if self.size == 1:
            return module
        if how == "ddp":
            return DistributedDataParallel(module)
        for block in blocks:
            fully_shard(block)
        fully_shard(module)
        return module

    def release(self, module: nn.Module) -> None:
        """Before the processes part. What DDP keeps holds them together, and freed last of all it waits,
        with Python's lock in its hand, for a thread that waits for that lock."""
        if isinstance(module, DistributedDataParallel):
            del module.reducer, module.logger

    def joining(self, module: nn.Module, last: bool) -> AbstractContextManager[Any]:
        """Gradients of several pieces are added up here first, and exchanged with the last."""
        if isinstance(module, FSDPModule):
            module.set_requires_gradient_sync(last)
        if isinstance(module, DistributedDataParallel) and not last:
            return module.no_sync()
        return nullcontext()

    def sum(self, number: Tensor) -> float:
        if self.size > 1:
            dist.all_reduce(number)
        return float(number)

    def agree(self, said: bool) -> bool:
        """True for all as soon as it is true for one."""
        return said if self.size == 1 else self.sum(torch.tensor(float(said), device=self.device)) > 0

    def share(self, value: Any) -> Any:
        """What the leading process knows, for all."""
        if self.size == 1:
            return value
        held = [value]
        dist.broadcast_object_list(held, 0)
        return held[0]

    def whole(self, tensor: Tensor) -> Tensor:
        """A tensor in one piece, wherever its parts are."""
        tensor = tensor.detach()
        return tensor.full_tensor().cpu() if isinstance(tensor, DTensor) else tensor.cpu()

    def gathered(self, rows: Tensor) -> Tensor:
        """The rows of all processes, each of which has every n-th of a batch."""
        if self.size == 1:
            return rows
        parts: list[Any] = [None] * self.size
        dist.all_gather_object(parts, rows.detach().cpu())
        whole = rows.new_empty(sum(map(len, parts)), *rows.shape[1:], device="cpu")
        for number, part in enumerate(parts):
            whole[number :: self.size] = part
        return whole

    def own_rows(self, rows: Tensor) -> Tensor:
        """Those of this process."""
        return rows[self.rank :: self.size].to(self.device)

    def place(self, into: Tensor, tensor: Tensor) -> None:
        into.copy_(self.like(tensor, into))

    def like(self, tensor: Tensor, other: Tensor) -> Tensor:
        """A whole tensor, cut and placed as another of the same shape is."""
        tensor = tensor.clone()
        if isinstance(other, DTensor) and tensor.shape == other.shape:
            return distribute_tensor(tensor.to(self.device), other.device_mesh, other.placements)
        return tensor.to(self.device)


@contextmanager
def processes(device: str) -> Iterator[Processes]:
    """As torchrun says, or alone."""
    try:
        size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    except ValueError as error:
        raise RecipeError("WORLD_SIZE and RANK must be numbers, as torchrun sets them") from error
    chosen = _device(device)
    if size == 1:
        yield Processes(0, 1, chosen)
        return
    _check_started(size, rank)
    if chosen.type == "cuda":
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(chosen)
    try:
        dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    except (ValueError, RuntimeError) as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise FailedError(f"{where}: the {size} processes of torchrun do not meet there: {said}") from error
    try:
        yield Processes(rank, size, chosen)
    finally:
        dist.destroy_process_group()


def _check_started(size: int, rank: int) -> None:
    """Refuse to wait for processes that nobody starts."""
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if missing or not 0 <= rank < size:
        wrong = f"{missing[0]} is not set" if missing else f"RANK is {rank}"
        raise RecipeError(
            f"WORLD_SIZE says {size} processes, and {wrong}: start them with torchrun, which sets both, "
            "or unset WORLD_SIZE to train in one"
        )


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        raise RecipeError(f"training.machine.device: {name!r} is not there; say auto or cpu") from error
    return device
