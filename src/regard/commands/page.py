"""The page of `regard look`: written as a file, or live until ^C."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING

from regard.commands.show import as_json, console, line
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.looking.look import Look

PAGE = ".html"


def is_paged(out: Path | None, live: bool | None, one: bool, numbers: bool, subwords: bool = False) -> bool:
    """Whether the page is wanted: by the ending of a name, by `--live`, or on a terminal where neither `one` picture
    nor `numbers` nor sub-words are asked for. A page that is asked for can begin with sub-words."""
    if out is not None and live:
        raise InputError(f"--live opens the page, --out {out} writes a file: choose one of them")
    paged = out is not None and out.suffix.lower() == PAGE
    if (paged and one) or (live and (one or numbers)):
        raise InputError(
            "the page shows everything: leave out what asks for one picture (--view, --rows) or for numbers"
        )
    if out is not None or live is not None:
        return paged or bool(live)
    return console.is_terminal and not (one or numbers or subwords)


def show(looks: "Sequence[Look]", out: Path | None, port: int, json: bool, words: bool | None = None) -> None:
    """One page of one to four looks."""
    from regard.looking.page.document import check_runs, static_document
    from regard.looking.saving import check_name, put

    check_runs(looks)
    if out is None:
        return _serve(looks, port, words)
    path = put(check_name(out), static_document(looks, words=words))
    return as_json({"written": str(path)}) if json else line("Open ", (str(path), "bold"), " in a browser.")


def _serve(looks: "Sequence[Look]", port: int, words: bool | None) -> None:
    """Until ^C, which is the way to end it and no failure."""
    import webbrowser

    from regard.looking.page.live import Live
    from regard.looking.page.server import PageServer

    with PageServer(Live(looks), port, words) as server:
        line("Open this address in a browser; ^C ends it:")
        line((server.address, "bold"))
        sys.stdout.flush()
        try:
            if _has_screen():
                webbrowser.open(server.ticket)
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt as ended:
            if getattr(ended, "number", SIGINT) != SIGINT:
                raise


def _has_screen() -> bool:
    """Whether a browser has somewhere to open a window; one inside the terminal would show nothing."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
