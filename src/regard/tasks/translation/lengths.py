"""BLEU by the length of the source, as a picture."""

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from regard.listener import Listener
from regard.pictures import canvas, plain, short, write
from regard.tasks.translation.scores import Bin

FEW = 20  # pairs below which the BLEU of a group says little
LABEL, HEADING = 40, 100  # letters of the name of a run, and of the data


def plot_lengths(
    runs: Mapping[str, Sequence[Bin]], path: Path, listener: Listener | None = None, about: str = ""
) -> Path:
    """BLEU of every run by the length of the source; a fixed vector falls where attention does not [N2:83, N4:28].

    Groups of few pairs are faint and hollow: they say little. Groups whose references are too short for BLEU have no
    point; where all are, chrF is drawn instead. `about` names the data.
    """
    has_bleu = any(not isnan(part.bleu) for bins in runs.values() for part in bins)
    metric, called = ("bleu", "BLEU") if has_bleu else ("chrf", "chrF")
    figure, axes = canvas(7.5, 4.4)
    for number, (name, bins) in enumerate(runs.items()):
        colour = f"C{number}"
        shown = [
            (_middle(part), getattr(part, metric), part.count) for part in bins if not isnan(getattr(part, metric))
        ]
        axes.plot([x for x, _, _ in shown], [y for _, y, _ in shown], "-", color=colour, alpha=0.35)
        many = [(x, y) for x, y, count in shown if count >= FEW]
        few = [(x, y) for x, y, count in shown if count < FEW]
        label = plain(short(name, LABEL))
        hollow: dict[str, Any] = {"color": colour, "alpha": 0.35, "fillstyle": "none", "label": None if many else label}
        axes.plot([x for x, _ in many], [y for _, y in many], "o", color=colour, label=label if many else None)
        axes.plot([x for x, _ in few], [y for _, y in few], "o", **hollow)
    bins = max(runs.values(), key=len)
    axes.set_xticks(list(map(_middle, bins)), [f"{part.least}–{part.most}\n{part.count:,}" for part in bins])
    below = f"{bins[0].unit} in the source, and how many pairs"
    if any(part.count < FEW for parts in runs.values() for part in parts):
        below += f" (hollow: fewer than {FEW})"
    if any(isnan(getattr(part, metric)) for parts in runs.values() for part in parts):
        below += "\nno point: most references have fewer than the four tokens that BLEU needs"
    axes.set(xlabel=below, ylabel=called, ylim=(0, None), title=f"{called} by length of the source")
    if about:
        figure.suptitle(plain(short(about, HEADING)), fontsize=8)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return write(figure, path, listener)


def _middle(part: Bin) -> float:
    return (part.least + part.most) / 2
