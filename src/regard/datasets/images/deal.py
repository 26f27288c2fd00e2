"""Images dealt to splits: equal ones stay together, and every class gives its share."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from regard.datasets.data import SPLITS, Split, dice
from regard.datasets.images.album import Album
from regard.datasets.images.sources import Entry

NO_CLASS, NO_LABEL, OTHER = "in no class folder", "without a label", "in no folder of a split"
HELD, OVER = "held out", "over data.limit"

Fate = tuple[Entry, str]
"""An image, and why it is left out, if it is."""


class Dealer:
    """Says which split has which images, and of all others why not.

    `named` has what users have named for each split, and `keys` where. A split for which nothing is named has what
    folders of its name hold beside those of train, or else a share that is held out of train.
    """

    def __init__(
        self,
        album: Callable[[Split], Album],
        named: Mapping[Split, Sequence[str]],
        keys: Mapping[Split, str],
        shares: tuple[float, float],
        limit: int,
        seed: int,
    ) -> None:
        self._album, self._named, self._keys = album, named, keys
        self._shares, self._limit, self._seed = shares, limit, seed
        self._owned: dict[Split, list[Entry]] = {}
        self._fates: dict[Split, list[Fate]] = {}

    def fates(self, split: Split) -> list[Fate]:
        """What becomes of every image that a split might have."""
        if split not in self._fates:
            self._fates[split] = list(self._held(split) if self.is_held_out(split) else self._decided(split))
        return self._fates[split]

    def kept(self, split: Split) -> list[Entry]:
        """Those that a split has, as far as they can be read."""
        return [entry for entry, why in self.fates(split) if not why]

    def is_held_out(self, split: Split) -> bool:
        """Whether a split has no images of its own, neither named nor in a folder of its name."""
        return split != "train" and not self._named[split] and not self._own(split)

    def is_harmless(self, why: str) -> bool:
        """Whether nothing is wrong with an image that is left out for this reason."""
        return why in (NO_CLASS, NO_LABEL, OTHER, OVER, *self._also)

    @cached_property
    def _also(self) -> dict[str, Split]:
        """Why images are left out that other splits have."""
        return {f"also in {self._keys[split] if self._named[split] else split}": split for split in SPLITS[1:]}

    def _held(self, split: Split) -> Iterator[Fate]:
        return ((entry, "") for entry in self._alone("train") if self._held_out.get(entry.digest) == split)

    def _decided(self, split: Split) -> Iterator[Fate]:
        elsewhere = {why: self._digests(other) for why, other in self._also.items() if self._before(split, other)}
        held = self._held_out if split == "train" else {}
        left = [entry for entry in self._alone(split) if entry.digest not in held]
        limited = split == "train" and 0 < self._limit < len(left)
        chosen = fewer(left, self._limit, self._seed) if limited else set[int]()
        for entry in self._own(split):
            why = self._fault(split, entry)
            why = why or next((why for why, digests in elsewhere.items() if entry.digest in digests), "")
            why = why or (HELD if entry.digest in held else "")
            yield entry, why or (OVER if limited and entry.number not in chosen else "")

    def _fault(self, split: Split, entry: Entry) -> str:
        if entry.bad or _is_good(entry):
            return entry.bad
        if entry.split == "other":
            return OTHER
        return NO_LABEL if self._album(split).source(entry).is_table else NO_CLASS

    def _alone(self, split: Split) -> list[Entry]:
        """Those that can be read and that no split behind this one has."""
        elsewhere = set[bytes]().union(*(self._digests(other) for other in SPLITS[1:] if self._before(split, other)))
        return [entry for entry in self._own(split) if _is_good(entry) and entry.digest not in elsewhere]

    def _before(self, split: Split, other: Split) -> bool:
        """Whether what `other` has must not be in `split`."""
        return SPLITS.index(split) < SPLITS.index(other) and not self.is_held_out(other)

    def _digests(self, split: Split) -> set[bytes]:
        return {entry.digest for entry in self._own(split) if _is_good(entry)}

    @cached_property
    def _held_out(self) -> dict[bytes, Split]:
        """What is held out of the training images, by content."""
        both = zip(SPLITS[1:], self._shares, strict=True)
        valid, test = (share if self.is_held_out(split) else 0.0 for split, share in both)
        return held_out(self._alone("train"), (valid, test), self._seed) if valid or test else {}

    def _own(self, split: Split) -> list[Entry]:
        """All that is said to belong to a split; of what no folder says that, all is of the split that was named."""
        if split not in self._owned:
            here = (split, "", "other") if self._named[split] or split == "train" else (split,)
            self._owned[split] = [entry for entry in self._album(split).entries if entry.split in here]
        return self._owned[split]


def _is_good(entry: Entry) -> bool:
    return bool(entry.label) and not entry.bad and entry.split != "other"


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
