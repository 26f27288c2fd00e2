"""What a run keeps of the images it learnt from: how pixels are made ready for the model."""

import json
from dataclasses import asdict, dataclass

from regard.datasets.images.fit import Fit
from regard.disk import parse_json
from regard.tasks.images.facts import ImageFacts, pixelwise
from regard.tasks.task import Kept

FILE = "restoration.json"


@dataclass(frozen=True)
class Facts(ImageFacts):
    """What there is to know of pixels, and nothing more: what images show is not asked."""

    shape: tuple[int, int]
    channels: int
    fit: Fit
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def open(cls, kept: Kept) -> "Facts":
        """From the files of a run."""
        return cls(*pixelwise(parse_json(kept.get(FILE, b""), FILE), FILE))

    def file(self) -> bytes:
        """What `open` reads."""
        return json.dumps(asdict(self)).encode()
