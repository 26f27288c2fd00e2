"""An image as a classifier reads it, to be looked at: its patches, and the class that it is said to show."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from regard.datasets.images.asked import Given, asked_images
from regard.datasets.lines import one_line
from regard.errors import InputError
from regard.looking.cells import Cells
from regard.looking.line import Line, plain_line
from regard.looking.scene import Piece, Scene, Side
from regard.looking.seen_image import Pixels, SeenImage, patch_line
from regard.model.assembly import ImageClassifier
from regard.model.vision import Patches
from regard.tasks.classification.classifier import Classifier

READ = ("[CLS]", "[DIST]")
NAMED = 8  # classes that an error names


def classification_scene(classifier: Classifier, given: Given, target: str = "") -> Scene:
    """One image and its likeliest class, or `target` as if that had been said."""
    asked = asked_images([given])
    image = next(asked)
    if next(asked, None) is not None:
        raise InputError(f"{given}: several images; name one of them")
    name = "the image" if isinstance(given, np.ndarray) else image.name
    return _scene(classifier, image.pixels(), name, _class(classifier, target) if target else None)


def _class(classifier: Classifier, target: str) -> int:
    classes = classifier.facts.classes
    if target not in classes:
        there = ", ".join(map(one_line, classes[:NAMED])) + (" …" if len(classes) > NAMED else "")
        raise InputError(f"{target}: no class of this run; there are {there}")
    return classes.index(target)


def _scene(classifier: Classifier, pixels: Pixels, name: str, label: int | None = None) -> Scene:
    model, facts = classifier.model, classifier.facts
    ready = torch.from_numpy(np.array(classifier.fitted(pixels)))[None]
    said = int(classifier.log_probabilities(ready).argmax()) if label is None else label
    device = next(model.parameters()).device
    image, line, embed = _laid_out(model, ready)

    def other(changed: Pixels | None, called: str, chosen: int | None) -> Scene:
        return _scene(classifier, pixels if changed is None else changed, called, chosen)

    def states(given: Tensor) -> Tensor:
        whole = embed.joined(embed(given)) if isinstance(embed, Cells) else given
        found: Tensor = model.body(whole.contiguous())
        return found[:, None]  # one step, which says the class

    sizes: dict[Side, int] = {"source": len(line), "outputs": 1}
    lines: dict[Side, Line] = {"source": line, "outputs": plain_line([facts.classes[said]])}
    piece = Piece((facts.normalised(ready.to(device)),), torch.tensor([said], device=device), sizes)
    dark = sum(facts.mean) < len(facts.mean) / 2
    seen = SeenImage(np.ascontiguousarray(ready[0].permute(1, 2, 0).numpy()), *image, dark, other)
    return Scene(
        model,
        lines,
        [piece],
        states,
        {"source": embed},
        name,
        facts.classes[said],
        again=lambda: facts.classes[int(classifier.log_probabilities(ready).argmax())],
        names=partial(_names, facts.classes),
        image=seen,
    )


def _names(classes: Sequence[str], ids: Sequence[int]) -> list[str]:
    return [classes[one] for one in ids]


def _laid_out(
    model: ImageClassifier, ready: Tensor
) -> tuple[tuple[int, int, tuple[int, int], str], Line, torch.nn.Module]:
    """Rows and columns of patches, who stands for the image, all positions by name, and what stands for patches."""
    body = model.body
    if not isinstance(body, Patches):
        cells = Cells(*ready.shape[2:])
        shape = (cells.rows, cells.columns)
        return (*shape, (0, cells.rows * cells.columns), "all cells"), patch_line((), *shape), cells
    grid = body.grid
    extra = [*READ[: body.read], *(f"reg{number}" for number in range(grid.extra - body.read))]
    stands = (0, body.read) if body.read else (grid.extra, grid.count)
    who = " and ".join(READ[: body.read]) if body.read else "all patches, their mean"
    return (grid.rows, grid.columns, stands, who), patch_line(extra, grid.rows, grid.columns), body.embed
