"""What a training will need of the machine's memory, and what the machine has."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.errors import RecipeError
from regard.model.cost import kept_for_backward
from regard.model.weights import named
from regard.training.learner import Learner, Losses
from regard.training.settings import TrainingOptions

LOOKED = 8  # batches of which the largest is tried
TRIED = 512  # tokens, images, … of it that are tried: the rest is like them
GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Memory:
    """Bytes: of the model, of what learns it, of the largest batch, and of the process before; and what there is."""

    weights: int
    gradients: int
    optimizer: int
    activations: int
    process: int
    machine: int

    @property
    def total(self) -> int:
        """All that is needed at once."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.process


def check_weights(model: nn.Module, settings: TrainingOptions, device: torch.device) -> None:
    """Refuse, before any number of it is drawn, a model that cannot be trained here whatever the batch."""
    _refuse(_of(model, settings, device, activations=0), "make the model smaller: model.width, layers")


def check_batches(learner: Learner) -> None:
    """Refuse batches that cannot be held here."""
    device, batch = learner.processes.device, _largest(learner)
    numbers = sum(parameter.numel() for parameter in learner.model.parameters())
    surely = 16 * numbers * batch.size  # were every weight to leave as many numbers behind for every token
    if learner.processes.size == 1 and surely > has(device) // 4:  # several processes share what there is
        needs = needed(learner)
        key = type(learner.task).batch_option
        _refuse(needs, f"lower {key}, or make the model smaller" if key else "make batches or the model smaller")


def needed(learner: Learner) -> Memory:
    """Before the first step: what is known, and at least so much for the optimizer."""
    return _of(learner.model, learner.settings, learner.processes.device, activations(learner))


def learnt(learner: Learner) -> int:
    """After a step: the bytes that the optimizer keeps, and averages."""
    held = sum(_bytes(tensor) for optimizer in learner.optimizers for tensor in _state(optimizer))
    return held + sum(map(_bytes, learner.averages.values()))


def activations(learner: Learner) -> int:
    """Bytes that the largest batch keeps for the way back, found with a part of it on a copy of the model."""
    batch = _largest(learner)
    few = batch.part(0, max(1, batch.size // TRIED))
    model = deepcopy(learner.model).train()
    copy = Losses(model, learner.task)
    torch.manual_seed(0)
    kept = kept_for_backward(lambda: copy(few.to(learner.processes.device)), model)
    return int(kept * batch.size // max(1, few.size))


def _largest(learner: Learner) -> Any:
    batches = (learner.batches[number] for number in range(min(LOOKED, len(learner.batches))))
    return max(batches, key=lambda one: one.size)


def has(device: torch.device) -> int:
    """Bytes that the device has; of a machine no more than its control groups allow."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[1])
    found = [_number(path / name) for path, name in _limits()]
    pages = {line.split(":")[0]: line.split() for line in _lines(Path("/proc/meminfo"))}
    swapped = [int(pages[key][1]) * 1024 for key in ("MemTotal", "SwapTotal") if key in pages]
    return min([limit for limit in [*found, sum(swapped)] if limit > 0], default=0)


def _of(model: nn.Module, settings: TrainingOptions, device: torch.device, activations: int) -> Memory:
    """At least so much: every optimizer keeps something the size of the weights."""
    weights = sum(map(_bytes, named(model).values()))
    made = 0 if next(model.parameters()).is_meta else weights  # counted already
    process = 0 if device.type == "cuda" else max(0, _resident() - made)
    return Memory(weights, weights, weights * (2 if settings.ema else 1), activations, process, has(device))


def _refuse(needs: Memory, remedy: str) -> None:
    if needs.machine and needs.total > needs.machine:
        batch = f", {_shown(needs.activations)} of it for a batch" if needs.activations else ""
        raise RecipeError(
            f"training this needs {_shown(needs.total)} of memory or more{batch}, "
            f"and there is {_shown(needs.machine)}\n{remedy}"
        )


def _shown(number: int) -> str:
    return f"{number / 2**30:,.1f} GiB"


def _limits() -> list[tuple[Path, str]]:
    """Where the groups that this process is in may say how much they may hold, in either form of control groups."""
    own = next((line.removeprefix("0::") for line in _lines(Path("/proc/self/cgroup")) if line.startswith("0::")), "/")
    inside = GROUPS / own.strip("/")
    groups = [path for path in (inside, *inside.parents) if path.is_relative_to(GROUPS)]
    return [*((path, "memory.max") for path in groups), (GROUPS / "memory", "memory.limit_in_bytes")]


def _number(path: Path) -> int:
    first = next(iter(_lines(path)), "")
    return int(first) if first.isdecimal() else 0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _resident() -> int:
    """Bytes that this process holds now and could not be read again from files."""
    said = next((line for line in _lines(Path("/proc/self/status")) if line.startswith("RssAnon:")), "x 0")
    return int(said.split()[1]) * 1024


def _state(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [value for held in optimizer.state.values() for value in held.values() if isinstance(value, torch.Tensor)]


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
