"""What a recipe may say about data and tokens."""

from regard.data.dates import Dates
from regard.data.files import Files
from regard.data.numbers import Numbers
from regard.data.pairs import Pairs
from regard.data.phrases import Phrases
from regard.data.tokens import Bpe, Characters, Cutter, Unigram, Words
from regard.data.toys import Toys
from regard.recipe import Slot

SLOTS = (
    Slot(
        "data",
        Pairs,
        "What to learn from",
        {"files": Files, "numbers": Numbers, "dates": Dates, "phrases": Phrases, "toy": Toys},
        default="files",
    ),
    Slot(
        "tokens",
        Cutter,
        "How text is cut",
        {"bpe": Bpe, "unigram": Unigram, "words": Words, "characters": Characters},
        default="bpe",
    ),
)
