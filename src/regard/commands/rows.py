"""Lines that are wider than a terminal: cut between their words."""

import re
from collections.abc import Sequence

from rich.cells import cell_len


def rows(parts: Sequence[str | tuple[str, str]], width: int) -> list[list[tuple[str, str]]]:
    """A line cut between its words where it is wider than a terminal; a word that is wider itself is left to that."""
    units = [unit for part in parts for unit in ([part] if isinstance(part, tuple) else _words(part))]
    found, used = [list[tuple[str, str]]()], 0
    for group in _together(units):
        needed = sum(cell_len(text) for text, _ in group)
        if used and used + needed - _blank(group[-1][0]) > width:
            found.append([])
            used, group[0] = 0, (group[0][0].lstrip(" "), group[0][1])
            needed = sum(cell_len(text) for text, _ in group)
        found[-1] += group
        last = "".join(text for text, _ in group).rpartition("\n")
        used = cell_len(last[2]) if last[1] else used + needed
    return [[*row[:-1], (row[-1][0].rstrip(" "), row[-1][1])] for row in found if row]


def _words(text: str) -> list[tuple[str, str]]:
    return [(word, "") for word in re.findall(r" *[^ ]+ *| +", text)]


def _blank(text: str) -> int:
    return len(text) - len(text.rstrip(" "))


def _together(units: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Units with nothing between them are not parted."""
    groups: list[list[tuple[str, str]]] = []
    for text, style in units:
        parted = not groups or _blank(groups[-1][-1][0]) or text[:1] == " "
        groups.append([(text, style)]) if parted else groups[-1].append((text, style))
    return groups
