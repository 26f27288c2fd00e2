"""Small whole models around any entry of the menu, so that a new entry is covered by itself."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, Literal, get_args, get_origin

import jaxtyping
import pytest
import torch
from hypothesis import HealthCheck, settings

from regard.model.menu import MENU
from regard.model.weights import shell
from regard.recipe import Part, RecipeError

few = settings(deadline=None, max_examples=3, derandomize=True, suppress_health_check=list(HealthCheck))
some = settings(few, max_examples=60)

WIDTH, VOCABULARY = 24, 13
SLOT = {slot.abstract: slot.name for slot in MENU}
STACKS = ("encoder", "decoder")
SIZES: dict[str, dict[str, int]] = {  # small numbers for the options that an entry has by these names
    "model": {
        "source_vocab_size": 11,
        "target_vocab_size": VOCABULARY,
        "vocab_size": VOCABULARY,
        "width": WIDTH,
        "inputs": 3,
        "outputs": 5,
        "classes": 5,
        "channels": 2,
        "size": 8,
        "blocks": 1,
        "scales": 2,
    },
    "encoder": {"layers": 2},
    "decoder": {"layers": 2},
    "body": {"width": WIDTH, "patch": 4, "blocks": 1, "stages": 2},
    "attention": {"heads": 4, "kv_heads": 2, "hidden": 7},
    "feature": {"features": 7},
    "pattern": {"width": 5, "first": 2},
    "positions": {"limit": 64},
    "mlp": {"hidden": 16, "experts": 3},
}

OTHERS: dict[str, dict[str, Any]] = {  # other values for the numbers of the menu, by the same names
    "model": {"size": [8, 12], "scales": 3},
    "encoder": {
        "layers": 3,
        "kernel_size": 5,
        "dilation": 2,
        "dropout": 0.1,
        "stochastic_depth": 0.2,
        "layer_scale": 0.5,
    },
    "decoder": {"layers": 3, "kernel_size": 2, "dilation": 2, "dropout": 0.1, "stochastic_depth": 0.2},
    "body": {"patch": [2, 4], "blocks": [2, 1, 1], "stages": 3, "registers": 2, "stochastic_depth": 0.2},
    "attention": {"heads": 2, "kv_heads": 1, "hidden": 5, "dropout": 0.1, "head_width": 10, "bias": "inputs"},
    "feature": {"features": 11},
    "pattern": {"width": 3, "first": 1},
    "positions": {"limit": 48, "base": 50.0},
    "norm": {"eps": 0.1},
    "mlp": {"hidden": 9, "experts": 4, "active": 1, "balance": 0.5, "dropout": 0.1},
}


def small(slot: str, kind: str, **options: Any) -> dict[str, Any]:
    """The table of one entry at a small size, with its usual parts made small too."""
    model = MENU[slot].parts[kind]
    sizes = {name: size for name, size in SIZES.get(slot, {}).items() if name in model.model_fields}
    parts = {name: _usual(model, name) for name in model.slots if name not in options}
    return {"kind": kind} | sizes | parts | options


def _usual(model: type[Part[Any]], name: str) -> dict[str, Any]:
    slot, usual = SLOT[model.slots[name]], model.model_fields[name]
    default = {"kind": next(iter(MENU[slot].parts))} if usual.is_required() else usual.default
    return small(slot, **default)


def choices(slot: str, kind: str, option: str) -> tuple[Any, ...]:
    """What an option may be, read from its annotation; nothing if there is no such option."""
    found = MENU[slot].parts[kind].model_fields.get(option)
    return get_args(found.annotation) if found is not None and get_origin(found.annotation) is Literal else ()


def other_words(slot: str, kind: str, option: str) -> list[Any]:
    """What else an option may be."""
    described = MENU[slot].parts[kind].model_fields[option]
    return [choice for choice in choices(slot, kind, option) if choice != described.default and option != "kind"]


def held(slot: str, kind: str, inner: str) -> list[str]:
    """The options of an entry that are filled from another slot."""
    return [name for name, abstract in MENU[slot].parts[kind].slots.items() if SLOT[abstract] == inner]


def order(table: dict[str, Any]) -> Part[Any]:
    return MENU.order("model", table, "model")


def build(table: dict[str, Any], seed: int = 0) -> Any:
    """A model in which no parameter is left at zero or one, so that nothing hides behind its beginning."""
    torch.manual_seed(seed)
    model = order(table).build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


@dataclass(frozen=True)
class Case:
    """A whole model with a name for the test report."""

    name: str
    table: dict[str, Any] = field(hash=False, compare=False)

    def __str__(self) -> str:
        return self.name

    def build(self, seed: int = 0) -> Any:
        with unchecked():
            return build(self.table, seed)

    def refusal(self) -> str | None:
        """The sentence with which this model is refused, or None if it can be made."""
        return _refusal(self)


@cache
def _refusal(case: Case) -> str | None:
    try:
        with unchecked():
            shell(order(shallow(case.table)).build)
    except RecipeError as error:
        return str(error)
    return None


def shallow(table: dict[str, Any]) -> dict[str, Any]:
    """One layer is enough to be refused."""
    inner = {key: shallow(value) for key, value in table.items() if isinstance(value, dict)}
    return table | inner | ({"layers": 1} if "layers" in table else {})


def every(cases: list[Case]) -> Any:
    """Parametrize a test over the cases that can be made; with REGARD_TESTS=fast over one for each choice."""
    cases = fewest(cases) if os.environ.get("REGARD_TESTS") == "fast" else cases
    return pytest.mark.parametrize("case", [case for case in cases if case.refusal() is None], ids=str)


def fewest(cases: list[Case]) -> list[Case]:
    """Cases in which every choice of every slot stands at least once."""
    chosen, seen = [], set[str]()
    for case in cases:
        new = chosen_in(case.table) - seen
        if new and case.refusal() is None:
            chosen.append(case)
            seen |= new
    return chosen


def chosen_in(table: dict[str, Any], above: str = "") -> set[str]:
    """The choices of a table: what stands in which slot, and the words of options."""
    found = {f"{above}.{key}={value}" for key, value in table.items() if isinstance(value, str)}
    return found.union(*(chosen_in(inner, key) for key, inner in table.items() if isinstance(inner, dict)))


def variations(slot: str, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """An entry as it usually is, then with one of its parts or words changed at a time; also a part of a part."""
    model = MENU[slot].parts[kind]
    usual = small(slot, kind)
    yield kind, usual
    for name, abstract in model.slots.items():
        inner = SLOT[abstract]
        for other in MENU[inner].parts:
            if other != usual[name]["kind"]:
                yield f"{kind}-{name}.{other}", small(slot, kind, **{name: small(inner, other)})
            for within, parts in parts_inside(inner, other) if slot in STACKS else ():
                yield f"{kind}-{name}.{other}-{within}", small(slot, kind, **{name: small(inner, other, **parts)})
    for name in model.model_fields:
        for choice in other_words(slot, kind, name):
            yield f"{kind}-{name}.{choice}", small(slot, kind, **{name: choice})
    if numbers := others(slot, kind):
        yield f"{kind}-others", small(slot, kind, **numbers)


def parts_inside(slot: str, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each of an entry's own parts changed in turn."""
    usual = small(slot, kind)
    for name, abstract in MENU[slot].parts[kind].slots.items():
        for other in MENU[SLOT[abstract]].parts:
            if other != usual[name]["kind"]:
                yield f"{name}.{other}", {name: small(SLOT[abstract], other)}


