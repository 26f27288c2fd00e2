"""What a decoder keeps between steps: one entry a layer, passed as an argument.

The decoding engine treats every decoder alike: whatever it keeps can be `reorder`ed, `spread` to
several hypotheses, `join`ed by rows that begin later, brought `back` to a mark, and says how many bytes it takes.
"""

from regard.model.memory.branches import Branches
from regard.model.memory.entry import Claim, Entry, Held, Past, SourceKeysValues
from regard.model.memory.memory import Mark, Memory
from regard.model.memory.past import KeysValues
from regard.model.memory.sliding import Sliding

__all__ = ["Branches", "Claim", "Entry", "Held", "KeysValues", "Mark", "Memory", "Past", "Sliding", "SourceKeysValues"]
