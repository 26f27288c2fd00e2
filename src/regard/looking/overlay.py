"""What was looked at in an image, laid over it: one head, all heads, a rollout, or influence.

A row of weights has a place for every patch [N0:174-177], so it is a picture of its own; shown is the row of what
stands for the image ([CLS], or the mean of all patches), or of the rows that are asked for.
"""

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from regard.listener import Listener
from regard.looking.images import Look as ImageLook
from regard.looking.images import draw_looks
from regard.looking.look import Look
from regard.looking.panel import Panel
from regard.looking.seen_image import SeenImage

SHEET = 16.0  # inches that all heads of a layer may take side by side
SMALL, USUAL = 0.7, 2.6  # of one of them
ROOMY = 1.9  # from which on figures have room above it


def seen_image(look: Look) -> SeenImage:
    """The image of a look that has one."""
    found = look.scene.image
    assert found is not None
    return found


def of_image(look: Look, panel: Panel, rows: str = "") -> Float[Tensor, "S"]:
    """Weights of the rows that are said, their mean; of those that stand for the image if none are."""
    if not rows and panel.rows is look.scene.lines["source"]:
        start, stop = seen_image(look).stands
        rows = f"{start}:{stop}"
    blocks = [block.sum(0) for _, block in panel.cut(rows, False).blocks(False)]
    return torch.stack(blocks).sum(0).cpu() / panel.cut(rows, False).shape(False)[0]


def grid(look: Look, panel: Panel, rows: str = "") -> list[list[float]]:
    """The same on patches, where these lie."""
    image = seen_image(look)
    found: list[list[float]] = of_image(look, panel, rows)[-image.patches :].view(image.rows, image.columns).tolist()
    return found


def overlay_text(look: Look, view: str, rows: str = "") -> str:
    """The image and what was looked at in letters, side by side; head by head if a view has many."""
    panels = look.panels(view)
    shown = [(panel, ImageLook(seen_image(look).pixels, {panel.name: grid(look, panel, rows)}, "")) for panel in panels]
    return "\n\n".join((f"{panel.name}\n" if len(panels) > 1 else "") + str(one) for panel, one in shown)


def draw_overlay(look: Look, view: str, path: str | Path, rows: str = "", listener: Listener | None = None) -> Path:
    """As PNG, SVG or PDF: the image and one picture of it, or a row of them for each layer."""
    image, kind = seen_image(look), look.grid(view)
    title = f"{look.scene.read}: {look.scene.written}"
    if not kind:
        panel = look.panel(view)
        about = _about(look, view, rows)
        one = ImageLook(image.pixels, {_titled(look, panel, rows): grid(look, panel, rows)}, about)
        return draw_looks({title: one}, path, listener)
    layers, looks = look.of(kind), {}
    across = 1 + max(layer.heads for layer in layers)
    wide = max(SMALL, min(USUAL, SHEET / across))
    about = _about(look, view, rows)
    for layer in layers:
        panels = [look.panel(f"{layer}.{head}") for head in range(layer.heads)]
        maps = {_headed(look, head, one, rows, wide): grid(look, one, rows) for head, one in enumerate(panels)}
        looks[f"layer {layer.number}"] = ImageLook(image.pixels, maps, f"{title}\n{about}")
    return draw_looks(looks, path, listener, wide)


def _who(look: Look, rows: str) -> str:
    return f"rows {rows}" if rows else seen_image(look).who


def _headed(look: Look, head: int, panel: Panel, rows: str, wide: float) -> str:
    """A head's number and, where there is room, how much the brightest patch has and how much is on no patch: each
    picture is as bright as its own largest weight, so that a head which hardly looks at the image looks like any
    other."""
    if wide < ROOMY:
        return f"head {head}"
    weights, patches = of_image(look, panel, rows), seen_image(look).patches
    beside = f", {100 * float(weights[:-patches].sum()):.0f} % on no patch" if len(weights) > patches else ""
    return f"head {head}: up to {100 * float(weights[-patches:].max()):.0f} %{beside}"


def _titled(look: Look, panel: Panel, rows: str) -> str:
    """What a picture is, and how much of its weight is on no patch."""
    if panel.rows is not look.scene.lines["source"]:
        return panel.title
    weights = of_image(look, panel, rows)
    beside = float(weights[: -seen_image(look).patches].sum())
    lost = f", {100 * beside:.0f} % on no patch" if len(weights) > seen_image(look).patches else ""
    return f"{panel.title}\nfrom {_who(look, rows)}{lost}"


def _about(look: Look, view: str, rows: str) -> str:
    """What must be known to read it rightly."""
    if view.startswith("influence"):
        said = ["gradient × input: what spoke for or against the class; brightest is most"]
    else:
        said = [f"from {_who(look, rows)}; brightest is most, of each picture by itself"]
        said.append(f"weights {look.exactly}")
    return "\n".join(said)