def others(slot: str, kind: str) -> dict[str, Any]:
    """Every number and every yes or no of an entry, all at another value at once."""
    found: dict[str, Any] = {}
    for name, described in MENU[slot].parts[kind].model_fields.items():
        if described.annotation is bool:
            found[name] = not described.default
        elif name in OTHERS.get(slot, {}):
            found[name] = OTHERS[slot][name]
        elif described.annotation is float and described.default:  # a new entry's own: no table needs to know it
            found[name] = described.default * 1.5
    return found


def _second(slot: str, kind: str) -> Iterator[dict[str, Any]]:
    """An entry with all its numbers changed and, in turn, each of its words and parts; kernels are walked elsewhere."""
    words = [name for name in MENU[slot].parts[kind].model_fields if choices(slot, kind, name) and name != "kernel"]
    found = [{name: choice} for name in words for choice in other_words(slot, kind, name)]
    for name, abstract in MENU[slot].parts[kind].slots.items():
        inner = SLOT[abstract]
        for other in MENU[inner].parts:
            found += [{name: part} for part in list(_second(inner, other)) or [small(inner, other)]]
    numbers = others(slot, kind)
    for words_changed in found or [{}] * bool(numbers):
        yield small(slot, kind, **numbers | words_changed)


def varied(stack: str, model: str) -> list[Case]:
    """Every stack in a kind of model, each of its parts in turn at other numbers and words.

    One part differs at a time, in all its numbers at once: nothing is crossed.
    """
    cases, name_of = [], "answerer" if (stack, model) == ("decoder", "seq2seq") else stack
    for kind in MENU[stack].parts:
        for name, abstract in MENU[stack].parts[kind].slots.items():
            for other in MENU[SLOT[abstract]].parts:
                for number, part in enumerate(_second(SLOT[abstract], other)):
                    table = small("model", model, **{stack: small(stack, kind, **{name: part})})
                    cases.append(Case(f"{name_of}-{kind}-{name}.{other}-other.{number}", table))
    return cases


