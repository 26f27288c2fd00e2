"""log.jsonl: what happened, a line each."""

import json
from pathlib import Path
from typing import Any

from regard.disk import read_text, room, write

LOG = "log.jsonl"
LARGEST = 1e300


def add(folder: Path, entry: dict[str, Any]) -> None:
    """One line more."""
    with room(folder), (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def entries(folder: Path) -> list[dict[str, Any]]:
    """All whole lines that a training could have written."""
    lines = read_text(folder / LOG).splitlines() if (folder / LOG).is_file() else []
    return [entry for line in lines if _is_entry(entry := _parsed(line))]


def rewind(folder: Path, step: int) -> None:
    """Forget what was logged after a step: it will happen again."""
    kept = [json.dumps(entry) + "\n" for entry in entries(folder) if entry.get("step", 0) <= step]
    with room(folder):
        write(folder / LOG, "".join(kept).encode())


def _is_entry(entry: Any) -> bool:
    """A table with a step, and no number in it that is too large to be one."""
    if not isinstance(entry, dict) or not isinstance(entry.get("step", 0), int):
        return False
    scores = entry.get("valid")
    numbers = [*entry.values(), *(scores.values() if isinstance(scores, dict) else ())]
    sizes = [abs(number) < LARGEST for number in numbers if isinstance(number, int | float)]
    return all(sizes) and isinstance(entry.get("seconds", 0.0), int | float)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
