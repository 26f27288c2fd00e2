"""torch's list of modules, known to the type checker by the kind of its members."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, cast

from torch import nn

M = TypeVar("M", bound=nn.Module)


class ModuleList(nn.ModuleList, Generic[M]):
    """Modules of one kind, by number."""

    def __init__(self, modules: Iterable[M]) -> None:
        super().__init__(modules)

    def __iter__(self) -> Iterator[M]:
        return cast(Iterator[M], super().__iter__())

    def __getitem__(self, number: int) -> M:  # type: ignore[override]
        return cast(M, super().__getitem__(number))
