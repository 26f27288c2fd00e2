"""What a recipe may say about decoding."""

from regard.decoding.beam import Beam
from regard.decoding.sample import Greedy, Sample
from regard.decoding.search import Search
from regard.recipe import Slot

SLOTS = (
    Slot("decoding", Search, "how to choose the next token", {
        "beam": Beam,
        "greedy": Greedy,
        "sample": Sample,
    }, default="beam"),
)  # fmt: skip
