"""What is seen while a fast kernel runs are the weights that the naive kernel mixes by, for every entry of the menu."""

import torch

from regard.model.watch import watch

from .pairs import Pair, of, pair
from .small import every, tokens, unchecked

LENGTH = 11
FAST = [one for one in (*of("decoder"), *of("encoder")) if one.kernel == "auto" and not one.inside]


@every(FAST)
def test_weights_are_those_of_the_naive_kernel(case: Pair) -> None:
    """All rows, and some of one head alone."""
    slow = pair(case.stack, case.attention, case.pattern, "naive", case.positions)
    given = tokens(1, LENGTH)
    seen = []
    for one in (case, slow):
        model = one.build()
        with watch(model) as sights, unchecked(), torch.no_grad():
            model(given) if case.stack == "decoder" else model.encode(given)
        seen.append({name: sight for name, sight in sights.items() if sight.seen})
    assert list(seen[0]) == list(seen[1])
    for name, sight in seen[0].items():
        wanted, found = seen[1][name].weights, sight.weights
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
        assert torch.equal(found == 0, wanted == 0)  # what is masked, and nothing else
        torch.testing.assert_close(found.sum(-1), torch.ones(found.shape[:-1]))
        last = found.shape[1] - 1
        torch.testing.assert_close(sight.rows(2, 7, head=last), wanted[:, last:, 2:7], rtol=0, atol=1e-5)
        assert max(glance.mismatch(slice(None)) for glance in sight.glances) < 1e-4
