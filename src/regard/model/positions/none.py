"""No positions."""

from regard.model.positions.positions import Positions


class Nowhere(Positions):
    """Nothing is said: without a causal mask the words are a bag [N0:131, N2:846-848]."""

    moment = "never"

    def __init__(self, width: int) -> None:
        super().__init__()
