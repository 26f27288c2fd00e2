"""What users call answers the same, whoever takes the steps: translate, generate and classify, from run to answer."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

import regard
from regard.decoding.compiled import images, product, steps
from regard.decoding.compiled.machine_code import Code

STEPS = ["training.steps=2", "training.checkpoints.validate_every=2", "model.width=16"]
STACK = "{kind='transformer', layers=1, attention={kind='multihead', heads=2}}"
T = TypeVar("T")


class Given:
    """Machine code that is there, or not, and how often it was called."""

    def __init__(self, code: Code | None) -> None:
        self.code, self.calls = code, 0

    def get(self) -> Code | None:
        return None if self.code is None else self.call

    def call(self, table: int, room: int) -> int:
        assert self.code is not None
        self.calls += 1
        return self.code(table, room)


def by_both(code: Code, answer: Callable[[], T]) -> tuple[T, T]:
    """What a verb says by torch and by machine code, each with a run that is opened anew."""
    found = list[T]()
    for given in (Given(None), Given(code)):
        with pytest.MonkeyPatch.context() as patch:
            for module in (images, product, steps):
                patch.setattr(module, "MACHINE_CODE", given)
            found.append(answer())
        assert bool(given.calls) == (given.code is not None)
    return found[0], found[1]


def test_translate(code: Code, tmp_path: Path) -> None:
    for side in ("de", "en"):
        (tmp_path / f"c.{side}").write_text("".join(f"a b {number} c\n" for number in range(60)))
    data = [f"data.train={tmp_path / 'c'}", "data.source=de", "data.target=en", "tokenizer.vocab_size=262"]
    stacks = [f"model.encoder={STACK}", f"model.decoder={STACK}"]
    run = regard.train("gru-additive", *data, *stacks, *STEPS, out=tmp_path / "run").folder
    torch, compiled = by_both(code, lambda: regard.translate(run, ["a b", "c 7 c"], n_best=2))
    assert [one.texts for one in compiled] == [one.texts for one in torch]


def test_generate(code: Code, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The fox says no. " * 400)
    model = [f"model.decoder={STACK}", f"data.train={tmp_path / 'text.txt'}"]
    run = regard.train("gpt-char", *model, *STEPS, out=tmp_path / "run").folder
    how = ["decoding.kind=sample", "decoding.seed=5"]
    torch, compiled = by_both(code, lambda: regard.generate(run, ["The", "no"], *how, tokens=8))
    assert [one.text for one in compiled] == [one.text for one in torch]


def test_classify(code: Code, tmp_path: Path) -> None:
    data = ["data.kind=glyphs", "data.train_images=40", "data.valid_images=20", "data.test_images=20"]
    run = regard.train("vit-32", *data, *STEPS[:2], out=tmp_path / "run").folder
    image = np.random.default_rng(1).integers(0, 256, (32, 32, 3), np.uint8)
    (torch,), (compiled,) = by_both(code, lambda: regard.classify(run, [image]))
    assert compiled.labels == torch.labels
    assert compiled.probabilities == pytest.approx(torch.probabilities, abs=1e-5)
