"""Every attention × pattern × kernel × positions, in an encoder and in a decoder, built or refused."""

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from regard.model.menu import MENU

from .small import Case, choices, parts_inside, small

STACKS = {"encoder": "seq2seq", "decoder": "language_model"}


@dataclass(frozen=True)
class Pair(Case):
    """One combination in a Transformer stack."""

    stack: str = ""
    attention: str = ""
    pattern: str = ""
    kernel: str = ""
    positions: str = ""
    inside: str = ""


def kernels(attention: str) -> tuple[str, ...]:
    """The kernels an attention can be computed by; one without a name if there is no choice."""
    return choices("attention", attention, "kernel") or ("",)


def pair(stack: str, attention: str, pattern: str, kernel: str, positions: str, inside: str = "", **parts: Any) -> Pair:
    table: dict[str, Any] = small(
        stack,
        "transformer",
        attention=small("attention", attention, **parts, **({"kernel": kernel} if kernel else {})),
        pattern=small("pattern", pattern),
        positions=small("positions", positions),
    )
    name = "-".join(word for word in (stack, attention, pattern, kernel, positions, inside) if word)
    model = small("model", STACKS[stack], **{stack: table})
    return Pair(name, model, stack, attention, pattern, kernel, positions, inside)


PAIRS = [
    pair(stack, attention, pattern, kernel, positions)
    for stack in STACKS
    for attention in MENU["attention"].parts
    for pattern, kernel, positions in product(MENU["pattern"].parts, kernels(attention), MENU["positions"].parts)
]

INSIDE = [
    pair(stack, attention, pattern, kernel, "none", within, **parts)
    for stack in STACKS
    for attention in MENU["attention"].parts
    for within, parts in parts_inside("attention", attention)
    for pattern, kernel in product(("full", "causal"), kernels(attention))
]
"""Every attention with its own parts changed: in the plainest surroundings."""


def of(stack: str) -> list[Pair]:
    return [found for found in [*PAIRS, *INSIDE] if found.stack == stack]


def covering(stack: str) -> list[Pair]:
    """Enough of them that any two choices stand together in one, for contracts in which three do not interact."""
    chosen, missing = [], {two for one in of(stack) for two in _twos(one)}
    for one in of(stack):
        if not missing.isdisjoint(_twos(one)) and one.refusal() is None:
            chosen.append(one)
            missing -= _twos(one)
    return chosen


def _twos(one: Pair) -> set[tuple[str, str]]:
    """The choices of two axes that stand together in it; how an attention is computed belongs to the attention."""
    axes = (f"{one.attention} {one.kernel} {one.inside}", f"pattern {one.pattern}", f"positions {one.positions}")
    return set(combinations(axes, 2))
