"""The scores of evaluations, kept in the run they are about."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.disk import read_json, write
from regard.errors import InputError
from regard.run.history import LARGEST

SCORES = "evaluation.json"
MOST = 50  # evaluations that are kept


def keep(folder: Path, entry: Mapping[str, Any]) -> bool:
    """Add an evaluation, in place of the last one on the same data in the same way; False where nothing can be
    written."""
    same = ("on", "split", "how", "step")
    others = [one for one in kept(folder) if any(one.get(key) != entry.get(key) for key in same)]
    table = {"evaluations": [dict(entry), *others][:MOST]}
    try:
        write(folder / SCORES, json.dumps(table, indent=2).encode())
    except OSError:
        return False
    return True


def kept(folder: Path) -> list[dict[str, Any]]:
    """All evaluations that were kept, the newest first."""
    if not (folder / SCORES).is_file():
        return []
    try:
        found = read_json(folder / SCORES).get("evaluations")
    except InputError:  # made again by the next evaluation
        return []
    return [one for one in found if _is_entry(one)] if isinstance(found, list) else []


def _is_entry(one: Any) -> bool:
    """Whether it is what `entry` makes; nobody else writes it."""
    if not isinstance(one, dict) or not isinstance(one.get("scores"), dict) or not isinstance(one.get("how"), list):
        return False
    numbers = [value for value in one["scores"].values() if isinstance(value, int | float)]
    texts = [*one["how"], one.get("on"), one.get("split") or ""]
    return all(isinstance(text, str) for text in texts) and all(abs(number) < LARGEST for number in numbers)


def entry(
    scores: Mapping[str, Any], step: int, on: str, split: str | None, how: Sequence[str], learnt: bool | None
) -> dict[str, Any]:
    """An evaluation as it is kept: what was scored and whether it was trained on that, how it answered, the figures,
    and when. Other files (`on`) have no split."""
    when = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    about = {"on": on, "split": split, "learnt": learnt, "how": list(how), "step": step}
    return about | {"when": when, "scores": dict(scores)}