def _words(slot: str, kind: str) -> Iterator[dict[str, Any]]:
    """Every combination of the options that are one word of several."""
    names = [name for name in MENU[slot].parts[kind].model_fields if name != "kind" and choices(slot, kind, name)]
    for picked in product(*(choices(slot, kind, name) for name in names)):
        yield dict(zip(names, picked, strict=True))


def models() -> list[Case]:
    """Whole models with each of their parts and words changed in turn."""
    return [Case(f"model-{name}", table) for kind in MENU["model"].parts for name, table in variations("model", kind)]


def bodies() -> list[Case]:
    """Everything that turns an image into a vector."""
    return [
        Case(f"body-{name}", small("model", "image_classifier", body=table))
        for kind in MENU["body"].parts
        for name, table in variations("body", kind)
    ]


def encoders() -> list[Case]:
    """Every encoder with each of its parts changed in turn, in a model that writes."""
    return [
        Case(f"encoder-{name}", small("model", "seq2seq", encoder=table))
        for kind in MENU["encoder"].parts
        for name, table in variations("encoder", kind)
    ]


def decoders() -> list[Case]:
    """Every decoder with each of its parts changed in turn, alone: a language model.

    The output is not tied, because some decoders give more numbers than embeddings have.
    """
    return [
        Case(f"decoder-{name}", small("model", "language_model", decoder=table, tie_embeddings="none"))
        for kind in MENU["decoder"].parts
        for name, table in variations("decoder", kind)
    ]


def answerers() -> list[Case]:
    """Every decoder with each of its parts changed in turn, behind an encoder."""
    return [
        Case(f"answerer-{name}", small("model", "seq2seq", decoder=table))
        for kind in MENU["decoder"].parts
        for name, table in variations("decoder", kind)
    ]


def translators() -> list[Case]:
    """Every encoder, every decoder, every attention between them, in every order."""
    cases = []
    for encoder, decoder, attention in product(*(MENU[slot].parts for slot in ("encoder", "decoder", "attention"))):
        looks = {name: small("attention", attention) for name in held("decoder", decoder, "attention")}
        for words in _words("decoder", decoder):
            name = "-".join([encoder, decoder, attention, *words.values()])
            table = small("decoder", decoder, **looks, **words)
            cases.append(Case(name, small("model", "seq2seq", encoder=small("encoder", encoder), decoder=table)))
    return cases


@contextmanager
def unchecked() -> Iterator[None]:
    """Shape checks off where a few hundred models run again and again: they take most of the time.

    Every pair runs with its shapes checked in test_future and test_watched, whole models in test_learning.
    """
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    """Windows and running sums cut small, so that many blocks fit into a short row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("regard.model.attention.kernels.window"), "BLOCK", size)
        patch.setattr(import_module("regard.model.attention.kernels.running"), "CHUNK", size)
        yield


def tokens(rows: int, length: int, seed: int = 0, vocabulary: int = 11) -> torch.Tensor:
    return torch.randint(vocabulary, (rows, length), generator=torch.Generator().manual_seed(seed))
