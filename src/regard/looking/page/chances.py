"""What a model would write at every step, how sure it was, and from which layer on it knew.

Of every step the likeliest tokens are kept one by one, and the rest in a few bins of like chances. So the page can
apply any temperature, top-k and top-p to all of it, and no more is kept than a reader sees.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.looking.scene import LOGITS, Piece, Scene
from regard.model.transformer import TransformerDecoder

SHOWN = 20
BINS = 24
DEEPEST = -40.0  # log p below which nothing counts at any temperature one would choose
WORK = 2**35  # products for ranks through the layers

Step = dict[str, Any]


def steps(scene: Scene, start: int = 0, stop: int | None = None) -> list[Step]:
    """For every step: log p of what was written, its rank from 1, the likeliest tokens, and the rest in bins.

    Where more was read than written, the last step has no token yet: it is what comes next.
    """
    found: list[Step] = []
    last = sum(map(_read, scene.pieces)) if stop is None else stop
    above = 0
    for piece in scene.pieces:
        low, high = max(start - above, 0), min(last - above, _read(piece))
        if low < high:
            with torch.no_grad():
                found += _of_piece(scene, piece, scene.run(piece)[0], low, high)
        above += _read(piece)
    return found


def _read(piece: Piece) -> int:
    """Steps of a piece: as many as a decoder read, or one for what an image shows."""
    return piece.sizes.get("inputs", piece.sizes["outputs"])


def _of_piece(scene: Scene, piece: Piece, states: Float[Tensor, "T O"], low: int, high: int) -> Iterator[Step]:
    size = max(1, LOGITS // (8 * int(scene.model.head.out_features)))
    for first in range(low, high, size):
        logs = scene.model.head(states[first : min(first + size, high)]).float().log_softmax(-1).cpu()
        said = piece.outputs[first : first + len(logs)].tolist()
        best, ids = logs.topk(min(SHOWN, logs.shape[1]))
        names = scene.named(ids.flatten().tolist())
        rest = _bins(logs.scatter(1, ids, float("-inf")))
        for row, line in enumerate(logs):
            labels = names[row * ids.shape[1] : (row + 1) * ids.shape[1]]
            shown = {"ids": ids[row].tolist(), "tokens": labels, "log_probs": _short(best[row]), "rest": rest[row]}
            yield _said(line, said[row] if row < len(said) else None) | shown


def _said(logs: Float[Tensor, "V"], token: int | None) -> Step:
    if token is None:
        return {"id": None, "log_prob": 0.0, "rank": 0}
    return {"id": token, "log_prob": round(float(logs[token]), 5), "rank": int((logs > logs[token]).sum()) + 1}


def _short(numbers: Tensor) -> list[float]:
    return [round(one, 5) for one in numbers.tolist()]


def _bins(logs: Float[Tensor, "t V"]) -> list[list[tuple[int, float]]]:
    """What is left of every row: how many tokens, and the mean log p, of chances of like size, the greatest first."""
    found: list[list[tuple[int, float]]] = []
    for row in logs:
        left = row[row > DEEPEST]
        if not len(left):
            found.append([])
            continue
        high, low = float(left.max()), float(left.min())
        into = ((high - left) / max(high - low, 1e-9) * BINS).long().clamp(max=BINS - 1)
        counts = torch.bincount(into, minlength=BINS)
        means = torch.zeros(BINS).index_add(0, into, left.exp()) / counts.clamp(min=1)
        pairs = zip(counts.tolist(), means.clamp(min=1e-38).log().tolist(), strict=True)
        found.append([(count, round(mean, 5)) for count, mean in pairs if count])
    return found


def has_lens(scene: Scene) -> bool:
    """Whether the layers of a model all write into one stream that its head can read."""
    return isinstance(getattr(scene.model, "decoder", None), TransformerDecoder)


def lens(scene: Scene, start: int = 0, stop: int | None = None) -> list[list[int]]:
    """The rank of every token written, had the head read what each layer handed on: a row a step, the logit lens
    [nostalgebraist 2020]."""
    if not has_lens(scene):
        return []
    found: list[list[int]] = []
    above, last = 0, sum(len(piece.outputs) for piece in scene.pieces) if stop is None else stop
    for piece in scene.pieces:
        low, high = max(start - above, 0), min(last - above, len(piece.outputs))
        if low < high:
            found += _ranks(scene, piece, low, high).T.tolist()
        above += len(piece.outputs)
    return found


def lens_rows(scene: Scene) -> int:
    """How many of the last steps can be asked without waiting long."""
    width = int(scene.model.head.in_features) * int(scene.model.head.out_features)
    layers = len(scene.model.decoder.layers) if has_lens(scene) else 1
    return max(1, WORK // (width * layers))


@torch.no_grad()
def _ranks(scene: Scene, piece: Piece, low: int, high: int) -> Int[Tensor, "L t"]:
    states: list[Tensor] = []
    with ExitStack() as hooks:
        for layer in scene.model.decoder.layers:
            handle = layer.register_forward_hook(lambda _layer, _given, out: states.append(out[0, low:high]))
            hooks.callback(handle.remove)
        scene.run(piece)
    said = piece.outputs[low:high, None]
    rows = []
    size = max(1, LOGITS // int(scene.model.head.out_features))
    for state in states:
        parts = []
        for some, ids in zip(state.split(size), said.split(size), strict=True):
            logits = scene.model.head(scene.model.decoder.close(some[None]))[0].float()
            parts.append((logits > logits.gather(1, ids)).sum(1) + 1)
        rows.append(torch.cat(parts).cpu())
    return torch.stack(rows)
