"""log.jsonl: what happened, a line each."""

import json
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from regard.disk import json_value, opened, room, write, writing

LOG = "log.jsonl"
LARGEST = 1e300
MOST, LONGEST = 2**26, 2**20  # bytes of a log, and of a line of it
LINES, VALUES = 500_000, 2**16  # lines of a log, and values of a line


def add(folder: Path, entry: dict[str, Any]) -> None:
    """One line more."""
    with room(folder), writing(folder / LOG, "a") as file:
        file.write(json.dumps(entry) + "\n")


def entries(folder: Path) -> list[dict[str, Any]]:
    """All whole lines that a training could have written."""
    if not (folder / LOG).exists():
        return []
    with opened(folder / LOG, MOST) as file:
        lines = islice(iter(partial(file.readline, LONGEST), b""), LINES)
        return [entry for line in lines if _is_entry(entry := json_value(line, VALUES))]


def rewind(folder: Path, step: int) -> None:
    """Forget what was logged after a step: it will happen again."""
    kept = [json.dumps(entry) + "\n" for entry in entries(folder) if entry.get("step", 0) <= step]
    with room(folder):
        write(folder / LOG, "".join(kept).encode())


def _is_entry(entry: Any) -> bool:
    """A table with a step, and no number in it that is too large to be one. Only data and scores are tables too."""
    if not isinstance(entry, dict) or not isinstance(entry.get("step", 0), int):
        return False
    if any(isinstance(value, dict | list) for key, value in entry.items() if key not in ("data", "valid")):
        return False
    if "data" in entry and entry.get("step") != 0:
        return False
    scores = entry.get("valid")
    numbers = [*entry.values(), *(scores.values() if isinstance(scores, dict) else ())]
    sizes = [abs(number) < LARGEST for number in numbers if isinstance(number, int | float)]
    return all(sizes) and isinstance(entry.get("seconds", 0.0), int | float)
