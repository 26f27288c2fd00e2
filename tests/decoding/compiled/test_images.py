"""Patches of images read by the machine code, beside torch's encoder."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from compiled import close
from torch import Tensor

from regard.decoding.compiled import images as room
from regard.decoding.compiled.images import PatchReader, lend
from regard.decoding.compiled.machine_code import Code
from regard.model.build import build
from regard.model.quantize import quantize
from regard.model.watch import watch


class Given:
    """Machine code that is there, or not."""

    def __init__(self, code: Code | None) -> None:
        self.get = lambda: code


def classifier(encoder: dict[str, Any] | None = None, **body: Any) -> Any:
    """Images of 20 × 12 pixels are 5 × 3 patches; two heads of 12 numbers."""
    torch.manual_seed(5)
    parts = {"kind": "transformer", "layers": 3, "attention": {"kind": "multihead", "heads": 2}} | (encoder or {})
    made = {"kind": "patches", "width": 24, "patch": 4, "encoder": {"positions": "learned", "mlp": "gelu"} | parts}
    model: Any = build({"model": {"kind": "image_classifier", "size": [20, 12], "classes": 7, "body": made | body}})
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return model.eval()


def pixels(count: int = 5) -> Tensor:
    torch.manual_seed(6)
    return torch.randn(count, 3, 20, 12)


class Read:
    """How many layers each call was asked for that the machine code has done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: Code | None) -> None:
        self.layers: list[int] = []
        read = PatchReader.__call__

        def noted(reader: PatchReader, x: Tensor, layers: int) -> Tensor | None:
            found = read(reader, x, layers)
            self.layers += [] if found is None else [layers]
            return found

        monkeypatch.setattr(room, "MACHINE_CODE", Given(code))
        monkeypatch.setattr(PatchReader, "__call__", noted)


OTHERWISE: list[tuple[dict[str, Any], dict[str, Any], int]] = [
    ({}, {}, 2),
    ({}, {"pooling": "mean"}, 3),
    ({}, {"pooling": "distilled", "registers": 3}, 2),
    ({"residual": "post", "mlp": "swiglu"}, {"pooling": "mean"}, 3),
    ({"residual": "none"}, {"pooling": "mean"}, 3),
    ({"attention": {"kind": "multihead", "heads": 6, "kv_heads": 2}, "norm": "rms"}, {}, 2),
    ({"positions": "sinusoidal"}, {"patch": 1}, 2),
    ({"attention": {"kind": "multihead", "heads": 1}}, {"width": 32, "patch": 2, "stem": "convolution"}, 2),
]


@pytest.mark.parametrize(("encoder", "body", "layers"), OTHERWISE)
@pytest.mark.parametrize("at_once", [1024, 20])
@pytest.mark.usefixtures("threads")
def test_what_torch_sees(
    code: Code, encoder: Any, body: Any, layers: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many images go at once, in one thread or more; where [CLS] is read, the last layer is torch's."""
    model = classifier(encoder, **body)
    with torch.inference_mode():
        wanted = model(pixels())
        read = Read(monkeypatch, code)
        monkeypatch.setattr(room, "AT_ONCE", at_once)
        lend(model)
        close(model(pixels()), wanted)
    assert read.layers == [layers]


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.usefixtures("threads")
def test_an_image_is_read_alike_in_any_company(code: Code, int8: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its patches are in a large piece, a small one or the last."""
    Read(monkeypatch, code)
    model, patches = classifier(), torch.randn(41, 15, 24)
    if int8:
        quantize(model)
    reader = PatchReader(model.body.encoder)
    before = patches.clone()
    with torch.inference_mode():
        together, alone = reader(patches, 3), [reader(few, 3) for few in patches.split(3)[:-1]]
    assert torch.equal(patches, before)
    assert together is not None
    close(together[:39], torch.cat([each for each in alone if each is not None]))


def test_eight_bits_are_nearer_than_torch_is(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both round what comes in: torch all of it by one scale, the machine code 64 numbers of a row at a time."""
    model = classifier(width=64, encoder={"attention": {"kind": "multihead", "heads": 2}})
    with torch.inference_mode():
        wanted = model(pixels())
        quantize(model)
        theirs = (model(pixels()) - wanted).square().mean()
        Read(monkeypatch, code)
        lend(model)
        ours = (model(pixels()) - wanted).square().mean()
    assert ours < theirs < 0.02 * wanted.square().mean()


@pytest.mark.parametrize(
    ("encoder", "body"),
    [
        ({"positions": "rotary"}, {}),
        ({"pattern": {"kind": "window", "width": 3}}, {"pooling": "mean"}),
        ({"attention": "linear"}, {}),
        ({"layers": 1}, {}),
        ({"mlp": "experts"}, {}),
    ],
)
def test_what_is_not_covered_is_torchs(code: Code, encoder: Any, body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = classifier(encoder, **body)
    read = Read(monkeypatch, code)
    with torch.inference_mode():
        wanted = model(pixels())
        lend(model)
        assert torch.equal(model(pixels()), wanted)
    assert not read.layers


def test_who_learns_watches_or_listens_is_torchs(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients, weights that are looked at, hooks, and numbers of half the size."""
    model, read = classifier(), Read(monkeypatch, code)
    lend(model)
    model(pixels()).sum().backward()
    assert model.body.encoder.layers[0].attention.query.weight.grad is not None
    with torch.no_grad():
        with watch(model):
            model(pixels())
        with torch.autocast("cpu", torch.bfloat16):
            model(pixels())
        heard: list[int] = []
        hook = model.body.encoder.layers[1].mlp.register_forward_hook(lambda *_: heard.append(1))
        model(pixels())
        hook.remove()
        assert heard
        model.train()(pixels())
        assert not read.layers
        model.eval()(pixels())
    assert read.layers == [2]


def test_a_copy_reads_by_itself(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    model, read = classifier(), Read(monkeypatch, code)
    lend(model)
    with torch.no_grad():
        before, other = model(pixels()), deepcopy(model)
        model.body.encoder.layers[0].mlp.up.weight.mul_(1.5)
        assert torch.equal(other(pixels()), before)
    assert read.layers == [2, 2]


def test_weights_that_were_changed_are_packed_anew(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _read = classifier(), Read(monkeypatch, code)
    lend(model)
    with torch.no_grad():
        before = model(pixels())
        model.body.encoder.layers[0].mlp.up.weight.mul_(1.5)
        after = model(pixels())
        model.body.encoder.lent = None
        close(after, model(pixels()))
    assert not torch.allclose(before, after)
