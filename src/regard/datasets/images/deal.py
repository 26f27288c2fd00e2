"""Images dealt to splits: equal ones stay together, and every class gives its share."""

from collections import defaultdict
from collections.abc import Sequence

from regard.datasets.data import Split, dice
from regard.datasets.images.sources import Entry


def held_out(entries: Sequence[Entry], shares: tuple[float, float], seed: int) -> dict[bytes, Split]:
    """Which contents validation and test get of these; of every class about its share, but never all of it.

    Chosen by chance that depends on the contents alone; equal ones are one, and count for the class that has it first.
    """
    classes = _by_class(entries, seed)
    found: dict[bytes, Split] = {}
    for chosen in classes.values():
        valid, test = (int(share * len(chosen) + 0.5) for share in shares)
        spare = len(chosen) - 1
        found |= dict.fromkeys(chosen[: min(valid, spare)], "valid")
        found |= dict.fromkeys(chosen[min(valid, spare) : min(valid + test, spare)], "test")
    return found


def fewer(entries: Sequence[Entry], limit: int, seed: int) -> set[int]:
    """The numbers of so many entries, each class in proportion. A smaller limit gives some of those of a larger."""
    classes: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for entry in entries:
        classes[entry.label].append((dice(seed, "limit", entry.digest.hex(), str(entry.number)), entry.number))
    ranked = [
        ((place + 0.5) / len(drawn), label, number)
        for label, drawn in classes.items()
        for place, (_, number) in enumerate(sorted(drawn))
    ]
    return {number for _, _, number in sorted(ranked)[:limit]}


def _by_class(entries: Sequence[Entry], seed: int) -> dict[str, list[bytes]]:
    """The different contents of each class, in an order of chance."""
    first: dict[bytes, str] = {}
    for entry in entries:
        first.setdefault(entry.digest, entry.label)
    classes: dict[str, list[bytes]] = defaultdict(list)
    for digest, label in first.items():
        classes[label].append(digest)
    return {
        label: sorted(digests, key=lambda digest: dice(seed, digest.hex()))
        for label, digests in sorted(classes.items())
    }
