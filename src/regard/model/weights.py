"""The tensors of a model by name: each once, also where it is used twice."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.errors import InputError
from regard.model.bounds import TENSORS, check_sizes, counted, large
from regard.model.positions import Learned, regrid
from regard.recipe import Part

DRAWING = {torch.Tensor.normal_, torch.Tensor.uniform_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_}
FEW = 64  # tensors that a file need not have


def named(model: nn.Module) -> dict[str, Tensor]:
    """Parameters, and the buffers that are learnt."""
    kept = model.state_dict(keep_vars=True)
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in kept}
    return dict(model.named_parameters()) | buffers


def fit(model: nn.Module, shapes: dict[str, list[int]]) -> None:
    """Refuse weights that are not those of this model."""
    wanted = {name: list(tensor.shape) for name, tensor in named(model).items()}
    for name in wanted | shapes:
        if wanted.get(name) != shapes.get(name):
            raise InputError(
                f"{name}: the weights have {shapes.get(name, 'no such tensor')}, "
                f"the recipe asks for {wanted.get(name, 'none')}: they do not belong together"
            )


def stretched(weights: dict[str, Tensor], former: nn.Module, model: nn.Module) -> dict[str, Tensor]:
    """The weights of one model for another that sees images of another size: learned positions are drawn out of its.

    `former` may be a shell. What has nothing to do with size is handed on as it is, whether it fits or not.
    """
    found, before = dict(weights), dict(former.named_modules())
    for name, part in model.named_modules():
        old, table = before.get(name), f"{name}.table.weight"
        grids = [each.grid for each in (old, part) if isinstance(each, Learned) and each.grid is not None]
        if len(grids) == 2 and grids[0] != grids[1] and grids[0].extra >= grids[1].extra:
            found[table] = regrid(found[table], *grids)
    return found


A = TypeVar("A", bound=nn.Module)


def fitted(part: Part[Any], shapes: dict[str, list[int]]) -> Any:
    """The shell of a model for weights of these shapes; what they cannot fill is refused before it is built."""
    check_sizes(part, shapes)
    model = shell(part.build, 2 * len(shapes) + FEW)  # one that is shared is made twice
    fit(model, shapes)
    return model


def shell(build: Callable[[], A], tensors: int = TENSORS) -> A:
    """A model without numbers: shapes to check, and nothing drawn only to be thrown away."""
    with large(), torch.device("meta"), _Undrawn(), counted(tensors):
        return build()


class _Undrawn(TorchFunctionMode):
    """Draws nothing where there are no numbers: torch would import its compiler for it, which takes seconds."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, given: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        named = named or {}
        if function in DRAWING:
            return given[0] if given else named["tensor"]
        return function(*given, **named)


def load(model: A, weights: dict[str, Tensor], copy: bool = True) -> A:
    """The shell of a model with these weights for its own; without a copy, where nobody else has them."""
    fit(model, {name: list(tensor.shape) for name, tensor in weights.items()})
    new = {id(old): weights[name].to(old.dtype, copy=copy) for name, old in named(model).items()}
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            setattr(module, name, _parameter(new, parameter))
        for name, buffer in module.named_buffers(recurse=False):
            made = torch.empty(0, *buffer.shape[1:], dtype=buffer.dtype)  # tables that grow with use begin empty
            setattr(module, name, new.get(id(buffer), made))
    return model


def _parameter(new: dict[int, Tensor], old: nn.Parameter) -> nn.Parameter:
    """The same for every module that shares it."""
    made = new[id(old)]
    if not isinstance(made, nn.Parameter):
        made = new[id(old)] = nn.Parameter(made, old.requires_grad)
    return made
