"""BLEU by the length of the source, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.listener import Listener
from regard.pictures import canvas, plain, write
from regard.tasks.translation.scores import Bin

FEW = 20  # pairs below which the BLEU of a group is left to chance


def plot_lengths(runs: Mapping[str, Sequence[Bin]], path: Path, listener: Listener | None = None) -> Path:
    """BLEU of every run by the length of the source; a fixed vector falls where attention does not [N2:83, N4:28].

    Groups of few pairs are faint and hollow: they say little.
    """
    figure, axes = canvas(7.5, 4.2)
    for number, (name, bins) in enumerate(runs.items()):
        colour, places = f"C{number}", list(map(_middle, bins))
        axes.plot(places, [part.bleu for part in bins], "-", color=colour, alpha=0.35)
        many = [part for part in bins if part.count >= FEW]
        few = [part for part in bins if part.count < FEW]
        axes.plot(list(map(_middle, many)), [part.bleu for part in many], "o", color=colour, label=plain(name))
        hollow: dict[str, Any] = {
            "color": colour,
            "alpha": 0.35,
            "fillstyle": "none",
            "label": None if many else plain(name),
        }
        axes.plot(list(map(_middle, few)), [part.bleu for part in few], "o", **hollow)
    bins = max(runs.values(), key=len)
    axes.set_xticks(list(map(_middle, bins)), [f"{part.least}–{part.most}\n{part.count:,}" for part in bins])
    below = f"{bins[0].unit} in the source, and how many pairs"
    if any(part.count < FEW for parts in runs.values() for part in parts):
        below += f" (hollow: fewer than {FEW})"
    axes.set(xlabel=below, ylabel="BLEU", ylim=(0, None), title="BLEU by length of the source")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return write(figure, path, listener)


def _middle(part: Bin) -> float:
    return (part.least + part.most) / 2
