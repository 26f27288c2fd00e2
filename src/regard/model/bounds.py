"""How large a model may be before any of it is made: numbers that no model has are refused, and so are those that the
weights at hand cannot fill.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any

from torch.nn.modules import module as hooks

from regard.errors import RecipeError
from regard.recipe.part import Part

MOST = 2**24  # of anything a recipe counts: layers, width, words
TENSORS = 5_000  # of a model
MODULES = 8  # for every tensor: some have none
SMALL = 2**16  # what may always be said: a window, a limit


def check_sizes(part: Part[Any], shapes: Mapping[str, Sequence[int]] | None = None) -> None:
    """Refuse numbers that no model has. With the shapes of its weights: more of anything than there are weights."""
    weights = None if shapes is None else sum(prod(shape) for shape in shapes.values())
    most = MOST if weights is None else min(MOST, max(weights, SMALL))
    for place, value in _numbers(part, part._place or "model"):
        if abs(value) > most:
            known = "is the most" if weights is None else f"is the most for weights of {weights:,} numbers"
            raise RecipeError(f"{place}: given {_shown(value)}, and {most:,} {known}")


@contextmanager
def large() -> Iterator[None]:
    """What is larger than a number of bytes can be is said in a sentence."""
    try:
        yield
    except (OverflowError, RuntimeError, TypeError) as error:
        if "overflow" not in str(error).lower() and not isinstance(error, OverflowError):
            raise
        raise RecipeError("model: larger than any memory; make it smaller: width, layers, hidden") from error


@contextmanager
def counted(most: int = TENSORS) -> Iterator[None]:
    """While a model is built: refuse more tensors than it can have, whatever makes them."""
    left = [most, MODULES * most]

    def spend(which: int, *_: object) -> None:
        left[which] -= 1
        if left[which] < 0:
            raise RecipeError(f"model: of more than {most:,} tensors; make it smaller: layers")

    held = [
        hooks.register_module_parameter_registration_hook(partial(spend, 0)),
        hooks.register_module_module_registration_hook(partial(spend, 1)),
    ]
    try:
        yield
    finally:
        for one in held:
            one.remove()


def _numbers(part: Part[Any], place: str) -> Iterator[tuple[str, int]]:
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, Part):
            yield from _numbers(value, f"{place}.{name}")
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, int) and not isinstance(one, bool):
                yield f"{place}.{name}", one


def _shown(value: int) -> str:
    return f"{value:,}" if value.bit_length() < 100 else "a number of many digits"
