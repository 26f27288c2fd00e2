"""The stable calls of `regard.bench.works`, made of what commit 72bda86 had instead."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Work = Callable[[], int]


@dataclass(frozen=True)
class IdPairs:
    """The same fields as today's; that tree called them otherwise."""

    pairs: list[tuple[list[int], list[int]]]
    vocab_size: int
    pad: int
    bos: int
    eos: int


@dataclass(frozen=True)
class GptShape:
    """The same fields as today's."""

    layers: int
    heads: int
    width: int
    length: int
    batch: int
    vocab_size: int


_peers: Any = import_module("regard.bench.peers")
TransformerShape, TrainingWork, DecodingWork = _peers.Shape, _peers.Training, _peers.Decoding


def training_step_work(pairs: IdPairs, shape: Any, work: Any) -> Work:
    """Whole training steps of a translator."""
    made: Work = import_module("regard.bench.translation").prepare_regard_training(_corpus(pairs), shape, work)
    return made


def decoding_work(
    pairs: IdPairs, shape: Any, work: Any, int8: bool = False, shortlist_from: IdPairs | None = None
) -> Work:
    """All sources translated with random weights."""
    table = None if shortlist_from is None else _corpus(shortlist_from)
    made: Work = import_module("regard.bench.translation").prepare_regard_decoding(
        _corpus(pairs), shape, work, int8, table
    )
    return made


def gpt_step_work(shape: GptShape) -> Work:
    """One training step of a GPT."""
    bench: Any = import_module("regard.bench.gpt")
    sizes = (shape.layers, shape.heads, shape.width, shape.length, shape.batch, shape.vocab_size)
    step = bench.regard_step(bench.Size(*sizes))

    def turn() -> int:
        step()
        return shape.batch * shape.length

    return turn


def _corpus(pairs: IdPairs) -> Any:
    return _peers.Corpus(pairs.pairs, pairs.vocab_size, pairs.pad, pairs.bos, pairs.eos)
