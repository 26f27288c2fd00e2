"""What the tests of the notes build with and measure by: parts, operations run, bytes kept, serial depth."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.model.build import build
from regard.model.mask import Mask
from regard.model.menu import MENU
from regard.model.watch import watch

LINEAR = {"mm": 0, "addmm": 1}
FUSED = "_scaled_dot_product_flash_attention_for_cpu"


def filled(module: nn.Module, spread: float = 0.4) -> Any:
    """The module with every parameter drawn at random, biases and norms too, so that none can be forgotten."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=spread)
    return module


def made(slot: str, recipe: Any, *wiring: Any) -> Any:
    """One entry of the menu with random weights."""
    return filled(MENU.order(slot, recipe, slot).build(*wiring))


def model(kind: str, **options: Any) -> Any:
    """A whole model by its recipe, with its own initial weights."""
    return build({"model": {"kind": kind, **options}})


def language_model(vocabulary: int = 11, width: int = 16, **decoder: Any) -> Any:
    """A small decoder-only Transformer."""
    decoder = {"kind": "transformer", "layers": 2, "attention": {"kind": "multihead", "heads": 2}} | decoder
    return model("language_model", vocab_size=vocabulary, width=width, decoder=decoder)


def translator(vocabulary: int = 11, width: int = 16, layers: int = 2, **both: Any) -> Any:
    """A small Transformer with an encoder and a decoder."""
    heads = {"kind": "multihead", "heads": 2}
    stack = {"kind": "transformer", "layers": layers, "attention": heads} | both
    return model(
        "seq2seq",
        source_vocab_size=vocabulary,
        target_vocab_size=vocabulary,
        width=width,
        encoder=stack,
        decoder=stack | {"cross": heads},
    )


def weights_of(attention: nn.Module, queries: Tensor, data: Tensor | None = None, mask: Mask | None = None) -> Tensor:
    """The weights of one attention standing alone."""
    with watch(attention) as seen:
        attention(queries, data, mask or Mask())
    (sight,) = seen.values()
    return sight.weights


def mixed_by(attention: nn.Module, run: Callable[[], Any]) -> Tensor:
    """The weights a kernel really mixes by, in its own output: if values are unit vectors, what is mixed is they.

    Heads must be as wide as there are keys, so that there is a unit vector for each.
    """
    mix, found = attention.mix, []

    def listen(asked: Tensor, keys: Tensor, values: Tensor, view: Any) -> Tensor:
        assert values.shape[-1] == values.shape[-2]
        found.append(mix(asked, keys, torch.eye(values.shape[-1]).expand_as(values), view))
        return mix(asked, keys, values, view)

    attention.mix = listen
    try:
        run()
    finally:
        del attention.mix
    (weights,) = found
    return weights


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


class Operations(TorchDispatchMode):
    """Every operation torch runs: its name, the work of every product, the largest tensor made."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.products: list[tuple[str, int]] = []
        self.largest = 0

    def __torch_dispatch__(self, operation: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        made = operation(*given, **(options or {}))
        name = operation.overloadpacket.__name__
        self.names.append(name)
        work = _work(name, given)
        if work:
            self.products.append((name, work))
        sizes = [item.numel() for item in (made if isinstance(made, tuple) else (made,)) if isinstance(item, Tensor)]
        self.largest = max([self.largest, *sizes])
        return made

    def work(self, *names: str) -> int:
        """Multiplications and additions, of all products or of some kinds."""
        return sum(work for name, work in self.products if not names or name in names)


def _work(name: str, given: Any) -> int:
    if name in LINEAR:
        left, right = given[LINEAR[name] : LINEAR[name] + 2]
        return 2 * left.shape[0] * left.shape[1] * right.shape[1]
    if name == "bmm":
        return 2 * given[0].numel() * given[1].shape[2]
    if name in ("grouped", "_grouped_mm"):  # each row times the matrix of its own group
        return 2 * given[0].numel() * given[1].shape[-1]
    if name == FUSED:  # two products in one kernel
        return 4 * given[0].numel() * given[1].shape[2]
    return 0


def kept(run: Callable[[], Tensor], apart: Iterable[Tensor] = ()) -> tuple[int, list[torch.Size]]:
    """Bytes and shapes a pass keeps for its backward pass, parameters and what is given `apart` left out."""
    seen = {tensor.untyped_storage().data_ptr() for tensor in apart}
    total, shapes, alive = 0, [], []

    def pack(tensor: Tensor) -> Tensor:
        nonlocal total
        place = tensor.untyped_storage().data_ptr()
        if place not in seen:
            seen.add(place)
            alive.append(tensor.detach())  # kept alive, so that no other tensor takes its place
            total += tensor.untyped_storage().nbytes()
            shapes.append(tensor.shape)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = run()
    assert out.requires_grad
    return total, shapes


def exponent(cost: Callable[[int], float], size: int) -> float:
    """p in cost ~ size^p, from a size to its double."""
    return math.log2(cost(2 * size) / cost(size))


def depth(tensor: Tensor) -> int:
    """The longest chain of operations that had to wait for each other."""
    found: dict[Any, int] = {}
    waiting = [tensor.grad_fn]
    while waiting:
        node = waiting[-1]
        below = [other for other, _ in node.next_functions if other is not None]
        unknown = [other for other in below if other not in found]
        if unknown:
            waiting.extend(unknown)
        else:
            found[node] = 1 + max((found[other] for other in below), default=0)
            waiting.pop()
    return found[tensor.grad_fn]


def reach(outputs: Tensor, inputs: Tensor) -> Tensor:
    """[T S]: whether output t (second axis) changes at all with input s, by its gradient."""
    rows = []
    for position in range(outputs.shape[1]):
        weights = torch.randn_like(outputs[:, position])
        (grad,) = torch.autograd.grad((outputs[:, position] * weights).sum(), inputs, retain_graph=True)
        rows.append(grad.abs().sum((0, 2)) > 0)
    return torch.stack(rows)


def layer_by_layer(layers: Iterable[nn.Module], run: Callable[[], Any]) -> list[Tensor]:
    """What goes into the first of some layers, and what comes out of each, in one pass."""
    path: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(lambda module, given, out: path.extend([given[0], out][len(path) > 0 :]))
        for layer in layers
    ]
    run()
    for hook in hooks:
        hook.remove()
    return path


@torch.no_grad()
def readable(vectors: Tensor, answers: Tensor) -> float:
    """The share of right answers that the best linear reader, fitted to one half, gets from the other half."""
    vectors = nn.functional.pad(vectors, (0, 1), value=1.0).double()
    wanted = nn.functional.one_hot(answers).double()
    known = len(vectors) // 2
    fitted = torch.linalg.lstsq(vectors[:known], wanted[:known], driver="gelsd").solution
    return float(((vectors[known:] @ fitted).argmax(-1) == answers[known:]).double().mean())
