"""What the page knows of a look from the beginning, as JSON, and what it asks for as bytes."""

from collections.abc import Iterator
from typing import Any

import torch

from regard.looking.heads import measure
from regard.looking.look import Look
from regard.looking.merging import Pool
from regard.looking.page.chances import has_lens, lens, lens_rows, steps
from regard.looking.page.images import all_heads_bytes, image_bytes
from regard.looking.page.packing import Bytes, packed, thumbnails
from regard.looking.page.reckoning import can_reckon, reckon
from regard.looking.panel import Panel
from regard.looking.roles import Tally, role
from regard.looking.rollout import SQUARE

THUMB = 48  # rows and columns of a thumbnail, at most
WHOLE = 2**24  # weights of all heads of a kind: if there are more, thumbnails are of rows evenly chosen
SIDE = 1024  # rows and columns of one table, at most: what is larger is pooled
CELLS = 14_000_000  # bytes of all tables of a document
VECTORS = 4_000_000  # bytes of queries, keys and values of a document
EFFECTS = 2e11  # products for which every head is switched off once
SCORED = 2**26  # weights that are scored without waiting long
ROWS, TOGETHER = 256, 16  # rows in which roles are found where there are more weights, so many after each other
INFLUENCE = 2e11  # products for which gradients are asked
STEPS = 2048  # steps whose candidates a document holds


def about(look: Look) -> dict[str, Any]:
    """All there is to know but numbers: tokens, layers, heads, and what can be shown."""
    facts = look.facts()
    for name, line in look.scene.lines.items():
        facts["sides"][name]["texts"] = list(line.texts)
    return (
        {"run": "", "step": 0, "parameters": 0}
        | facts
        | {
            "panels": panel_names(look),
            "reckoned": [str(layer) for layer in look.layers if can_reckon(look, layer)],
            "lens": has_lens(look.scene),
            "retold": look.scene.retold is not None,
            "square": [kind for kind in look.kinds if kind in SQUARE],
            "size": sum(map(len, look.scene.lines.values())),
        }
    )


def panel_names(look: Look) -> list[str]:
    """Everything that can be drawn: means, heads, rollouts, influence."""
    names: list[str] = []
    for kind in look.kinds:
        names.append(kind)
        for layer in look.of(kind):
            names += [str(layer), *(f"{layer}.{head}" for head in range(layer.heads))]
    rolled = [f"rollout.{kind}" for kind in look.kinds if kind in SQUARE]
    return [*names, *rolled, *(f"influence.{side}" for side in look.influence.sides)]


