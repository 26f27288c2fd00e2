"""The page as one document: markup, style, modules and numbers in a single file that asks nobody for anything.

Texts of strangers stand in it as JSON, in which no letter can end a script; the page shows them as text alone. The
document says by itself what a browser may do with it: run the one script whose sum it names, and connect to nobody (or,
when it is live, to the server it came from).
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from regard.disk.files import json_text, read_text
from regard.errors import InputError
from regard.looking.layers import TITLES
from regard.looking.look import Look
from regard.looking.page.contents import about, first_bytes, heads_facts, kept, written_facts
from regard.looking.page.images import LARGEST_FILE
from regard.looking.page.packing import in_letters

MOST_RUNS = 4
IMPORT = re.compile(r"^import\s*\{([^}]*)\}\s*from\s*\"\./([\w-]+)\.js\";\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
EXPORT_WORD = re.compile(r"^export ", re.MULTILINE)
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
FIRST = "main"


def static_document(looks: Sequence[Look], story: Mapping[str, Any] | None = None, words: bool | None = None) -> str:
    """A file that shows one look, or up to four side by side, for ever; a `story` is told above its views. `words` says
    whether it begins with sub-words merged into words."""
    check_runs(looks)
    share = len(looks)
    facts = [about(look) | {"heads": heads_facts(look), "written_steps": written_facts(look)} for look in looks]
    blobs = {
        f"{number}/{name}": content
        for number, look in enumerate(looks)
        for name, content in kept(look, 14_000_000 // share, 4_000_000 // share)
    }
    return document({"live": False, "looks": facts, "story": story} | _first(looks, words), blobs)


def live_document(looks: Sequence[Look], words: bool | None = None) -> str:
    """The same as the server hands it out: thumbnails are in it, everything else is asked for."""
    check_runs(looks)
    blobs = {f"{number}/{name}": content for number, look in enumerate(looks) for name, content in first_bytes(look)}
    facts = {"live": True, "largest_file": LARGEST_FILE, "looks": [about(look) for look in looks]}
    return document(facts | _first(looks, words), blobs)


def _first(looks: Sequence[Look], words: bool | None) -> dict[str, Any]:
    """What kinds of attention are called, and whether words are shown first: as was asked, or where all looks have
    enough of them."""
    return {"titles": TITLES, "words": all(look.words for look in looks) if words is None else words}


def check_runs(looks: Sequence[Look]) -> None:
    """One to four, and of one task."""
    if not 1 <= len(looks) <= MOST_RUNS:
        raise InputError(f"{len(looks)} runs are too many to be seen side by side; {MOST_RUNS} at most")
    tasks = {str(look.about.get("task", "")) for look in looks}
    if len(tasks) > 1:
        raise InputError(f"runs of one task can be seen side by side; these are of {' and '.join(sorted(tasks))}")


def document(facts: Mapping[str, Any], blobs: Mapping[str, bytes]) -> str:
    """Markup around what is known; the only place where it is put together."""
    script, style = bundle(), part("style.css")
    connect = "'self'" if facts["live"] else "'none'"
    policy = (
        f"default-src 'none'; script-src {_sum(script)}; style-src {_sum(style)}; img-src data: blob:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    packed = "\n".join(
        f'<script type="text/plain" data-name="{_name(name)}">{in_letters(content)}</script>'
        for name, content in blobs.items()
    )
    filled = {"policy": policy, "style": style, "facts": safe_json(facts), "blobs": packed, "script": script}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], part("page.html"))


def safe_json(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends one, or a line of one."""
    return re.sub("[<>&\u2028\u2029]", lambda found: UNSAFE[found[0]], json_text(value))


@cache
def bundle() -> str:
    """All modules in one script: each in a function of its own, behind those it imports, handing on what it exports."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = part(f"{name}.js")
        for found in IMPORT.finditer(text):
            add(found[2])
        inside = IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_variable(found[2])};\n", text)
        names = ", ".join(EXPORT.findall(inside))
        done[name] = (
            f"const {_variable(name)} = (() => {{\n{EXPORT_WORD.sub('', inside)}\nreturn {{ {names} }};\n}})();"
        )

    add(FIRST)
    return "\n".join(done.values())


def _variable(name: str) -> str:
    return "module_" + name.replace("-", "_")


def part(name: str) -> str:
    """A file of the page, as it came with Regard."""
    return read_text(Path(__file__).parent / "static" / name, links=True)


def _name(name: str) -> str:
    if not re.fullmatch(r"[\w./-]+", name):
        raise ValueError(f"{name!r} is no name of numbers")
    return name


def _sum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
