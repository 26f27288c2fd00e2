"""Tables of positions: made while a model is used, then trained with, and grown by many threads at once."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from regard.model.build import build
from regard.model.positions import Positions, Rotary, Sinusoidal, Where
from regard.model.positions.sinusoidal import encode

WIDTH = 8


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "alibi"])
def test_a_model_can_be_trained_after_it_was_used(positions: str) -> None:
    decoder = {"kind": "transformer", "layers": 1, "positions": positions}
    model = build({"model": {"kind": "language_model", "width": 16, "vocab_size": 9, "decoder": decoder}})
    with torch.inference_mode():
        model(torch.zeros(1, 5, dtype=torch.long))
    model(torch.zeros(1, 5, dtype=torch.long)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def told(scheme: Positions, stop: int) -> Tensor:
    """What a scheme does to the last position before `stop`."""
    if isinstance(scheme, Rotary):
        return scheme.rotate(torch.ones(1, 1, 1, WIDTH), Where(stop - 1, stop))[0, 0]
    return scheme.embed(torch.zeros(1, 1, WIDTH), Where(stop - 1, stop))[0]


@pytest.mark.parametrize("kind", [Sinusoidal, Rotary])
def test_threads_that_share_a_model_may_grow_its_table_at_once(kind: type[Positions]) -> None:
    stops = [600, 5000, 513, 3000, 1025, 2049, 700, 1500]
    wanted = [told(kind(WIDTH), stop) for stop in stops]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(stops)) as pool:
            for _ in range(150):
                shared = kind(WIDTH)
                found = list(pool.map(lambda stop, shared=shared: told(shared, stop), stops))
                for one, other in zip(found, wanted, strict=True):
                    assert torch.equal(one, other)
    finally:
        sys.setswitchinterval(before)


class Slow(Sinusoidal):
    """Another thread puts a shorter table there just after this one put its own."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "table" and isinstance(value, Tensor) and len(value) > 2000:
            super().__setattr__(name, encode(torch.arange(600), WIDTH))


def test_a_shorter_table_from_another_thread_is_not_read_unchecked() -> None:
    torch.testing.assert_close(told(Slow(WIDTH), 3000), told(Sinusoidal(WIDTH), 3000))


def test_a_table_grows_by_doubling() -> None:
    scheme = Sinusoidal(WIDTH)
    sizes = [len(scheme.table)]
    for stop in range(1, 2100):
        told(scheme, stop)
        if len(scheme.table) != sizes[-1]:
            sizes.append(len(scheme.table))
    assert sizes == [0, 512, 1024, 2048, 4096]
