"""What a decoder keeps between steps: one entry a layer, passed as an argument.

Beam search, sampling and the server treat every decoder alike: whatever it keeps has a
`length`, can be `reorder`ed, and says how many bytes it takes.
"""

from regard.model.memory.branches import Branches
from regard.model.memory.entry import Entry, Held, Past
from regard.model.memory.memory import Memory
from regard.model.memory.past import KeysValues, Sliding

__all__ = ["Branches", "Entry", "Held", "KeysValues", "Memory", "Past", "Sliding"]
