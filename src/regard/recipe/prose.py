"""Docstrings as their readers want them: flowing text, without places in notes that only their authors have."""

import inspect
import re

PLACE = re.compile(r"N\d:[\d-]+|traps? T\d+")
BRACKETS = re.compile(r"\s?\[([^\[\]]*(?:N\d:\d|traps? T\d)[^\[\]]*)\]")
ASIDE = re.compile(r"\s?\(trap T\d+\)")


def without_places(text: str) -> str:
    """`[N4:47-57; Bahdanau et al. 2015]` becomes `[Bahdanau et al. 2015]`."""
    return ASIDE.sub("", BRACKETS.sub(_kept, text))


def _kept(brackets: re.Match[str]) -> str:
    groups = [[each.strip() for each in group.split(",")] for group in brackets[1].split(";")]
    kept = [", ".join(each for each in group if not PLACE.fullmatch(each)) for group in groups]
    said = "; ".join(group for group in kept if group)
    return f" [{said}]" if said else ""


def paragraphs(text: str) -> list[str]:
    """Each on one line, however it was broken in the source."""
    return [without_places(" ".join(each.split())).strip() for each in inspect.cleandoc(text).split("\n\n") if each]


def described(entry: type) -> tuple[str, str]:
    """What a class says of itself: the first sentence, and the rest."""
    first, *rest = paragraphs(vars(entry).get("__doc__") or "") or [""]
    return first if first.endswith((".", "!", "?", "]")) else f"{first}.", "\n\n".join(rest)
