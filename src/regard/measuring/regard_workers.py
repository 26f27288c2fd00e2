"""Regard's own workers: what `regard bench` lets take turns, and what others are put beside."""

from collections.abc import Callable
from typing import Any

from regard.measuring.sizes import DecodingWork, GptShape, IdPairs, TrainingWork, TransformerShape
from regard.measuring.workers import ProcessWorker, Worker

SIDE = 2048  # of the matrices whose product shows the machine's mood


def training_workers(pairs: IdPairs, shape: TransformerShape, work: TrainingWork) -> list[Worker]:
    """A translator that trains, in real tokens."""
    from regard.measuring.works import training_step_work

    return [ProcessWorker("regard", training_step_work, (pairs, shape, work))]


def decoding_workers(pairs: IdPairs, train: IdPairs, shape: TransformerShape, work: DecodingWork) -> list[Worker]:
    """A translator that decodes, in float32, in int8, and in int8 with a shortlist learnt from `train`."""
    from regard.measuring.works import decoding_work

    given = (pairs, shape, work)
    return [
        ProcessWorker("regard", decoding_work, given),
        ProcessWorker("regard int8", decoding_work, (*given, True)),
        ProcessWorker("regard int8 + shortlist", decoding_work, (*given, True, train)),
    ]


def gpt_workers(shape: GptShape) -> list[Worker]:
    """A GPT that trains."""
    from regard.measuring.works import gpt_step_work

    return [ProcessWorker("regard", gpt_step_work, (shape,))]


def product_worker() -> Worker:
    """A matrix product, taken in the same rounds: how fast the machine was meanwhile."""
    return ProcessWorker("matrix product", product_work)


def product_work() -> Callable[[], Any]:
    """Two square matrices, multiplied."""
    import torch

    one, other = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
    return lambda: one @ other


def gflops(seconds: float) -> float:
    """How fast the matrix product ran that took so long."""
    return 2 * SIDE**3 / seconds / 1e9
