"""What a run says of itself in words: its data and its scores, whoever wrote them down."""

from collections.abc import Mapping
from typing import Any

from regard.datasets.data import SPLITS, Report, Split
from regard.errors import InputError
from regard.figures import figures

UNKNOWN = "unknown"


def licence_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    """On what terms that may be used which a run has learnt from, by what it is; runs from long ago do not say."""
    made, base = facts.get("origin"), facts.get("from")
    lines = {"its makers' weights": made.get("licence", UNKNOWN)} if isinstance(made, Mapping) else {}
    lines |= {"training data": facts.get("licence", UNKNOWN)} if not lines or "licence" in facts else {}
    lines |= {"the run it began from": base.get("licence", UNKNOWN)} if isinstance(base, Mapping) else {}
    return {what: str(licence) for what, licence in lines.items()}


def data_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    """What became of the rows of each split, as it was told when the run was made."""
    return {str(split): str(report) for split, report in kept_reports(facts).items()}


def kept_reports(facts: Mapping[str, Any]) -> dict[Split, Report]:
    """The same reports."""
    splits = facts.get("splits")
    held = splits if isinstance(splits, Mapping) else {}
    return {split: _report(held[split]) for split in SPLITS if split in held}


def score_line(scores: Any, between: str = "  ") -> str:
    """All scores that are numbers, of whatever a run holds there."""
    return figures(scores, between) if isinstance(scores, Mapping) else ""


def _report(held: Any) -> Report:
    try:
        report = Report.open(held)
        str(report)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InputError(f"run.json: damaged: no report of the data in splits ({error})") from error
    return report
