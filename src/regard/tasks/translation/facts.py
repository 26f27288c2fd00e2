"""What a run keeps of the data it learnt from, beside the vocabulary."""

import json
from dataclasses import asdict, dataclass

from regard.datasets.sentences import NEARLY_ALL
from regard.disk import parse_json
from regard.errors import InputError
from regard.tasks.task import Kept

FILE = "translation.json"
LONGEST = 2**20  # tokens that a line can have


@dataclass(frozen=True)
class Facts:
    """Tokens of the longest training source, the share of sources that were one sentence, and both languages."""

    longest: int
    single: float
    source: str = ""
    target: str = ""

    @classmethod
    def open(cls, kept: Kept, assumed: float) -> "Facts":
        """From the files of a run. Those of before the sentences were counted are taken to have so many single ones."""
        table = parse_json(kept.get(FILE, b""), FILE)
        longest, single = table.get("longest"), table.get("single", assumed)
        if type(longest) is not int or not 1 <= longest <= LONGEST:
            raise InputError(f"{FILE}: damaged: no length of the longest source in it")
        if type(single) not in (int, float) or not 0 <= single <= 1:
            raise InputError(f"{FILE}: damaged: {single!r} is no share of its sources")
        return cls(longest, float(single), *(str(table.get(side, "")) for side in ("source", "target")))

    def file(self) -> bytes:
        """What `open` reads."""
        return json.dumps(asdict(self)).encode()

    @property
    def sentences(self) -> bool:
        """Whether nearly all sources were one sentence, so that texts of several must be split."""
        return self.single >= NEARLY_ALL

    @property
    def note(self) -> str:
        """What was found, for people."""
        if self.sentences:
            return f"{100 * self.single:.3g} % of sources are one sentence"
        return f"{100 - 100 * self.single:.3g} % of sources have several sentences, so texts are not split"
