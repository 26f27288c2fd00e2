"""Lengths beyond which a text is no text, before there are tokens to count in."""

from regard.datasets.lines import LONGEST

TOO_LONG = f"over {LONGEST >> 20} MiB; break it into lines"


def too_long(text: str) -> str:
    """Why a text is not answered, or nothing."""
    return TOO_LONG if 4 * len(text) > LONGEST and len(text.encode()) > LONGEST else ""
