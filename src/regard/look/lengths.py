"""Quality against the length of the source."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.tasks.scores import Bin


def plot_lengths(runs: Mapping[str, Sequence[Bin]], path: Path) -> Path:
    """BLEU of every run by words in the source; a fixed vector falls where attention does not [N2:83, N4:28]."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.2), layout="constrained")
    for name, bins in runs.items():
        axes.plot([(part.least + part.most) / 2 for part in bins], [part.bleu for part in bins], "o-", label=name)
    bins = max(runs.values(), key=len)
    axes.set_xticks([(part.least + part.most) / 2 for part in bins], [f"{part.least}–{part.most}" for part in bins])
    axes.set(xlabel="words in the source", ylabel="BLEU", ylim=(0, None), title="BLEU by length of the source")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path
