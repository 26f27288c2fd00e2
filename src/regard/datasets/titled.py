"""Texts that have names and belong together: a share of them is held out whole."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any

from annotated_doc import Doc

from regard.datasets.data import Report, Split, dice
from regard.datasets.documents import Documents, Text, pieces
from regard.recipe import Number, Share


class Titled(Documents):
    """Texts by name, dealt to the splits by their names alone."""

    more_held_out = "raise data.valid_share"
    more_tested = "data.test_share holds some out"
    unit = "text"

    def __init__(
        self,
        *,
        valid_share: Annotated[Share, Doc("The share of texts that is held out for validation.")] = 0.05,
        test_share: Annotated[Share, Doc("The share of texts that is held out for the test.")] = 0.05,
        seed: Annotated[Number, Doc("Which texts are held out: another number holds out others.")] = 1,
    ) -> None:
        if valid_share + test_share >= 1:
            raise ValueError("valid_share and test_share leave nothing to train on")
        self.shares, self.seed = (valid_share, test_share), seed

    @abstractmethod
    def texts(self) -> dict[str, str]:
        """All of them, by name."""

    def read(self, split: Split) -> Iterator[Text]:
        return (piece for _, piece in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Text]]:
        report.unit = self.unit
        for number, (name, text) in enumerate(sorted(self.texts().items()), 1):
            if self.side(name) == split:
                report.keep()
                yield from ((number, (piece,)) for piece in pieces([text]))

    def side(self, name: str) -> Split:
        """The split that a text belongs to."""
        valid, test = self.shares
        drawn = dice(self.seed, name)
        return "valid" if drawn < valid else "test" if drawn < valid + test else "train"

    def identity(self) -> list[Any]:
        return [sorted(self.texts().items()), self.shares, self.seed]
