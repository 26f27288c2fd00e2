"""What all pictures share: no window is opened, and letters of any script are drawn if a font for them is there."""

from pathlib import Path
from typing import TYPE_CHECKING
from warnings import catch_warnings, filterwarnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCRIPTS = (
    *("Noto Sans CJK KR", "Noto Sans KR", "NanumGothic", "Malgun Gothic", "Apple SD Gothic Neo"),
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Arial Unicode MS", "Unifont"),
)


def canvas(width: float, height: float) -> "tuple[Figure, Axes]":
    """An empty picture, in inches."""
    figure, (axes,) = panels(width, height, 1)
    return figure, axes


def panels(width: float, height: float, count: int) -> "tuple[Figure, list[Axes]]":
    """An empty picture of so many parts side by side, in inches."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import font_manager, pyplot

    there = {font.name for font in font_manager.fontManager.ttflist}
    mpl.rcParams["font.family"] = ["DejaVu Sans", *(name for name in SCRIPTS if name in there)]
    figure, axes = pyplot.subplots(1, count, figsize=(width, height), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def write(figure: "Figure", path: Path) -> Path:
    """As PNG or SVG, by its ending."""
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    with catch_warnings():
        filterwarnings("ignore", message="Glyph")  # drawn as a box where no font has it
        figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path
