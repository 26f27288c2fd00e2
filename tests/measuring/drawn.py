"""Small work for benchmarks."""

from regard.measuring.sizes import IdPairs, TransformerShape

SMALL = TransformerShape(layers=1, heads=2, width=16, hidden=32)


def drawn(count: int) -> IdPairs:
    """Sentences of 1 to 9 words."""
    lengths = [(1 + i % 9, 1 + i * 7 % 9) for i in range(count)]
    return IdPairs([(list(range(3, 3 + a)), list(range(3, 3 + b))) for a, b in lengths], 400, 0, 1, 2)
