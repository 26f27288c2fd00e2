"""Quality against the length of the source."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.look.pictures import canvas, write
from regard.tasks.scores import Bin


def plot_lengths(runs: Mapping[str, Sequence[Bin]], path: Path) -> Path:
    """BLEU of every run by words in the source; a fixed vector falls where attention does not [N2:83, N4:28]."""
    figure, axes = canvas(7.5, 4.2)
    for name, bins in runs.items():
        axes.plot([(part.least + part.most) / 2 for part in bins], [part.bleu for part in bins], "o-", label=name)
    bins = max(runs.values(), key=len)
    axes.set_xticks([(part.least + part.most) / 2 for part in bins], [f"{part.least}–{part.most}" for part in bins])
    axes.set(xlabel="words in the source", ylabel="BLEU", ylim=(0, None), title="BLEU by length of the source")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return write(figure, path)
