"""“I love you”, with the weights of the notes: 72, 15 and 13 percent, by vectors that are set by hand."""

import math
from typing import Any

import torch
from torch import Tensor

from regard.examples.example import Example, Reading
from regard.examples.recipes import SLOW, Table, training, translator
from regard.examples.runs import Runs
from regard.verbs import look

SOURCE, TARGET = "I love you", "ich liebe dich"
WEIGHTS = {  # of I, love, you, <eos>; of “I” as in the notes, of the others as one might think
    "I": (0.72, 0.15, 0.13, 0.0),
    "love": (0.25, 0.5, 0.25, 0.0),
    "you": (0.13, 0.15, 0.72, 0.0),
    "<eos>": (0.0, 0.0, 0.0, 1.0),
}
NOTHING = 1e-12  # what a weight of 0 is before the softmax
SURE = 30.0
ONE = {"kind": "multihead", "heads": 1, "bias": False}
STACK: Table = {
    "kind": "transformer",
    "layers": 1,
    "attention": ONE,
    "positions": "none",
    "norm": "rms",
    "residual": "post",
}


def recipe() -> Table:
    """Four numbers a word, one head, no positions: as little as it takes."""
    return translator(STACK, STACK | {"cross": ONE}, training(1, SLOW), width=4, head_bias=False)


@torch.no_grad()
def fill(model: Any, task: Any) -> None:
    """Source words are unit vectors. Their keys and values are themselves, and queries the logarithms of the weights.

    The decoder asks by the word before for the next one of the source, and says what stands there.
    """
    two = task.tokenizers
    source = [*two.source.encode([SOURCE])[0], two.ids.source_eos]
    target = two.target.encode([TARGET])[0]
    for name, parameter in model.named_parameters():
        if "around" not in name:  # norms stay as they are
            parameter.zero_()
    unit = torch.eye(4)
    model.source.table.weight[source] = unit
    model.target.table.weight[[two.ids.bos, *target]] = unit
    reads, writes = model.encoder.layers[0].attention, model.decoder.layers[0].cross
    logarithms = torch.tensor(list(WEIGHTS.values())).clamp(min=NOTHING).log()
    _set(reads, logarithms.T / reads.scale, unit, unit, unit)
    told = torch.linalg.inv(model.encode(torch.tensor([source])).states[0]).T  # back to unit vectors
    _set(writes, unit * SURE, told, told, unit * SURE)
    model.head.weight[[*target, two.ids.eos]] = unit * SURE


def _set(attention: Any, query: Tensor, key: Tensor, value: Tensor, output: Tensor) -> None:
    attention.query.weight.copy_(query)
    attention.key_value.weight.copy_(torch.cat([key, value]))
    attention.output.weight.copy_(output)


def read(runs: Runs) -> Reading:
    """The row of “I”, and what becomes of its vector."""
    trained = runs.by_hand("love", recipe(), [f"{SOURCE}\t{TARGET}"], fill)
    seen = look(trained, SOURCE)
    row = seen.weights("encoder", 0, 0)[0]
    figures = {f"I → {word}": float(weight) for word, weight in zip(WEIGHTS, row, strict=True)}
    glance = seen.seen[0]["encoder.layers.0.attention"].glances[0]
    before, after = torch.eye(4)[0], glance.mixed[0, 0, 0]
    apart = math.degrees(math.acos(float(torch.cosine_similarity(before, after, 0))))
    shown = ", ".join(f"{float(one):.2f}" for one in after[:3])
    found = (
        f"By vectors that were set by hand, “I” looks at I, love and you with {row[0]:.2f}, {row[1]:.2f} and "
        f"{row[2]:.2f}. Its vector (1, 0, 0) becomes ({shown}) = 0.72·V_I + 0.15·V_love + 0.13·V_you, "
        f"{apart:.0f}° from what it was."
    )
    exact = all(abs(float(one) - wanted) < 1e-4 for one, wanted in zip(row, WEIGHTS["I"], strict=True))
    opens = "view=step&head=encoder.0.0&step=0"
    return Reading(seen, found, "set by hand" if exact else "corrected", figures | {"degrees": apart}, opens)


EXAMPLE = Example(
    "love",
    "“I love you”",
    "The query of “I” fits the key of I best (72 %), that of love less (15 %) and of you least (13 %); "
    "0.72·V_I + 0.15·V_love + 0.13·V_you is no longer its embedding, but what it means here.",
    "N2:412-426",
    read,
)
