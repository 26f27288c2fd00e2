"""log.jsonl: what happened, a line each."""

import json
from pathlib import Path
from typing import Any

from regard.disk import read_text, room, write

LOG = "log.jsonl"


def add(folder: Path, entry: dict[str, Any]) -> None:
    """One line more."""
    with room(folder), (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def entries(folder: Path) -> list[dict[str, Any]]:
    """All whole lines."""
    lines = read_text(folder / LOG).splitlines() if (folder / LOG).is_file() else []
    return [entry for line in lines if isinstance(entry := _parsed(line), dict)]


def rewind(folder: Path, step: int) -> None:
    """Forget what was logged after a step: it will happen again."""
    kept = [json.dumps(entry) + "\n" for entry in entries(folder) if entry.get("step", 0) <= step]
    with room(folder):
        write(folder / LOG, "".join(kept).encode())


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
