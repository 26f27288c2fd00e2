"""Steps that nobody wants to wait for are left in the middle, as if they had not begun."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from regard.training.optimizer import parameters


class LeftError(Exception):
    """Somebody wanted a step to end before its time; nothing was learnt from it."""


class Exits:
    """The ways out of a step: before every part of the model that is called, and wherever a gradient is done.

    Parts that are compiled are asked on the way back only: a question in the middle would cut them in pieces.
    """

    def __init__(self, model: nn.Module, compiled: bool) -> None:
        self._wanted: Callable[[], bool] | None = None
        parts = [] if compiled else [part for part in model.modules() if any(True for _ in part.parameters(False))]
        self._hooks = [
            *(part.register_forward_pre_hook(self._ask) for part in parts),
            *(parameter.register_post_accumulate_grad_hook(self._ask) for parameter in parameters(model)),
        ]

    def _ask(self, *_: Any) -> None:
        if self._wanted is not None and self._wanted():
            raise LeftError

    @contextmanager
    def heed(self, wanted: Callable[[], bool]) -> Iterator[None]:
        """Until this ends, a yes leaves the step."""
        self._wanted = wanted
        try:
            yield
        finally:
            self._wanted = None

    def close(self) -> None:
        """Nobody asks any more."""
        for hook in self._hooks:
            hook.remove()
