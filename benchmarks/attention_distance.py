"""How far a trained Vision Transformer looks (item 151): `python benchmarks/attention_distance.py RUN IMAGES`.

For every head the mean distance in pixels between a patch and what it looks at, Σ_ij α_ij |i - j| / n, of some images.
A head that looks at all alike stands where the line is; one that looks at itself alone at 0.
"""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from jaxtyping import Float
from torch import Tensor

from regard.commands.show import as_json, columns, console
from regard.datasets.images.asked import named_images
from regard.model.mode import evaluating
from regard.model.vision import Patches
from regard.model.watch import watch
from regard.trained import open_run
from regard.verbs.images import classifier_of
from shown import run

BATCH = 50


def main(
    folder: Annotated[str, typer.Argument(help="A run that classifies images by patches.")],
    images: Annotated[str, typer.Argument(help="A folder, archive or pattern of images.")],
    count: Annotated[int, typer.Option(min=1, help="So many of them.")] = 200,
    out: Annotated[Path | None, typer.Option(help="A picture of all heads by layer.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """The mean distance in pixels that each head looks, layer by layer."""
    classifier = classifier_of(open_run(folder))
    body = classifier.model.body
    assert isinstance(body, Patches)
    ready = [torch.from_numpy(classifier.fitted(one.pixels()).copy()) for one in islice(named_images(images), count)]
    found, apart = [], between(body)
    for start in range(0, len(ready), BATCH):
        found.append(distances(classifier, torch.stack(ready[start : start + BATCH]), body.grid.extra, apart))
    heads = torch.cat(found).mean(0)  # layers, heads
    even = float(apart.mean())
    if out is not None:
        draw(heads, even, out)
    if json:
        return as_json({"images": len(ready), "even": even, "pixels": heads.tolist()})
    table = columns("layer", " nearest head", " mean", " farthest head")
    for layer, line in enumerate(heads, 1):
        table.add_row(str(layer), *(f"{float(each):.1f}" for each in (line.min(), line.mean(), line.max())))
    console.print(table)
    console.print(f"Pixels, {len(ready)} images; a head that looks at all patches alike: {even:.1f}.")
    return None


def between(body: Patches) -> Float[Tensor, "N N"]:
    """From the middle of every patch to that of every other, in pixels."""
    rows, across = body.grid.places(torch.device("cpu"))
    places = torch.stack([rows * body.patch[0], across * body.patch[1]], 1)[body.grid.extra :].float()
    return torch.cdist(places, places)


def distances(classifier: Any, pixels: Tensor, extra: int, apart: Float[Tensor, "N N"]) -> Float[Tensor, "B L H"]:
    """Of each image, layer and head; what looks at, or is, no patch does not count."""
    found = []
    with torch.inference_mode(), evaluating(classifier.model), watch(classifier.model) as seen:
        classifier.model(classifier.facts.normalised(pixels))
        for sight in seen.values():
            weights = sight.weights[:, :, extra:, extra:]
            weights = weights / weights.sum(-1, keepdim=True)
            found.append((weights * apart).sum(-1).mean(-1))
    return torch.stack(found, 1)


def draw(heads: Float[Tensor, "L H"], even: float, path: Path) -> None:
    """A point for each head above its layer."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.subplots()
    for head, line in enumerate(heads.sort(1).values.T):
        axes.plot(range(1, len(heads) + 1), line, "o", color="C0", label="a head" if not head else None)
    axes.axhline(even, color="grey", linestyle="--", label="all patches alike")
    axes.set(xlabel="layer", ylabel="mean distance (pixels)", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    run(main)
