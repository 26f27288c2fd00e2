"""Which source words each written word looked at: in numbers, in the terminal, and as a picture."""

from dataclasses import dataclass
from pathlib import Path

import torch
from rich.cells import cell_len, set_cell_size

from regard.data.batches import rows
from regard.data.tokens import BEGIN, END
from regard.errors import InputError
from regard.look.pictures import canvas, write
from regard.model.watch import watch
from regard.tasks.translator import Translator

SHADES = " ░▒▓█"


@dataclass(frozen=True)
class Alignment:
    """Weights of written words (rows) on source words (columns), the mean over heads and layers."""

    source: list[str]
    target: list[str]
    weights: list[list[float]]

    def __str__(self) -> str:
        """A small heat map: source words stand upright above their columns."""
        label = max(map(cell_len, self.target), default=0)
        height = max(map(len, self.source), default=0)
        upright = [word.rjust(height) for word in self.source]
        letters = ["".join(set_cell_size(word[line], 2) for word in upright) for line in range(height)]
        lines = [" " * (label + 1) + line for line in letters]
        for word, weights in zip(self.target, self.weights, strict=True):
            before = " " * (label - cell_len(word))
            lines.append(f"{before}{word} " + "".join(2 * _shade(weight) for weight in weights))
        return "\n".join(lines)

    def draw(self, path: Path, title: str = "") -> Path:
        """The same as PNG or SVG."""
        figure, axes = canvas(2.2 + 0.42 * len(self.source), 1.8 + 0.36 * len(self.target))
        picture = axes.imshow(self.weights, cmap="Greens", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(self.source)), self.source, rotation=60, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(self.target)), self.target)
        axes.xaxis.tick_top()
        axes.set(xlabel=title)
        figure.colorbar(picture, ax=axes, label="weight")
        return write(figure, path)


@torch.inference_mode()
def align(translator: Translator, source: str, target: str) -> Alignment:
    """Let the model write `target` for `source` once more, and watch where it looks."""
    model, vocabulary = translator.model, translator.vocabulary
    asked, said = vocabulary.source.encode([source])[0], vocabulary.target.encode([target])[0]
    device = next(model.parameters()).device
    ids, lengths = (tensor.to(device) for tensor in rows([asked]))
    with watch(model.decoder) as seen:
        model.states(ids, torch.tensor([[BEGIN, *said]], device=device), lengths)
    looks = [sight.weights for name, sight in seen.items() if _across(name) and sight.seen]
    if not looks:
        raise InputError("this model has no attention to the source: it knows it by one fixed vector")
    weights = torch.stack([look[0].mean(0) for look in looks]).mean(0)
    return Alignment(vocabulary.source.pieces([*asked, END]), vocabulary.target.pieces([*said, END]), weights.tolist())


def _across(name: str) -> bool:
    """Cross-attention is called `cross` in Transformers; other decoders have no other kind."""
    return "layers." not in name or name.endswith(".cross")


def _shade(weight: float) -> str:
    return SHADES[min(len(SHADES) - 1, int(weight * len(SHADES)))]
