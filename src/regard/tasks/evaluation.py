"""How good a model is: figures, what they are about, and how people see them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any, TypeVar

from regard.datasets.data import Split
from regard.figures import figure, text_table
from regard.listener import Listener
from regard.markup import block, said, table

E = TypeVar("E", bound="Evaluation")
WORD = re.compile(r"\W+")
LONGEST = 40  # letters of the name of data in that of a file


@dataclass(frozen=True)
class Table:
    """A table for people: heads that begin with a space stand over columns of numbers."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def __str__(self) -> str:
        return text_table(self.heads, self.rows)

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return table(self.heads, self.rows)


@dataclass(frozen=True)
class Scored:
    """What figures are about: which split of which data, after how many steps, and how it was answered."""

    data: str
    split: Split | None
    """None for other files, all of which are scored."""
    step: int
    how: str
    data_hash: str
    learnt: bool | None = False
    """Whether some of these files are among those it was trained on; None if that is unknown."""

    @property
    def whole(self) -> bool:
        """Whether that is all of the files that were named, and no split of a run's own data."""
        return self.split is None

    @property
    def named(self) -> str:
        """The data in words, and whether it was trained on them."""
        named = self.data if self.split is None else f"the {self.split} split of {self.data}"
        return named + (", which it was trained on" if self.learnt else "")

    @property
    def suffix(self) -> str:
        """What tells files about other data from those about a split of its own: `-mine-tsv-3fa9c1`."""
        if self.split is not None:
            return ""
        first = PurePath(self.data.partition(" (")[0].partition(", ")[0]).name
        return f"-{WORD.sub('-', first).strip('-')[:LONGEST]}-{self.data_hash[:6]}"

    def __str__(self) -> str:
        return f"{self.named}\nanswered by step {self.step:,}: {self.how}"


class Evaluation(ABC):
    """How good a model is on data it has not seen."""

    scores: dict[str, float]
    """By the names of the task's `metrics`."""
    scored: Scored | None = None
    """What they are about, where a run was evaluated."""
    size: str = ""
    """How much was scored, with its unit: `500 pairs`."""

    def of(self: E, scored: Scored) -> E:
        """The same figures, with what they are about."""
        made = copy(self)
        vars(made)["scored"] = scored
        return made

    @property
    def about(self) -> str:
        """What was scored, as a sentence."""
        return "" if self.scored is None else " of ".join(one for one in (self.size, str(self.scored)) if one)

    @property
    def subject(self) -> str:
        """How much of which data was scored: the heading of a picture."""
        return self.about.partition("\n")[0]

    @property
    def data(self) -> str:
        """The data that were scored, in words."""
        return "" if self.scored is None else self.scored.named

    def file(self, name: str) -> str:
        """The name of a file about these scores; of other data than a run's own it has their name in it, so that
        `translations.csv` always is about the run's own test data."""
        path = PurePath(name)
        return name if self.scored is None else f"{path.stem}{self.scored.suffix}{path.suffix}"

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """All figures, as JSON can hold them."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """What people read, the most important first."""

    def notes(self) -> list[str]:
        """Lines below the tables: how figures were computed, what to mind."""
        return []

    def document(self) -> dict[str, Any]:
        """For machines: what was scored, and all figures."""
        return ({"scored": asdict(self.scored)} if self.scored else {}) | self.facts()

    def __str__(self) -> str:
        tables = [str(each) for each in self.tables() if each.rows]
        return "\n\n".join(part for part in (self.about, *tables, "\n".join(self.notes())) if part)

    def __repr__(self) -> str:
        scores = ", ".join(f"{name}={figure(name, value)}" for name, value in self.scores.items())
        return f"{type(self).__name__}({scores})"

    def _repr_html_(self) -> str:
        """The tables, in a notebook."""
        tables = [each._repr_html_() for each in self.tables() if each.rows]
        return block(said(self.about), *tables, *map(said, self.notes()))

    def beside(self, others: "Mapping[str, Evaluation]") -> Table | None:
        """Runs of the same task on the same data, a column each: `a.beside({"a": a, "b": b})`; None where there is
        nothing to say."""
        return None

    def files(self) -> dict[str, bytes]:
        """What is worth keeping beside the scores, by name: the answers, say."""
        return {}

    def draw(
        self,
        path: str | Path,
        others: "Mapping[str, Evaluation] | None" = None,
        listener: Listener | None = None,
    ) -> Path | None:
        """A picture of this evaluation, or of those given by name, if the task has one: `a.draw("bleu.png")`.

        `path` is a picture (.png, .svg, .pdf) or a folder for it.
        """
        return None
