"""What the folders of images say: which split an image belongs to, and what it shows."""

from collections.abc import Collection, Sequence
from sys import intern

from regard.datasets.data import Split
from regard.datasets.images.sources import Entry, shown

SPLIT_FOLDERS: dict[str, Split] = {
    "train": "train",
    "training": "train",
    "val": "valid",
    "valid": "valid",
    "validation": "valid",
    "dev": "valid",
    "test": "test",
    "testing": "test",
}


def lay_out(entries: Sequence[Entry], folders: Collection[str]) -> dict[str, list[str]]:
    """Give every entry its label, the first folder below the top, and its split where folders are called by one.

    A folder that all others stand in is no class: archives often have one. An entry without a folder keeps an empty
    label. Classes without any image are returned, by split.
    """
    outer, tops = _outer(entries)
    named = {SPLIT_FOLDERS.get(top.casefold()) for top in tops}
    apart = "train" in named and len(named & {"valid", "test"}) > 0
    for entry in entries:
        parts = entry.name.split("/")[outer:]
        if apart:
            entry.split = SPLIT_FOLDERS.get(parts[0].casefold(), "other") if len(parts) > 1 else "train"
            parts = parts[1:]
        if len(parts) > 1:
            entry.label = intern(shown(parts[0]))
    return _empty(entries, folders, outer, apart)


def _outer(entries: Sequence[Entry]) -> tuple[int, set[str]]:
    """How many folders stand around all others, and the names of those inside them."""
    outer = 0
    while True:
        tops, deeper = set[str](), False
        for entry in entries:
            parts = entry.name.split("/", outer + 2)
            if len(parts) > outer + 1:
                tops.add(parts[outer])
                deeper = deeper or len(parts) > outer + 2
        if len(tops) != 1 or not deeper:
            return outer, tops
        outer += 1


def _empty(entries: Sequence[Entry], folders: Collection[str], outer: int, apart: bool) -> dict[str, list[str]]:
    there = {(entry.split, entry.label) for entry in entries}
    around = {"/".join(entry.name.split("/")[:outer]) for entry in entries[:1]}
    found = dict[str, list[str]]()
    for folder in sorted(folders):
        parts = folder.split("/")
        if len(parts) != outer + 1 + apart or "/".join(parts[:outer]) not in around:
            continue
        split = SPLIT_FOLDERS.get(parts[outer].casefold(), "other") if apart else ""
        label = shown(parts[-1])
        if (split, label) not in there and split != "other" and not label.startswith((".", "__MACOSX")):
            found.setdefault(split, []).append(label)
    return found
