"""A list of modules of one kind, known as such to the type checker."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, cast

from torch import nn

M = TypeVar("M", bound=nn.Module)


class Series(nn.Module, Generic[M]):
    """Modules one after another, by number."""

    def __init__(self, modules: Iterable[M]) -> None:
        super().__init__()
        for number, module in enumerate(modules):
            self.add_module(str(number), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[M]:
        return cast(Iterator[M], iter(self._modules.values()))

    def __getitem__(self, number: int) -> M:
        return cast(M, self._modules[str(number % len(self))])
