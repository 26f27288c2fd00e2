"""What a recipe makes: its parts, their shapes and parameters, what it costs to train and to use."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.model.assembly import Assembly, LanguageModel, Seq2Seq
from regard.model.attention import Attention
from regard.model.bounds import check_sizes, counted, large
from regard.model.build import open_recipe
from regard.model.cost import Flops, imagined, kept_for_backward
from regard.model.norms import Norm
from regard.model.positions import Positions
from regard.model.recurrent import RecurrentDecoder, RecurrentEncoder
from regard.model.stack import Encoded
from regard.recipe import Recipe
from regard.recipe.override import Override

LENGTH = 128  # tokens of a sequence, if none is said
SMALL = 50_000_000  # numbers: of models that are made for real, to be looked at


@dataclass
class Node:
    """One part of a model, with what comes out of it."""

    name: str
    kind: str
    parameters: int
    shape: tuple[int, ...] = ()
    parts: list["Node"] = field(default_factory=list)


@dataclass(frozen=True)
class Description:
    """A model in figures. Sizes are in bytes, for float32."""

    name: str
    about: str
    recipe: dict[str, Any]
    tree: Node
    parameters: int
    batch: int
    length: int
    flops_per_token: float
    training: dict[str, int]
    decoding: dict[str, int]
    vocabulary: str = ""
    """Of which tokens there are embeddings, where there are any, and how that is known."""
    run: str = ""
    """What became of it, where it is a run that is described."""

    def __str__(self) -> str:
        """As readable as on the command line."""
        from regard.model.lines import description_text

        return description_text(self)

    def _repr_html_(self) -> str:
        from regard.model.described import description_html

        return description_html(self)


def describe(
    recipe: str | PathLike[str] | Mapping[str, Any] | Recipe,
    *overrides: Override,
    length: int | None = None,
    batch: int = 16,
) -> Description:
    """A model in figures, without making its weights: fast and small for any size.

    `length` is that of a sequence in tokens: 128 if it is not said, or as many positions as the model knows. `batch`
    is how many sequences there are in a step of training. `print` shows it.
    """
    for name, given in (("length", 1 if length is None else length), ("batch", batch)):
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise InputError(f"{name}: wanted a whole number of at least 1, given {given!r}")
    opened = open_recipe(recipe, overrides)
    check_sizes(opened.model)
    with torch.device("meta"), large(), counted():
        model: Assembly = opened.model.build()
    if length is not None and not model.sequence:
        raise InputError("length: this model reads images, which have none; leave it out")
    if length is None:
        length = min([LENGTH, *(part.limit for part in model.modules() if isinstance(part, Positions) and part.limit)])
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if parameters <= SMALL and _goes_step_by_step(model):
        with torch.random.fork_rng(devices=[]):
            model = opened.model.build()
            few, more = (_cost(model, rows, length) for rows in (2, 4))
            cost, decoding = few.extended(more, batch), _decoding(model, length)
    else:
        with imagined(), large(), counted():
            model = opened.model.build()
            cost, decoding = _cost(model, batch, length), _decoding(model, length)
    weights = 4 * parameters
    training = {"weights": weights, "gradients": weights, "AdamW": 2 * weights, "activations": cost.activations}
    return Description(
        opened.name,
        opened.about,
        opened.table(),
        _node(opened.model.kind, model, cost.shapes),
        parameters,
        batch,
        length,
        cost.flops / (batch * length if model.sequence else batch),
        training,
        decoding,
    )


@dataclass(frozen=True)
class _Cost:
    """Of one forward pass: operations, bytes kept for the way back, and the shape that comes out of every module."""

    rows: int
    flops: int
    activations: int
    shapes: dict[nn.Module, tuple[int, ...]]

    def extended(self, more: "_Cost", rows: int) -> "_Cost":
        """Of another number of rows, each of which costs what one of the further ones does that the other has."""
        share = (rows - self.rows) / (more.rows - self.rows)
        flops, kept = more.flops - self.flops, more.activations - self.activations
        return _Cost(rows, self.flops + round(share * flops), self.activations + round(share * kept), self.shapes)


def _cost(model: Assembly, batch: int, length: int) -> _Cost:
    model.train()
    with Flops() as flops, _noted(model) as shapes:
        activations = kept_for_backward(lambda: model(*model.example(batch, length)), model)
    return _Cost(batch, flops.total, activations, shapes)


def _goes_step_by_step(model: nn.Module) -> bool:
    """Whether it makes thousands of small operations: those are done sooner with numbers than imagined without."""
    return any(isinstance(part, RecurrentEncoder | RecurrentDecoder) for part in model.modules())


def _decoding(model: Assembly, length: int) -> dict[str, int]:
    """Bytes of memory for one row: after `length` tokens (and as long a source), and for one more."""
    tokens = torch.zeros(1, length, dtype=torch.long)
    with torch.no_grad():
        if isinstance(model, Seq2Seq):
            memory = model.start(tokens)
        elif isinstance(model, LanguageModel):
            memory = model.start(rows=1)
        else:
            return {}
        model.step(tokens[:, :-1], memory)  # not one more than asked for: positions may end there
        before = memory.nbytes
        model.step(tokens[:, -1:], memory)
    return {"at_length": memory.nbytes, "per_token": memory.nbytes - before}


@contextmanager
def _noted(model: nn.Module) -> Iterator[dict[nn.Module, tuple[int, ...]]]:
    """The shape of what comes out of every module, without the batch."""
    shapes: dict[nn.Module, tuple[int, ...]] = {}

    def note(module: nn.Module, _: Any, out: Any) -> None:
        out = out.states if isinstance(out, Encoded) else out
        if isinstance(out, Tensor):
            shapes[module] = tuple(out.shape)[1:]

    hooks = [module.register_forward_hook(note) for module in model.modules()]
    yield shapes
    for hook in hooks:
        hook.remove()


def _node(name: str, module: nn.Module, shapes: Mapping[nn.Module, tuple[int, ...]]) -> Node:
    parameters = sum(parameter.numel() for parameter in module.parameters())
    node = Node(name, type(module).__name__, parameters, shapes.get(module, ()))
    if not type(module).__module__.startswith("torch.") and not isinstance(module, Norm):
        own = module.named_parameters(recurse=False)
        node.parts += [Node(part, "Parameter", held.numel(), tuple(held.shape)) for part, held in own]
    for child_name, child in module.named_children():
        if isinstance(child, Attention) or any(True for _ in child.parameters()):  # some look without learning how
            node.parts.append(_node(child_name, child, shapes))
    return node
