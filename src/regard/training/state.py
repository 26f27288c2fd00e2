"""What a saved state of training must be like before any of it is used: a fused step trusts every shape it is given."""

from collections.abc import Mapping

from torch import Tensor

from regard.errors import InputError

OPTIMIZER, WEIGHTS, CARRIED = "optimizer/", "weights/", "carried/"


def check_state(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse names, shapes and types that this training would not have saved, and states that are not whole.

    A parameter that never had a gradient has no state yet; one that had has all of it.
    """
    for name, tensor in given.items():
        if name not in wanted:
            raise InputError(f"damaged: {name!r} belongs to nothing here")
        like = wanted[name]
        if tensor.shape != like.shape or tensor.dtype != like.dtype:
            raise InputError(
                f"damaged: {name} is {_shown(tensor)}, and must be {_shown(like)}",
            )
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"damaged: there is no number any more in {name}")
    parts = [part for part in (WEIGHTS, CARRIED) if part == WEIGHTS or any(name.startswith(part) for name in given)]
    begun = {name.rpartition("/")[0] for name in given if name.startswith(OPTIMIZER)}
    missing = [
        name
        for name in wanted
        if name not in given and (name.startswith(tuple(parts)) or name.rpartition("/")[0] in begun)
    ]
    if missing:
        raise InputError(f"damaged: {missing[0]} is missing")


def _shown(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
