"""Every attention × pattern × kernel × positions, in an encoder and in a decoder, built or refused."""

from dataclasses import dataclass
from itertools import product
from typing import Any

from regard.model.menu import MENU

from .small import Case, choices, small

STACKS = {"encoder": "seq2seq", "decoder": "language_model"}


@dataclass(frozen=True)
class Pair(Case):
    """One combination in a Transformer stack."""

    stack: str = ""
    attention: str = ""
    pattern: str = ""
    kernel: str = ""
    positions: str = ""


def kernels(attention: str) -> tuple[str, ...]:
    """The kernels an attention can be computed by; one without a name if there is no choice."""
    return choices("attention", attention, "kernel") or ("",)


def pair(stack: str, attention: str, pattern: str, kernel: str, positions: str) -> Pair:
    table: dict[str, Any] = small(
        stack,
        "transformer",
        attention=small("attention", attention, **({"kernel": kernel} if kernel else {})),
        pattern=small("pattern", pattern),
        positions=small("positions", positions),
    )
    name = "-".join(word for word in (stack, attention, pattern, kernel, positions) if word)
    return Pair(name, small("model", STACKS[stack], **{stack: table}), stack, attention, pattern, kernel, positions)


PAIRS = [
    pair(stack, attention, pattern, kernel, positions)
    for stack in STACKS
    for attention in MENU.parts["attention"]
    for pattern, kernel, positions in product(MENU.parts["pattern"], kernels(attention), MENU.parts["positions"])
]


def of(stack: str) -> list[Pair]:
    return [found for found in PAIRS if found.stack == stack]
