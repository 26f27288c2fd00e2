"""What was looked at, written down: pictures, or exact numbers as CSV and JSON, by the ending of a name."""

from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.cells import CsvWriter
from regard.disk import check_place, place, write
from regard.disk.files import json_text
from regard.errors import InputError
from regard.listener import Listener
from regard.looking.drawing import draw, draw_grid
from regard.looking.heads import Heads
from regard.looking.look import Look
from regard.looking.overlay import draw_overlay
from regard.looking.panel import Panel
from regard.pictures import ENDINGS

NUMBERS = (".csv", ".json")
PAGE = ".html"
MOST = 10_000_000  # numbers in a file


def check_name(path: str | Path, only_numbers: bool = False) -> Path:
    """Where to write, refused before any work is done if nothing could be written under that name."""
    there = NUMBERS if only_numbers else (*ENDINGS, *NUMBERS, PAGE)
    if Path(path).suffix.lower() not in there:
        what = "numbers about heads are" if only_numbers else "what was looked at is"
        raise InputError(f"{path}: {what} written as {', '.join(there[:-1])} or {there[-1]}, by their ending")
    found = place(path)
    check_place(found)
    if found.is_dir():
        raise InputError(f"{path}: a folder; name a file in it")
    return found


def usual_view(look: Look) -> str:
    """What is drawn unless something else is asked for: an alignment, all heads, or influence."""
    if look.scene.image is not None and look.kinds:
        return f"heads.{look.kinds[-1]}"
    return f"heads.{look.usual}" if look.usual in ("encoder", "masked") else look.usual


def save(
    look: Look,
    path: str | Path,
    view: str = "",
    *,
    words: bool | None = None,
    rows: str = "",
    listener: Listener | None = None,
) -> Path:
    """A view under a name. `rows` is START:STOP, in words or tokens."""
    found, view = check_name(path), view or usual_view(look)
    if found.suffix.lower() == PAGE:
        from regard.looking.page.document import static_document

        return put(found, static_document([look], words=words))
    words = look.words if words is None else words
    if look.scene.image is not None and found.suffix.lower() in ENDINGS:
        return draw_overlay(look, view, found, rows, listener)
    kind = look.grid(view)
    panels = [panel.cut(rows, words) for panel in look.panels(view)]
    title = " → ".join(part for part in (look.scene.read, look.scene.written) if part)
    if found.suffix.lower() in ENDINGS:
        if kind and not rows:
            return draw_grid(look, kind, found, words, _short(title), listener)
        if len(panels) > 1:
            raise InputError(
                f"rows: of a picture of all heads no rows are cut out; choose one head, such as {panels[0].name}"
            )
        return draw(look, panels[0], found, words, _short(title), listener)
    _check_size(panels, words)
    content = csv_table(panels, words) if found.suffix.lower() == ".csv" else json_document(look, view, panels, words)
    return put(found, content)


def put(path: Path, content: str) -> Path:
    """Written whole, in a folder that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, content.encode("utf-8", "replace"))
    return path


def csv_table(panels: Sequence[Panel], words: bool) -> str:
    """A line a row of a panel, a column for every word that is looked at; numbers to the last bit of float32."""
    out = StringIO()
    table = CsvWriter(out)
    table.row(["kind", "layer", "head", "row", "word" if words else "token", *panels[0].columns.labels(words)])
    for panel in panels:
        kind, layer, head = (_of(part, panel) for part in panel.place)
        labels = panel.rows.labels(words)
        for start, block in panel.blocks(words):
            for number, line in enumerate(block.tolist(), start):
                table.row([kind, layer, head, number, labels[number], *(f"{one:.9g}" for one in line)])
    return out.getvalue()


def json_document(look: Look, view: str, panels: Sequence[Panel], words: bool) -> str:
    """All there is to know about a look, the panels of a view with their weights, and log p of what was written."""
    shown = []
    for panel in panels:
        kind, layer, head = panel.place
        one: dict[str, Any] = {"name": panel.name, "kind": kind, "layer": layer, "head": head, "title": panel.title}
        one |= {"rows": list(panel.rows.labels(words)), "columns": list(panel.columns.labels(words))}
        one["weights"] = _exact(panel.table(words))
        shown.append(one)
    document = look.facts() | {"view": view, "words": words, "panels": shown}
    document["log_probs"] = [_nine(-cost) for cost in look.scene.costs()]
    return json_text(document)


def document(look: Look, view: str = "", *, words: bool | None = None, rows: str = "") -> str:
    """The JSON of a view, as `save` writes it."""
    view, words = view or usual_view(look), look.words if words is None else words
    panels = [panel.cut(rows, words) for panel in look.panels(view)]
    _check_size(panels, words)
    return json_document(look, view, panels, words)


def heads_file(look: Look, heads: Heads, path: Path) -> Path:
    """Numbers about heads: as JSON with the likeness of every two, or as CSV with a line a head."""
    if path.suffix.lower() == ".json":
        return put(path, json_text(look.facts() | heads.facts()))
    names = list(dict.fromkeys(name for head in heads.heads for name in head.scores))
    out = StringIO()
    table = CsvWriter(out)
    table.row(["head", "role", "strength", *names, *(f"even_{name}" for name in names), "loss", "changed"])
    for head in heads.heads:
        scores = (_cell(part.get(name)) for part in (head.scores, head.even) for name in names)
        table.row([head.name, head.role, _cell(head.strength), *scores, _cell(head.effect.loss), head.effect.changed])
    return put(path, out.getvalue())


def _of(part: str | int | None, panel: Panel) -> str:
    """A number, or `mean` of all; what follows heads or needs none is of no layer."""
    if part is None:
        return "" if "." in panel.place[0] else "mean"
    return str(part)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def _check_size(panels: Iterable[Panel], words: bool) -> None:
    total = sum(tall * wide for tall, wide in (panel.shape(words) for panel in panels))
    if total > MOST:
        raise InputError(
            f"{total:,} numbers are too many for one file ({MOST:,} at most); choose one head or fewer rows: ",
            call='view="masked.0.0", rows="0:100"',
            flag="--view masked.0.0 --rows 0:100",
        )


def _exact(weights: Tensor) -> list[list[float]]:
    """Nine figures say every float32 exactly."""
    return [[_nine(one) for one in row] for row in weights.tolist()]


def _nine(number: float) -> float:
    return float(f"{number:.9g}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:98] + "…"
