"""Where sentence pairs come from: the contract of all translation data."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal

Pair = tuple[str, str]
Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


class Pairs(ABC):
    """Sentence pairs in three splits that share no equal pair."""

    source: str
    target: str

    @abstractmethod
    def read(self, split: Split) -> Iterator[Pair]:
        """The pairs of a split, always in the same order."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever what `read` gives would change."""


def digest(*facts: Any) -> str:
    """A short name for facts that JSON can hold."""
    return hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()[:16]


def held_out(pair: Pair, seed: int) -> float:
    """A number in [0, 1) that depends on nothing but the pair: equal pairs never part."""
    named = f"{seed}\t{pair[0]}\t{pair[1]}".encode()
    return int.from_bytes(hashlib.blake2b(named, digest_size=8).digest()) / 2**64
