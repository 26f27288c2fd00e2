"""What is seen of a trained model are the weights that the naive kernel really mixes by: every recipe, and SmolLM2.

The naive kernel is asked by what it gives: if values are unit vectors, what is mixed are the weights. It knows nothing
of taps. Batches are the task's own, so that rows are padded and documents kept apart as they are in training.
`pytest -m slow -s tests/contracts/test_looked_trained.py` prints the table of docs/results/looking.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.importing import read_model
from regard.listener import SILENT
from regard.model.attention import Attention
from regard.model.build import build, open_recipe
from regard.model.menu import MENU
from regard.model.watch import Sight, watch
from regard.model.weights import fitted, load
from regard.training.train import training
from regard.verbs import opened

from . import shelf
from .small import unchecked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore")]
STEPS = 40
MOST = 1e-5
NONE = {"conv-lm", "gru-lm", "lstm-lm", "mnist-resnet", "resnet", "seq2seq-gru-context", "seq2seq-lstm", "unet-glyphs"}


@dataclass
class Compared:
    """Two passes of the same weights side by side."""

    attentions: int = 0
    rows: int = 0
    masked: int = 0
    furthest: float = 0.0
    off_one: float = 0.0

    def add(self, shown: Tensor, wanted: Tensor) -> None:
        """Weights [B H T S] that are shown, and those that the naive kernel mixes by."""
        sees = wanted.sum(-1) > 0.5  # padding asks too, and may see nothing
        self.rows += int(sees.sum())
        self.masked += int((wanted == 0).sum())
        self.furthest = max(self.furthest, float((shown - wanted).abs().max()))
        self.off_one = max(self.off_one, float((shown.sum(-1) - 1)[sees].abs().max()))
        assert torch.equal(shown == 0, wanted == 0)  # what is masked weighs exactly nothing, and all else something


def naive(table: Any) -> Any:
    """The same recipe with the formula as it stands, wherever an attention has a choice."""
    if not isinstance(table, dict):
        return table
    made = {key: naive(value) for key, value in table.items()}
    part = MENU.parts["attention"].get(str(table.get("kind")))
    return made | ({"kernel": "naive"} if part is not None and "kernel" in part.model_fields else {})


def mixed_by(model: nn.Module, run: Callable[[], Any]) -> dict[str, list[Tensor]]:
    """The weights that every attention mixes by in a pass, in its own output."""
    found: dict[int, Tensor] = {}

    def listened(attention: Any) -> Callable[..., Tensor]:
        mix = attention.mix

        def both(asked: Tensor, keys: Tensor, values: Tensor, view: Any) -> Tensor:
            unit = torch.eye(values.shape[2]).expand(*values.shape[:3], values.shape[2])
            found[id(asked)] = mix(asked, keys, unit, view)
            return mix(asked, keys, values, view)

        return both

    attentions = [module for module in model.modules() if isinstance(module, Attention)]
    for attention in attentions:
        attention.mix = listened(attention)  # type: ignore[method-assign]
    with watch(model) as seen:
        run()
        wanted = {name: [found[id(glance.asked)] for glance in sight.glances] for name, sight in seen.items()}
    for attention in attentions:
        del attention.mix
    return {name: parts for name, parts in wanted.items() if parts}


def compared(fast: Any, slow: Any, run: Callable[[Any], Any]) -> Compared:
    """What is shown of one model, and what the other mixes by."""
    result, shown = Compared(), dict[str, Sight]()
    with torch.no_grad(), unchecked():
        with watch(fast) as seen:
            run(fast)
        shown = {name: sight for name, sight in seen.items() if sight.seen}
        wanted = mixed_by(slow, lambda: run(slow))
        assert list(shown) == list(wanted)
        result.attentions = len(wanted)
        for name, parts in wanted.items():
            for glance, part in zip(shown[name].glances, parts, strict=True):
                result.add(glance.weigh(slice(None), None).float(), part.float())
    return result


def told(name: str, found: Compared) -> None:
    counted = " | ".join(f"{count:,}" for count in (found.attentions, found.rows, found.masked))
    print(f"| {name} | {counted} | {found.furthest:.1e} | {found.off_one:.1e} |")
    assert found.furthest <= MOST
    assert found.off_one <= MOST


@pytest.mark.parametrize("name", shelf.names())
def test_weights_of_a_trained_run_are_the_naive_kernels(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    table = shelf.made_small(name)
    if "task" not in table:
        pytest.skip("a model for import, which no task trains here")
    table["training"] |= {"steps": STEPS, "checkpoints": {"validate_every": STEPS}}
    with unchecked():
        for _ in training(table, out=tmp_path / "run"):
            pass
    trained = opened(tmp_path / "run", device="cpu")
    slow: Any = build({"model": naive(trained.recipe.table()["model"])}).eval()
    slow.load_state_dict(trained.model.state_dict())
    task: Any = trained.task
    task.prepare(SILENT)
    batch = task.batches(seed=7)[0]
    found = compared(trained.model, slow, lambda model: task.loss(model, batch))
    if name in NONE:
        assert found.attentions == 0
        return
    told(name, found)
    assert found.attentions > 0


def test_weights_of_smollm2_are_the_naive_kernels() -> None:
    pytest.importorskip("gguf")
    try:
        found = read_model("smollm2")
    except InputError as error:
        pytest.skip(str(error))
    shapes = {name: list(tensor.shape) for name, tensor in found.weights.items()}
    recipes = found.recipe, found.recipe | {"model": naive(found.recipe["model"])}
    fast, slow = (load(fitted(open_recipe(one).model, shapes), found.weights).eval() for one in recipes)
    text = "I ate an apple because it was tasty. Which do you like better, coffee or tea? " * 12
    row = torch.tensor([found.tokenizer.encode([text])[0]])
    told(f"SmolLM2-135M, {row.shape[1]} tokens", compared(fast, slow, lambda model: model(row)))
