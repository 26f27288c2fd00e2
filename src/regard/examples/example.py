"""What an example is: a sentence of the notes, a model to ask, and a reading of its numbers."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from regard.examples.runs import Runs
from regard.looking.look import Look

Verdict = Literal["supported", "supported in part", "corrected", "set by hand"]
"""What the numbers make of the notes' sentence; numbers that were set by hand say nothing for it or against it."""


@dataclass(frozen=True)
class Reading:
    """What a model did: the look that is shown, what its numbers say of the notes, and the numbers themselves."""

    look: Look
    found: str
    verdict: Verdict
    figures: Mapping[str, float]
    opens: str = ""
    """Where the page opens: what stands behind `#` in its address."""


@dataclass(frozen=True)
class Example:
    """One example of the notes: its name, what they say of it and where, and how it is made and read."""

    name: str
    title: str
    notes: str
    where: str
    read: Callable[[Runs], Reading]
    imported: bool = False
    """Whether it is read from SmolLM2, which has to be there."""


@dataclass(frozen=True)
class Story:
    """What stands above the views of a page, and in the list of all."""

    name: str
    title: str
    where: str
    notes: str
    found: str
    verdict: Verdict
    figures: Mapping[str, float]
    opens: str

    @classmethod
    def of(cls, example: Example, reading: Reading) -> "Story":
        return cls(
            example.name,
            example.title,
            example.where,
            example.notes,
            reading.found,
            reading.verdict,
            {name: float(f"{value:.4g}") for name, value in reading.figures.items()},
            reading.opens,
        )

    @property
    def page(self) -> str:
        """The name of its page."""
        return f"{self.name}.html"

    def facts(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) | {"page": self.page}
