"""A panel where no picture can be: on a terminal, in letters and shades, and as a table in a notebook."""

from regard.looking.alignment import Alignment
from regard.looking.panel import Panel
from regard.markup import said

TERMINAL, NOTEBOOK = 36, 300  # words a side that can be shown there


def in_letters(panel: Panel, words: bool = True) -> str:
    """A heat map for a terminal; of one that no terminal is wide enough for, its size."""
    if panel.shape(words)[1] > TERMINAL:
        return f"{panel.title}: {_size(panel, words)}, too wide for a terminal; as a picture it can be seen"
    return str(_alignment(panel, words))


def in_html(panel: Panel, words: bool = True) -> str:
    """A heat map for a notebook."""
    if max(panel.shape(words)) > NOTEBOOK:
        return said(f"{panel.title}: {_size(panel, words)}, too many for a notebook; save it as a picture")
    return _alignment(panel, words)._repr_html_()


def _alignment(panel: Panel, words: bool) -> Alignment:
    return Alignment(list(panel.columns.labels(words)), list(panel.rows.labels(words)), panel.table(words).tolist())


def _size(panel: Panel, words: bool) -> str:
    tall, wide = panel.shape(words)
    return f"{tall:,} × {wide:,} {'words' if words else 'tokens'}"
