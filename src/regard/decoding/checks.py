"""What may be asked of a search, and what fits into memory: said in a sentence before anything is written."""

from collections.abc import Collection
from math import inf, isfinite

from regard.allocator import memory_here
from regard.errors import InputError

MOST_HYPOTHESES = 4096  # of one text; beams over 50 seldom find anything better
LARGEST = 2**63 - 1  # what a tensor can count to
COPIES = 4  # of the scores of all words that a step holds: logits, log p, the best blocks, sums
SHARE = 2  # a half of the memory may be taken
LITTLE = 2**25  # bytes that there is room for anywhere: nobody looks


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number within its range, or a ValueError that names it."""
    top = LARGEST if most is None else most
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= top:
        low = most is None and not (isinstance(value, int) and value > top)
        wanted = f"of at least {least}" if low else f"from {least} to {top:,}"
        raise ValueError(f"{name}: wanted a whole number {wanted}, given {value!r}")
    return value


def finite(name: str, value: object, above: float | None = None, most: float | None = None) -> float:
    """A number that is one and lies within its range, or a ValueError that names it."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    low, high = -inf if above is None else above, inf if most is None else most
    if not isinstance(value, int | float) or not good or not low < value <= high:
        wanted = ("" if above is None else f" above {above:g}") + ("" if most is None else f", at most {most:g}")
        raise ValueError(f"{name}: wanted a number{wanted}, given {value!r}")
    return value


def within(name: str, value: object, most: float, least: float | None = None) -> float:
    """A number from `least` to `most`, or no further from zero than that, or a ValueError that names it."""
    low = -most if least is None else least
    if not low <= finite(name, value) <= most:
        raise ValueError(f"{name}: wanted a number from {low:g} to {most:g}, given {value!r}")
    return finite(name, value)


def check_room(hypotheses: int, vocabulary: int, batches: int = 1) -> None:
    """Refuse a beam whose scores alone would fill the memory."""
    each = COPIES * 4 * vocabulary * batches
    if hypotheses * each <= LITTLE:
        return
    most = memory_here() // SHARE
    if hypotheses * each > most:
        raise InputError(
            f"decoding.beam_size: {hypotheses:,} hypotheses over {vocabulary:,} words take "
            f"{hypotheses * each / 2**30:,.1f} GiB, and half of the memory here is {most / 2**30:,.1f} GiB; "
            f"at most {max(1, most // each):,} fit"
        )


def check_held(held: int, hypotheses: int) -> None:
    """Refuse to go on before what a wide beam remembers fills the memory."""
    most = memory_here() // SHARE
    if held > most:
        raise InputError(
            f"decoding.beam_size: what {hypotheses:,} hypotheses have read and written takes {held / 2**30:,.1f} GiB, "
            f"more than half of the memory here; choose a smaller beam"
        )


def check_tokens(name: str, tokens: Collection[int], size: int) -> None:
    """Refuse ids that no token of a vocabulary has."""
    if not len(tokens):
        return
    for token in (min(tokens), max(tokens)):
        if not 0 <= token < size:
            raise InputError(f"{name}: there is no token {token}; ids go from 0 to {size - 1:,}")
