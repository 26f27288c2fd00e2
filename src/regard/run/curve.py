"""The learning curve of a run: as a table and as a picture, from its log."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cells import CsvWriter
from regard.disk import place, write
from regard.disk.write import reason
from regard.errors import InputError
from regard.figures import text_table
from regard.listener import Listener
from regard.markup import COLOURS, Point, curves
from regard.pictures import canvas, check_ending, plain, save_figure, short
from regard.recipe.read import is_run
from regard.run import history

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TABLE, PICTURE = "curve.csv", "curve.png"
LABEL, HEADING = 40, 80  # letters of the name of a run
FEW = 20  # rows that are drawn as points too
ENDINGS = (".png", ".svg", ".pdf")


Row = dict[str, int | float]


class Curve(list[Row]):
    """The learning curve of a run, a row for every step that was logged: `{"step": 50, "loss": 2.1, …}`.

    Rows in which the run was validated have valid_loss and the like too; `draw` makes a picture of it.
    """

    def __init__(self, rows: Iterable[Row], name: str = "") -> None:
        super().__init__(rows)
        self.name = name

    def of(self, key: str) -> list[Point]:
        """The values of one column, such as `loss` or `valid_bleu`, each with its step."""
        return [(row["step"], row[key]) for row in self if key in row]

    def draw(self, path: str | Path, others: "Mapping[str, Curve] | None" = None) -> Path:
        """The curve as .png, .svg or .pdf; with `others` the losses of all of them, by name, in one picture."""
        path = check_ending(place(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        if others is None:
            _draw(self, self.name, file, path.suffix[1:].lower())
        else:
            _draw_all(_curves(others), file, path.suffix[1:].lower())
        write(path, file.getvalue())
        return path

    def __str__(self) -> str:
        names = columns(self)
        cells = [[_shown(row.get(name, "")) for name in names] for row in self]
        return text_table([f" {name}" for name in names], cells)

    def _repr_html_(self) -> str:
        return curves({"loss": self.of("loss"), "validation loss": self.of("valid_loss")}, height=140)


def columns(table: Iterable[Row]) -> list[str]:
    """Everything that was ever logged: step and loss first, then the scores of validations."""
    kept = list(table)
    names = dict.fromkeys(["step", "loss", *(key for row in kept for key in row if key.startswith("valid_"))])
    return list(names | dict.fromkeys(key for row in kept for key in row))


def rows(folder: Path) -> list[Row]:
    """What was logged, a row a step: the loss since the last row, and the scores of validations as valid_loss, …"""
    found: dict[int, Row] = {}
    for entry in history.entries(folder):
        step = entry.get("step")
        if isinstance(step, int):
            flat = {f"valid_{key}": value for key, value in _table(entry.get("valid")).items()}
            flat |= {key: value for key, value in entry.items() if key not in ("step", "valid")}
            numbers = {key: value for key, value in flat.items() if isinstance(value, int | float)}
            found[step] = {"step": step} | found.get(step, {}) | numbers
    return [found[step] for step in sorted(found) if found[step].keys() - {"step", "seconds"}]


def as_csv(folder: Path) -> bytes:
    """The rows as a table: step and loss first, a column for everything that was ever logged."""
    table = rows(folder)
    text = io.StringIO()
    writer, heads = CsvWriter(text), columns(table)
    writer.row(heads)
    for one in table:
        writer.row(one.get(head, "") for head in heads)
    return text.getvalue().encode()


def draw(folder: Path, title: str) -> bytes:
    """The curve as a PNG."""
    file = io.BytesIO()
    _draw(rows(folder), title, file, "png")
    return file.getvalue()


def curve_file(folder: Path, title: str, path: Path) -> Path:
    """The curve in a file of the user's: .csv, .png, .svg or .pdf by its ending."""
    if path.suffix == ".csv":
        content = as_csv(folder)
    elif path.suffix in ENDINGS:
        file = io.BytesIO()
        _draw(rows(folder), title, file, path.suffix[1:])
        content = file.getvalue()
    else:
        raise InputError(f"{path}: a curve is written as .csv, {', '.join(ENDINGS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, content)
    return path


def keep_table(folder: Path, listener: Listener) -> None:
    """Write curve.csv into the run. Whatever goes wrong is said, and costs nothing but the curve."""
    if not is_run(folder):  # removed meanwhile
        return
    try:
        write(folder / TABLE, as_csv(folder))
    except (OSError, InputError) as error:
        listener.say(f"{folder / TABLE}: not written: {reason(error)}")


def keep_picture(folder: Path, title: str, listener: Listener) -> None:
    """Write curve.png into the run, if anything has happened there; whatever goes wrong is said and costs no more."""
    if not is_run(folder) or not history.entries(folder):
        return
    try:
        write(folder / PICTURE, draw(folder, title))
    except Exception as error:  # matplotlib, its fonts, the disk: the run itself is whole
        listener.say(f"{folder / PICTURE}: not drawn: {reason(error)}")


def _draw(table: list[Row], title: str, file: io.BytesIO, kind: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure((7.0, 4.0))
    left = figure.add_axes((0.1, 0.13, 0.79, 0.71))
    _line(left, table, "loss", "training loss", "#888888", "-" if len(table) > FEW else ".-")
    _line(left, table, "valid_loss", "validation loss", "#1f6fb4", "o-")
    left.set(xlabel="step", ylabel="loss")
    figure.suptitle(plain(short(title, HEADING)), fontsize="medium", y=0.98)
    left.grid(alpha=0.3)
    others = [name for name in dict.fromkeys(key for row in table for key in row) if name.startswith("valid_")]
    others = [name for name in others if name != "valid_loss"]
    lines = [*left.get_lines()]
    if others:
        right = left.twinx()
        for name, colour in zip(others, ("#d1495b", "#e09f3e", "#5a9367", "#7a5195"), strict=False):
            _line(right, table, name, name.removeprefix("valid_"), colour, "o--")
        right.set_ylabel("score")
        lines += right.get_lines()
    if lines:
        names = [str(line.get_label()) for line in lines]
        left.legend(lines, names, frameon=False, fontsize="small", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    save_figure(figure, file, kind, dpi=110)


def _draw_all(found: "Mapping[str, Curve]", file: io.BytesIO, kind: str) -> None:
    """A colour for every run: what it learnt from as a thin line, what it was examined on with points."""
    figure, axes = canvas(7.0, 4.0)
    for number, (name, curve) in enumerate(found.items()):
        colour = COLOURS[number % len(COLOURS)]
        for key, style, wide, label in (("loss", "-", 0.8, ""), ("valid_loss", "o-", 1.5, " (validation)")):
            if points := curve.of(key):
                axes.plot(
                    *zip(*points, strict=True),
                    style,
                    color=colour,
                    linewidth=wide,
                    label=plain(short(name, LABEL)) + label,
                )
    axes.set(xlabel="step", ylabel="loss")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small")
    save_figure(figure, file, kind)


def _curves(others: "Mapping[str, Curve]") -> "Mapping[str, Curve]":
    wrong = others if not isinstance(others, Mapping) else [c for c in others.values() if not isinstance(c, Curve)]
    if wrong or not others:
        raise InputError('others: wanted curves by name, such as {"a": a.curve(), "b": b.curve()}')
    return others


def _line(axes: "Axes", table: list[Row], name: str, label: str, colour: str, style: str = "-") -> None:
    points = [(row["step"], row[name]) for row in table if name in row]
    if points:
        axes.plot(*zip(*points, strict=True), style, label=plain(label), color=colour, markersize=3, linewidth=1.3)


def _shown(value: int | float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
