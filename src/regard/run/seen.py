"""A run at a glance: what it is, how it went, what came of it."""

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from regard.figures import figures
from regard.markup import Point, block, curves, said, table


@runtime_checkable
class Logged(Protocol):
    """As much of a run as one sees at a glance."""

    folder: Path
    recipe: dict[str, Any]

    def history(self) -> list[dict[str, Any]]: ...


def run_text(run: Logged) -> str:
    """In a few lines."""
    return "\n".join(f"{name:<10}  {value}" for name, value in _facts(run))


def run_html(run: Logged) -> str:
    """The same with its learning curve."""
    history = run.history()
    shown = curves({"loss": _curve(history), "validation loss": _curve(_validations(history))}, height=140)
    return block(f"<b>{said(run.folder)}</b>", table(("", ""), _facts(run)[1:]), shown)


def _facts(run: Logged) -> list[tuple[str, str]]:
    history = run.history()
    facts = [("run", str(run.folder)), ("recipe", str(run.recipe.get("name", "")))]
    task, data = (_kind(run.recipe.get(section)) for section in ("task", "data"))
    facts += [("task", f"{task} on {data}" if data else task)] if task else []
    steps = [entry["step"] for entry in history if isinstance(entry.get("step"), int)]
    facts.append(("steps", f"{max(steps, default=0):,}"))
    validations = _validations(history)
    if validations:
        scores = {name: value for name, value in validations[-1].items() if name != "step"}
        facts.append(("validation", figures(scores)))
    return facts


def _validations(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    entries = [entry for entry in history if isinstance(entry.get("valid"), dict)]
    return [{**entry["valid"], "step": entry.get("step", 0)} for entry in entries]


def _curve(entries: list[dict[str, Any]]) -> list[Point]:
    pairs = [(entry.get("step"), entry.get("loss")) for entry in entries]
    return [(step, loss) for step, loss in pairs if isinstance(step, int) and isinstance(loss, int | float)]


def _kind(section: object) -> str:
    return str(section.get("kind", "")) if isinstance(section, dict) else str(section or "")
