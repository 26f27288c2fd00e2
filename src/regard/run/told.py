"""What a run says of itself in words: its data and its scores, whoever wrote them down."""

from collections.abc import Mapping
from typing import Any

from regard.datasets.report import Report
from regard.errors import InputError
from regard.figures import figures


def data_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    """What became of the rows of each split, as it was told when the run was made."""
    splits = facts.get("splits")
    return {str(split): _report(held) for split, held in splits.items()} if isinstance(splits, Mapping) else {}


def score_line(scores: Any, between: str = "  ") -> str:
    """All scores that are numbers, of whatever a run holds there."""
    return figures(scores, between) if isinstance(scores, Mapping) else ""


def _report(held: Any) -> str:
    try:
        return str(Report.open(held))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InputError(f"run.json: damaged: no report of the data in splits ({error})") from error
