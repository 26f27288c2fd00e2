"""What was done to runs and what became of them, a line each, so that a count that is cut short can be gone on with."""

import json
from pathlib import Path
from typing import Any


class Ledger:
    """Kills and ends, kept in a file as they come; what the file holds already counts."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        there = path.read_text().splitlines() if path is not None and path.is_file() else []
        self.entries: list[dict[str, Any]] = [json.loads(line) for line in there]

    def add(self, what: str, label: str, **facts: Any) -> None:
        entry = {"what": what, "label": label} | facts
        self.entries.append(entry)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def of(self, what: str, label: str = "") -> list[dict[str, Any]]:
        return [entry for entry in self.entries if entry["what"] == what and label in ("", entry["label"])]

    def writes(self, label: str = "") -> int:
        """Kills that left something half-written behind."""
        return sum(bool(entry["inside"]) for entry in self.of("kill", label))

    def wrong(self) -> list[str]:
        """All that is damaged, lost, or not what it would have been."""
        kills = [said for entry in self.of("kill") for said in (*entry["damaged"], *entry["lost"])]
        return kills + [f"{entry['label']}: {entry['said']}" for entry in self.of("end") if not entry["same"]]

    def __str__(self) -> str:
        kills, ends = self.of("kill"), self.of("end")
        each: dict[str, int] = {}
        for entry in kills:
            each[entry["label"]] = each.get(entry["label"], 0) + 1
        names = ", ".join(f"{name} {count}" for name, count in each.items())
        damaged, lost = (sum(len(entry[key]) for entry in kills) for key in ("damaged", "lost"))
        return (
            f"killed {len(kills)} times ({names}), {self.writes()} of them inside a write, "
            f"{sum(entry['early'] for entry in kills)} while a run was made or gone on with: "
            f"{damaged} damaged, {lost} lost, "
            f"{sum(entry['same'] for entry in ends)} of {len(ends)} runs ended with the same bits as undisturbed"
        )
