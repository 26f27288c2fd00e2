"""Python's own help, which is on every machine that has Python: a little English prose to learn from."""

import sys
from collections.abc import Iterator
from typing import Annotated, Any

from annotated_doc import Doc

from regard.datasets.data import Report, Split, dice
from regard.datasets.documents import Documents, Text, pieces
from regard.recipe import Number, Share


class Pydoc(Documents):
    """The help topics of this Python, some 450,000 characters of English; other versions of Python have other words."""

    more_held_out = "raise data.valid_share"
    more_tested = "data.test_share holds some out"

    def __init__(
        self,
        *,
        valid_share: Annotated[Share, Doc("The share of topics that is held out for validation.")] = 0.05,
        test_share: Annotated[Share, Doc("The share of topics that is held out for the test.")] = 0.05,
        seed: Annotated[Number, Doc("Which topics are held out: another number holds out others.")] = 1,
    ) -> None:
        if valid_share + test_share >= 1:
            raise ValueError("valid_share and test_share leave nothing to train on")
        self.shares, self.seed = (valid_share, test_share), seed

    def read(self, split: Split) -> Iterator[Text]:
        return (piece for _, piece in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Text]]:
        report.unit = "topic"
        for number, (name, text) in enumerate(sorted(_topics().items()), 1):
            if self._side(name) == split:
                report.keep()
                yield from ((number, (piece,)) for piece in pieces([text]))

    def _side(self, name: str) -> Split:
        valid, test = self.shares
        drawn = dice(self.seed, name)
        return "valid" if drawn < valid else "test" if drawn < valid + test else "train"

    def identity(self) -> list[Any]:
        return [sorted(_topics().items()), self.shares, self.seed]

    def called(self, split: Split) -> str:
        return f"the help topics of Python {sys.version_info.major}.{sys.version_info.minor}"


def _topics() -> dict[str, str]:
    from pydoc_data.topics import topics

    return {name: text.strip() + "\n" for name, text in topics.items() if text.strip()}
