"""Which weight of a file goes where in Regard's model: names and shapes first, numbers when all of them fit.

Regard holds keys and values in one matrix, and a gate with what it lets pass; a file holds them apart, or holds more
than one thing together. So a weight of a file has uses, each a part of one of Regard's own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import torch
from torch import Tensor

from regard.allocator import memory_here
from regard.errors import InputError
from regard.listener import Listener

Shape = tuple[int, ...]
Turn = Callable[[Tensor], Tensor]
At = tuple[int | slice, ...]


def same(tensor: Tensor) -> Tensor:
    """As it stands."""
    return tensor


def cut(rows: slice, turn: Turn = same) -> Turn:
    """Some rows of what is left after turning."""
    return lambda tensor: turn(tensor)[rows]


def pairs(head_width: int) -> Turn:
    """Most files turn number i of a head with number i + K/2; Regard turns neighbours with each other."""
    half = head_width // 2
    return lambda tensor: tensor.unflatten(0, (-1, 2, half)).transpose(1, 2).flatten(0, 2)


def transposed(tensor: Tensor) -> Tensor:
    """GPT-2 writes its matrices the other way round."""
    return tensor.T


@dataclass(frozen=True)
class Use:
    """Where in Regard's model the numbers stand, and how they are turned before."""

    target: str
    at: At
    turn: Turn
    added: bool = False


@dataclass(frozen=True)
class Plan:
    """The weights that a file must hold, by their names in it: their shapes and their uses."""

    shapes: dict[str, Shape] = field(default_factory=dict)
    uses: dict[str, list[Use]] = field(default_factory=dict)
    blanks: set[str] = field(default_factory=set)

    def put(
        self,
        source: str,
        shape: Sequence[int],
        target: str,
        *at: int | slice,
        turn: Turn = same,
        added: bool = False,
    ) -> None:
        """One more use of a weight of the file; what is `added` has others below it."""
        self.shapes[source] = tuple(shape)
        self.uses.setdefault(source, []).append(Use(target, at or (slice(None),), turn, added))

    def blank(self, target: str) -> None:
        """A weight of Regard's, or some of it, that no file has: zeros, which change no answer."""
        self.blanks.add(target)

    def check(self, found: Mapping[str, Sequence[int]], named: str) -> None:
        """Refuse a file whose weights are not those that its config asks for."""
        for name, shape in self.shapes.items():
            if name not in found:
                raise InputError(f"{named}: {name[:100]} is missing, which its config asks for")
            if tuple(found[name]) != shape:
                given, wanted = _shown(found[name]), _shown(shape)
                raise InputError(f"{named}: {name[:100]} is {given}, and its config asks for {wanted}")
        for name in found:
            if name not in self.shapes:
                raise InputError(f"{named}: {name[:100]} is a weight that its config does not ask for")

    def fill(
        self, shapes: Mapping[str, Sequence[int]], read: Callable[[str], Tensor], named: str, listener: Listener
    ) -> dict[str, Tensor]:
        """Regard's weights in float32, with one of the file's at a time beside them."""
        needed, here = 4 * sum(map(prod, shapes.values())), memory_here()
        if needed > here:
            raise InputError(
                f"{named}: its weights take {needed / 2**30:.1f} GiB in float32, and there are {here / 2**30:.1f}"
            )
        made = {target: torch.zeros(tuple(shapes[target])) for target in self.blanks}
        for done, (source, uses) in enumerate(self.uses.items()):
            listener.at("reading the weights", done, len(self.uses))
            tensor = read(source)
            if not all(each.float().isfinite() for each in torch.aminmax(tensor)):
                raise InputError(
                    f"{named}: {source[:100]} holds what is no number in float32 (NaN, infinite or too large)"
                )
            for use in uses:
                if use.target not in made:
                    made[use.target] = torch.empty(tuple(shapes[use.target]))
                place = made[use.target][use.at]
                place.add_(use.turn(tensor)) if use.added else place.copy_(use.turn(tensor))
        return {name: made[name] for name in shapes}


def _shown(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "one number"
