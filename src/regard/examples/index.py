"""The page that lists all examples: plain markup, no script, no network."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from regard.disk import read_text

PAGE = Path(__file__).parent / "static" / "index.html"
NUMBERS = 8  # figures beside an example


def index(stories: Sequence[Mapping[str, Any]]) -> str:
    """Each with what the notes say, what the numbers say, and the way to its page."""
    return read_text(PAGE, links=True).replace("{{examples}}", "\n".join(map(_card, stories)))


def _card(story: Mapping[str, Any]) -> str:
    """Whatever a file says is text here, and never markup."""
    said = {
        key: escape(str(story.get(key, ""))) for key in ("page", "opens", "title", "where", "notes", "found", "verdict")
    }
    figures = story.get("figures")
    rows = list(figures.items())[:NUMBERS] if isinstance(figures, Mapping) else []
    table = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(f'{value:g}')}</td></tr>" for name, value in rows)
    return (
        f'<article><h2><a href="{said["page"]}#{said["opens"]}">{said["title"]}</a></h2>'
        f'<p class="verdict {said["verdict"].split()[-1]}">{said["verdict"]}</p>'
        f'<p><span class="who">The notes ({said["where"]})</span>{said["notes"]}</p>'
        f'<p><span class="who">The numbers</span>{said["found"]}</p>'
        f"<details><summary>all numbers</summary><table>{table}</table></details></article>"
    )