def overview_bytes(look: Look, kind: str) -> bytes:
    """All heads of a kind as thumbnails: the largest weight of each cell; of very many rows some, evenly chosen."""
    layers, lines = look.of(kind), look.scene.lines
    rows, columns = (len(lines[side]) for side in (layers[0].rows, layers[0].columns))
    widest = max(layer.heads for layer in layers)
    every = rows * columns * widest * len(layers) <= WHOLE
    found = []
    for layer in layers:
        pool = Pool((rows, columns), THUMB, (layer.heads,))
        tall = pool.cells.shape[-2]
        if every:
            for start in range(0, rows, layer.most):
                pool.add(start, look.rows(layer, start, min(start + layer.most, rows)))
        else:
            for cell in range(tall):
                row = min(rows - 1, cell * pool.stride[0] + pool.stride[0] // 2)
                pool.add(cell * pool.stride[0], look.rows(layer, row, row + 1))
        cells = pool.cells
        found.append(torch.nn.functional.pad(cells, (0, 0, 0, 0, 0, widest - layer.heads)))
    return thumbnails(torch.stack(found))


def table_bytes(
    panel: Panel, rows: tuple[int, int], columns: tuple[int, int], most: int = SIDE, size: Bytes = 2
) -> bytes:
    """A window of a panel in tokens: as it is where it fits, else each cell the largest weight that it stands for."""
    tall, wide = rows[1] - rows[0], columns[1] - columns[0]
    if tall * wide <= most * most:
        return packed(panel.table(False, *rows)[:, columns[0] : columns[1]], size=size)
    pool = Pool((tall, wide), most)
    for start, block in panel.blocks(False, *rows):
        pool.add(start - rows[0], block[:, columns[0] : columns[1]])
    return packed(pool.cells, pool.stride, size)


def whole_bytes(panel: Panel, most: int = SIDE, size: Bytes = 2) -> bytes:
    """All of a panel."""
    tall, wide = panel.shape(False)
    return table_bytes(panel, (0, tall), (0, wide), most, size)


def roles(look: Look) -> list[dict[str, Any]]:
    """What every head does here, without switching any off; of many rows some, in blocks evenly chosen, are asked."""
    found: list[dict[str, Any]] = []
    for layer in look.layers:
        rows, columns = (look.scene.lines[side] for side in (layer.rows, layer.columns))
        tally = Tally(layer, rows, columns)
        asked, together = min(len(rows), ROWS), TOGETHER if len(rows) > ROWS else layer.most
        for number in range(0, asked, together):
            row, count = number * len(rows) // asked, min(together, asked - number)
            tally.add(row, look.rows(layer, row, row + count))
        for head, (scores, even) in enumerate(tally.scores()):
            name, strength = role(scores, even)
            about_it = {"name": f"{layer}.{head}", "role": name, "strength": strength, "scores": scores}
            found.append(about_it | {"rows": asked, "of": len(rows)})
    return found


def measured(look: Look) -> list[dict[str, Any]]:
    """The same with what becomes of the loss without each."""
    return [
        {
            "name": head.name,
            "role": head.role,
            "strength": head.strength,
            "scores": head.scores,
            "loss": head.effect.loss,
            "changed": head.effect.changed,
            "like": head.like,
        }
        for head in measure(look).heads
    ]


def heads_facts(look: Look) -> list[dict[str, Any]]:
    """Numbers about heads; with every head switched off once where that takes no long time."""
    heads = sum(layer.heads for layer in look.layers)
    parameters = float(look.about.get("parameters", 0))
    tokens = sum(sum(piece.sizes.values()) for piece in look.scene.pieces)
    short = 2 * parameters * tokens * heads <= EFFECTS and tokens * tokens * heads <= SCORED
    return measured(look) if short else roles(look)


def first_bytes(look: Look) -> Iterator[tuple[str, bytes]]:
    """What every page begins with: thumbnails, and of an image its pixels and where all heads look."""
    for kind in look.kinds:
        yield f"overview/{kind}", overview_bytes(look, kind)
    if look.scene.image is not None:
        yield "image/pixels", image_bytes(look)
        for kind in look.kinds:
            yield f"looks/{kind}", all_heads_bytes(look, kind)


def kept(look: Look, budget: int = CELLS, vectors: int = VECTORS) -> Iterator[tuple[str, bytes]]:
    """All bytes that a document holds, by name; what does not fit is made coarser, and the page says so."""
    names = [name for name in panel_names(look) if not name.startswith("influence") or _may_ask(look)]
    panels = [look.panel(name) for name in names]
    cells = sum(min(tall, SIDE) * min(wide, SIDE) for tall, wide in (panel.shape(False) for panel in panels))
    size: Bytes = 2 if 2 * cells <= budget else 1
    most = SIDE if cells <= budget else max(THUMB, int((budget / max(1, len(panels))) ** 0.5))
    yield from first_bytes(look)
    for panel in panels:
        yield f"table/{panel.name}", whole_bytes(panel, most, size)
    left = vectors
    for layer in look.layers:
        for head in range(layer.heads if can_reckon(look, layer) else 0):
            content = reckon(look, f"{layer}.{head}").content()
            left -= len(content)
            if left < 0:
                return
            yield f"vectors/{layer}.{head}", content


def _may_ask(look: Look) -> bool:
    """Whether influence takes no long time: a way there and back for every output. Without attention it is all."""
    tokens = sum(sum(piece.sizes.values()) for piece in look.scene.pieces)
    outputs = sum(len(piece.outputs) for piece in look.scene.pieces)
    work = 6 * float(look.about.get("parameters", 0)) * tokens * outputs
    return not look.layers or (work <= INFLUENCE and look.about.get("int8") is not True)


def written_facts(look: Look) -> dict[str, Any]:
    """Candidates of every step, and ranks through the layers of the last ones."""
    scene = look.scene
    count = sum(len(piece.outputs) for piece in scene.pieces)
    first = max(0, count - STEPS)
    through = max(0, count - lens_rows(scene))
    return {"first": first, "steps": steps(scene, first), "lens_first": through, "lens": lens(scene, through)}
