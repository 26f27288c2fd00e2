"""Lengths beyond which a text is no text, before there are tokens to count in."""

import re

from regard.datasets.lines import LONGEST

TOO_LONG = f"over {LONGEST >> 20} MiB; break it into lines"
RUN = 1000  # characters of a word, a number, marks or white space without a break: no language has as many
RUNS = re.compile(r"[^\W\d_]+|\d+|_+|[^\w\s]+|\s+")
ENDLESS = f"with a word of over {RUN:,} characters"


def too_long(text: str) -> str:
    """Why a text is not answered, or nothing."""
    return TOO_LONG if 4 * len(text) > LONGEST and len(text.encode()) > LONGEST else ""


def endless(text: str) -> bool:
    """Whether some word has no end. Vocabularies are learnt from words, and from such ones for minutes on end."""
    return len(text) > RUN and any(run.end() - run.start() > RUN for run in RUNS.finditer(text))
