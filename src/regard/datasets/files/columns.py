"""Which columns of a table are source and target: by name, by number, or the only two there are."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import InputError

SHOWN, CELL = 8, 24
Asked = tuple[str | int, str | int]

# What only a header says: roles, languages and their codes.
WORDS = """source target src tgt trg text texts translation translations translated original sentence sentences input
    output reference ref hypothesis segment id lang language
    german english french italian korean spanish portuguese dutch russian chinese japanese arabic turkish polish czech
    swedish danish norwegian finnish greek hungarian ukrainian hindi vietnamese indonesian romanian bulgarian hebrew
    deutsch englisch französisch italienisch koreanisch spanisch français anglais allemand italiano español
    de en fr it ko es pt nl ru zh ja ar tr pl cs sv da no nb fi el hu uk hi vi id ro bg he deu ger eng fra fre ita kor
    spa por nld rus zho cmn jpn ara tur pol ces us gb br cn tw hans hant"""
HEADS = frozenset(WORDS.split())


@dataclass(frozen=True)
class Columns:
    """The places of source and target among `width` columns; `header` is the number of the header's row, or 0."""

    places: tuple[int, int]
    width: int
    header: int = 0
    plain: bool = False
    """The first of two, and no header: how a table is read that nothing is said about."""
    note: str = ""

    def pick(self, cells: Sequence[str]) -> tuple[str, str] | None:
        """The two texts of a row; None where a cell more has pushed the others out of their places."""
        source, target = self.places
        if len(cells) > self.width and any(cell.strip() for cell in cells[self.width :]):
            return None
        return (cells[source], cells[target]) if len(cells) > source and len(cells) > target else None


def choose(rows: Sequence[tuple[int, list[str]]], asked: Asked, path: Path) -> Columns:
    """The columns of a table, from its first rows; what is not clear is asked, never guessed."""
    if not rows:
        return Columns((0, 1), 2, plain=True)
    width = Counter(_width(cells) for _, cells in rows).most_common(1)[0][0]
    number, first = rows[0]
    if isinstance(asked[0], int) and isinstance(asked[1], int):
        return _numbered((asked[0], asked[1]), width, first, path)
    if isinstance(asked[0], int) or isinstance(asked[1], int):
        raise InputError(f"{path}: data.source={asked[0]} and data.target={asked[1]}: say both by name or by number")
    names = [cell.strip().casefold() for cell in first]
    wanted = [asked[0].casefold(), asked[1].casefold()]
    found = [name for name in wanted if name in names]
    if len(found) == 2:
        double = next((name for name in found if names.count(name) > 1), None)
        if double:
            raise InputError(f"{path}: two columns are called {double!r}; say which by number:{_numbers(first)}")
        return Columns((names.index(wanted[0]), names.index(wanted[1])), len(first), number)
    if found or width != 2 or _is_head(first):
        raise _unclear(path, first, width, asked, bool(found))
    return Columns((0, 1), 2, plain=True)


def _numbered(asked: tuple[int, int], width: int, first: list[str], path: Path) -> Columns:
    if max(asked) > width:
        raise InputError(f"{path}: no column {max(asked)}; there are {width}:{_numbers(first)}")
    places = asked[0] - 1, asked[1] - 1
    chosen = [first[place] for place in places if place < len(first)]
    note = f"row 1 ({', '.join(chosen)}) looks like a header and is taken for a pair; name the columns to leave it out"
    return Columns(places, width, plain=places == (0, 1) and width == 2, note=note if _is_head(chosen) else "")


def _unclear(path: Path, first: list[str], width: int, asked: Asked, partly: bool) -> InputError:
    """With the columns there are, the first row, and what to write."""
    heads = [cell.strip() for cell in first]
    named = [head for head in heads if _is_head([head]) and head.casefold() != "id"]
    two = (named[0], named[1]) if len(named) == 2 else ("NAME", "NAME")
    numbers = f"data.source={max(width, 2) - 1} data.target={max(width, 2)}"
    if partly or len(named) == 2 or _is_head(first):
        why = (
            "one of the two columns is not there" if partly else f"no columns are called {asked[0]!r} and {asked[1]!r}"
        )
        ways = f"data.source={two[0]} data.target={two[1]}, or the other way round; if this is no header, {numbers}"
    else:
        why = f"which of its {width} columns are source and target is not clear"
        ways = f"which by their numbers, such as {numbers}"
    return InputError(f"{path}: {why}; its first row is{_numbers(first)}\nsay {ways}")


def _numbers(first: list[str]) -> str:
    cells = [cell if len(cell) <= CELL else f"{cell[:CELL]}…" for cell in (cell.strip() for cell in first)]
    listed = "  ".join(f"{number}: {cell!r}" for number, cell in enumerate(cells[:SHOWN], 1))
    return f" {listed}{' …' if len(cells) > SHOWN else ''}"


def _is_head(cells: Sequence[str]) -> bool:
    """Whether all cells have nothing but words of headers in them."""
    words = [re.split(r"[\W_]+", cell.strip().casefold()) for cell in cells]
    return bool(words) and all(set(some) <= HEADS for some in words)


def _width(cells: list[str]) -> int:
    """How many columns, without empty ones at the end; a row of one column is no table."""
    filled = [place for place, cell in enumerate(cells, 1) if cell.strip()]
    return max(2, filled[-1]) if filled and len(cells) > 1 else len(cells)
