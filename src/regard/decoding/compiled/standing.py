"""A model as it stood when tables were made of it: whether it has the same parts and weights still, and no hook."""

from itertools import chain
from operator import is_

from torch import Tensor, nn


class Standing:
    """Asked at the beginning of texts, so it takes no longer than a step. In their midst nobody changes a model.

    Of weights made in inference mode nobody knows how often they were changed; then it is not `certain`.
    """

    def __init__(self, model: nn.Module) -> None:
        parts = list(model.modules())
        every = (held for part in parts for held in (part._modules, part._parameters, part._buffers))
        self._held = [held for held in every if held]
        self._hooks = [hooks for part in parts for hooks in (part._forward_hooks, part._forward_pre_hooks)]
        self._were = self._now()
        self._weights = list({id(each): each for each in self._were if isinstance(each, Tensor)}.values())
        self.certain = not any(each.is_inference() for each in self._weights)
        self._stood = self._addresses(), self._changes()

    @property
    def holds(self) -> bool:
        """Whether all is as it was."""
        now = self._now()
        alike = len(now) == len(self._were) and all(map(is_, now, self._were)) and not any(self._hooks)
        return alike and (self._addresses(), self._changes()) == self._stood

    def _now(self) -> "list[nn.Module | Tensor | None]":
        return [*chain.from_iterable(held.values() for held in self._held)]

    def _addresses(self) -> list[int]:
        return [each.data_ptr() for each in self._weights]

    def _changes(self) -> list[int]:
        return [each._version for each in self._weights] if self.certain else []
