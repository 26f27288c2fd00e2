"""What all pictures share: no window, no global settings, letters of any script, text that is never a formula."""

import re
import unicodedata
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter, warn

from regard.disk import place
from regard.disk import write as put
from regard.errors import ORDERS, InputError
from regard.listener import Listener

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
USUAL = "DejaVu Sans"  # comes with matplotlib
LAST_RESORT = ("Last Resort", ".LastResort")  # has nothing but boxes, for every letter
EAST_ASIAN = ("HANGUL", "CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "IDEOGRAPHIC")
BROUGHT = {"HANGUL": ("koreanize_matplotlib", "regard[fonts]")}  # packages with fonts, and what installs them
SHOWN = 4
MARK = "\u200e"  # has no width, and is of a script that is written from left to right
MISSING = re.compile(r"Glyph (\d+) ")


def check_ending(path: str | Path) -> Path:
    """The name of a picture, refused before any work is done if nothing could be drawn under it."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: pictures are written as {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, by their ending")
    return place(path)


def picture_in(path: str | Path, usual: str) -> Path:
    """A picture by its own name, or by its usual name in a folder."""
    return Path(path) if Path(path).suffix.lower() in ENDINGS else Path(path) / usual


def plain(text: str) -> str:
    """Text as it is: matplotlib would set what stands between two dollars as a formula, and draws no orders."""
    return text.encode("utf-8", "replace").decode().translate(ORDERS).replace("$", r"\$")


def left_to_right(line: str) -> str:
    """A line that reads from left to right, with every arrow in it, although it has Hebrew or Arabic letters."""
    if not any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in line):
        return line
    return MARK + line.replace("→", f"{MARK}→{MARK}")


def short(text: str, most: int) -> str:
    """Text as a picture has room for it: names of runs, classes and data may have hundreds of letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def canvas(width: float, height: float) -> "tuple[Figure, Axes]":
    """An empty picture, in inches."""
    figure, (axes,) = panels(width, height, 1)
    return figure, axes


def panels(width: float, height: float, count: int) -> "tuple[Figure, list[Axes]]":
    """An empty picture of so many parts side by side, in inches."""
    figure, (row,) = sheet(width, height, 1, count)
    return figure, row


def sheet(width: float, height: float, rows: int, columns: int) -> "tuple[Figure, list[list[Axes]]]":
    """An empty picture of so many rows of parts, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")  # not pyplot's: a notebook keeps its own settings
    return figure, [list(row) for row in figure.subplots(rows, columns, squeeze=False)]


def write(figure: "Figure", path: str | Path, listener: Listener | None = None) -> Path:
    """As PNG, SVG or PDF, by its ending. Whoever listens is told of letters that no font here has; else it is a
    Python warning."""
    path = check_ending(path)
    content, without = rendered(figure, path.suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, content)
    if without:
        said = _boxes(path, without)
        warn(said, stacklevel=3) if listener is None else listener.say(said)
    return path


def rendered(figure: "Figure", ending: str) -> tuple[bytes, str]:
    """What such a file holds, drawn with fonts of this machine, and the letters that none of them has."""
    content, missing = _drawn(figure, ending, [USUAL])
    fonts, without = _fonts_for(missing) if missing else ([], "")
    return (_drawn(figure, ending, [USUAL, *fonts])[0] if fonts else content), without


def _drawn(figure: "Figure", ending: str, fonts: list[str]) -> tuple[bytes, str]:
    """A picture with these fonts, and the letters that none of them has."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_fontfamily(fonts)
    with catch_warnings(record=True) as heard:
        simplefilter("always")
        save_figure(figure, made := BytesIO(), ending[1:].lower())
    found = [MISSING.match(str(one.message)) for one in heard]
    for one, glyph in zip(heard, found, strict=True):
        if glyph is None:
            warn(one.message, stacklevel=3)
    return made.getvalue(), "".join(dict.fromkeys(chr(int(glyph[1])) for glyph in found if glyph is not None))


def save_figure(figure: "Figure", file: BytesIO, kind: str, dpi: int = 130) -> None:
    """Draw a picture into a file, as `png`, `svg` or `pdf`.

    A matplotlibrc in the current folder could have all its texts set by LaTeX, which reads and writes files.
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_usetex(False)
    with rc_context({"text.usetex": False}):
        figure.savefig(file, format=kind, dpi=dpi)


def _fonts_for(letters: str) -> tuple[list[str], str]:
    """Fonts of this machine that have some of the letters, and the letters that none of them has."""
    from matplotlib import font_manager

    chosen, left = [], letters
    _bring_fonts(letters)
    there = [font for font in font_manager.fontManager.ttflist if not font.name.startswith(LAST_RESORT)]
    for font in sorted(there, key=lambda font: ("Sans" not in font.name, font.name)):
        if not left:
            break
        try:
            face = font_manager.get_font(font.fname)
            without = "".join(letter for letter in left if not face.get_char_index(ord(letter)))
        except (OSError, RuntimeError):  # not a font that can be drawn with, such as coloured pictures
            continue
        if len(without) < len(left):
            chosen.append(font.name)
            left = without
    return chosen, left


def _bring_fonts(letters: str) -> None:
    """Let matplotlib know of fonts that an installed package has, if they are for these letters; it is not run."""
    from matplotlib import font_manager

    known = {font.fname for font in font_manager.fontManager.ttflist}
    for script in {_script(letter) for letter in letters} & set(BROUGHT):
        found = find_spec(BROUGHT[script][0])
        folders = [] if found is None else found.submodule_search_locations or []
        for path in sorted(file for folder in folders for file in Path(folder).rglob("*.ttf")):
            if str(path) not in known:
                font_manager.fontManager.addfont(path)


def _boxes(path: Path, letters: str) -> str:
    scripts = list(dict.fromkeys(map(_script, letters)))
    named = " and ".join(dict.fromkeys("Noto Sans CJK" if one in EAST_ASIAN else _noto(one) for one in scripts))
    shown = " ".join(letters[:SHOWN]) + (" …" if len(letters) > SHOWN else "")
    kinds = " or ".join("CJK" if one == "CJK" else one.capitalize() for one in scripts)
    said = f"{path}: no font with {kinds} letters here, so they are boxes ({shown}); install one, such as {named}"
    return said + "".join(f", or pip install '{BROUGHT[one][1]}'" for one in scripts if one in BROUGHT)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "OTHER").split()[0]


def _noto(script: str) -> str:
    return f"Noto Sans {script.capitalize()}"
