"""What a run says about itself, in run.json."""

import json
from pathlib import Path
from typing import Any

from regard.disk import read_json
from regard.errors import InputError
from regard.run.create import FACTS

FORMAT = 1
TYPES: dict[str, type] = {
    "made": str,
    "licence": str,
    "ended": str,
    "commands": list,
    "versions": dict,
    "splits": dict,
    "from": dict,
    "machine": dict,
    "steps": int,
    "parameters": int,
    "packed": int,
    "diverged": int,
}


def facts_of(folder: Path) -> dict[str, Any]:
    """What a run says about itself, if it is of a format that is known here."""
    if not (folder / FACTS).is_file():
        raise InputError(
            f"{folder}: a run from before runs had a format number (no {FACTS}); use it with the Regard that made it, "
            "or train it again: recipe.toml says how, with the old names of its keys"
        )
    facts = read_json(folder / FACTS)
    if facts.get("format") != FORMAT:
        raise InputError(
            f"{folder}: a run of format {facts.get('format')!r}, and this Regard knows {FORMAT}; "
            "use it with the Regard that made it"
        )
    for key, kind in TYPES.items():
        # exactly of the type: true and false are ints to Python
        if key in facts and not (type(facts[key]) is kind and _plain(facts[key])):
            raise InputError(f"{folder / FACTS}: damaged: {key} is {str(facts[key])[:40]!r}")
    return facts


def _plain(value: Any) -> bool:
    """Numbers of steps and parameters that could be, and lists of words."""
    if isinstance(value, int):
        return 0 <= value < 2**63
    return not isinstance(value, list) or all(isinstance(word, str) for word in value)


def facts_file(facts: dict[str, Any]) -> bytes:
    """What the file holds."""
    return json.dumps(facts, indent=2).encode()
