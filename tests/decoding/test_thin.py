"""A step is thin: no mask and no table is made anew for it, and its operations do not grow with what was read."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from regard.model.build import build

MADE = {"arange", "cat", "pow", "ones", "ones_like", "full", "masked_fill", "polar", "sin", "outer", "tril", "stack"}


class Operations(TorchDispatchMode):
    """How often each operation was called."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "alibi"])
@pytest.mark.parametrize("pattern", [{"kind": "causal"}, {"kind": "window", "width": 8}], ids=["causal", "window"])
def test_nothing_is_made_anew_for_a_step(positions: str, pattern: dict[str, Any]) -> None:
    decoder = {"kind": "transformer", "layers": 2, "positions": positions, "pattern": pattern, "mlp": "gelu"}
    model = build({"model": {"kind": "language_model", "vocab_size": 11, "width": 16, "decoder": decoder}}).eval()
    token, seen = torch.zeros(1, 1, dtype=torch.long), list[Counter[str]]()
    with torch.inference_mode():
        memory = model.start(rows=1)
        model.step(token.expand(1, 20), memory)
        for place in range(70):
            with Operations() as operations:
                model.step(token, memory)
            if place in (9, 69):  # past what buffers had to grow
                seen.append(operations.counts)
    assert not MADE & set(seen[0])
    assert seen[0] == seen[1]
    assert seen[0]["linear"] == 2 * 5  # queries, keys with values, the output, and two of the MLP
