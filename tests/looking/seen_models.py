"""Small models of every kind with random weights, and what they read and write, for those who look."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.datasets.tokenizer import Characters, Words
from regard.decoding.sample import Greedy
from regard.looking.layers import layers_of
from regard.looking.line import plain_line
from regard.looking.look import Look, gather
from regard.looking.scene import Piece, Scene
from regard.model.build import build
from regard.model.watch import Glance, Sight
from regard.tasks.classification import Classifier
from regard.tasks.classification.facts import Facts as ImageFacts
from regard.tasks.classification.scene import classification_scene
from regard.tasks.language.facts import Facts
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.scene import language_scene
from regard.tasks.translation import Translator
from regard.tasks.translation.scene import translation_scene
from regard.tasks.translation.tokenizers import TokenizerPair

SOURCE, TARGET = "ein Hund läuft über die Wiese", "a dog runs across the green meadow"
WORDS = Words().train([SOURCE, TARGET])
_LETTERS = Characters()
_LETTERS.prefix = ""  # as for language models: a text goes on
LETTERS = _LETTERS.train(["the quick brown fox jumps over the lazy dog. "])
HEADS = {"kind": "multihead", "heads": 2}
RECURRENT = {"kind": "recurrent", "layers": 1}
TRANSFORMER = {"kind": "transformer", "layers": 2, "attention": HEADS}
TRANSLATORS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fixed": (RECURRENT, RECURRENT),
    "additive": (RECURRENT, RECURRENT | {"attention": "additive"}),
    "luong": (RECURRENT, RECURRENT | {"attention": "general", "order": "luong"}),
    "convolution": ({"kind": "convolution", "layers": 1}, {"kind": "convolution", "layers": 2}),
    "transformer": (TRANSFORMER, TRANSFORMER | {"cross": HEADS}),
    "linear": (TRANSFORMER | {"attention": {"kind": "linear", "heads": 2}}, TRANSFORMER | {"cross": HEADS}),
}


def random(table: dict[str, Any], spread: float = 0.3) -> Any:
    torch.manual_seed(0)
    model = build({"model": table}).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(spread * torch.randn_like(parameter))
    return model


def translator(kind: str, split: bool = False) -> Translator:
    encoder, decoder = TRANSLATORS[kind]
    sizes = {"width": 16, "source_vocab_size": len(WORDS), "target_vocab_size": len(WORDS)}
    model = random({"kind": "seq2seq", "encoder": encoder, "decoder": decoder, **sizes})
    return Translator(model, TokenizerPair(WORDS, WORDS), 20, Greedy(), split=split)


def writer(context: int = 64, **decoder: Any) -> TextGenerator:
    table = {"kind": "transformer", "layers": 2, "attention": HEADS} | decoder
    model = random({"kind": "language_model", "vocab_size": len(LETTERS), "width": 16, "decoder": table})
    return TextGenerator(model, LETTERS, Facts.of(LETTERS), Greedy(), context)


def classifier(channels: int = 1, **body: Any) -> Classifier:
    """Of images of 8 × 12, in six patches unless something else is said."""
    encoder = {"kind": "transformer", "layers": 2, "attention": HEADS, "positions": "learned"}
    table = {"kind": "patches", "patch": 4, "width": 16, "encoder": encoder} | body
    if table["kind"] != "patches":
        table = body
    facts = ImageFacts(("cat", "dog", "owl"), (8, 12), channels, "squash", (0.2,) * channels, (0.3,) * channels)
    sizes = {"classes": 3, "channels": channels, "size": [8, 12]}
    return Classifier(random({"kind": "image_classifier", "body": table, **sizes}), facts)


def picture(seed: int = 0, channels: int = 1, shape: tuple[int, int] = (16, 24)) -> Any:
    """Pixels of some image."""
    return np.random.default_rng(seed).integers(0, 256, (*shape, channels), np.uint8)


def classified(channels: int = 1, **body: Any) -> Look:
    return gather(classification_scene(classifier(channels, **body), picture(0, channels)), {"run": "runs/vit"})


def translated(kind: str) -> Look:
    return gather(translation_scene(translator(kind), SOURCE, TARGET))


def read(text: str, tokens: int = 0, context: int = 64, **decoder: Any) -> Look:
    return gather(language_scene(writer(context, **decoder), text, tokens))


class _Still(torch.nn.Module):
    """Stands where a model would, for heads that are given."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder, self.head = torch.nn.Identity(), torch.nn.Linear(1, 3)


def given(heads: Tensor, tokens: Sequence[str], columns: Sequence[str] = ()) -> Look:
    """A look at heads [H T S] that are given: one layer of self-attention, or across two sides."""
    names = {name: number for number, name in enumerate(dict.fromkeys([*tokens, *columns]))}

    def line(words: Sequence[str]) -> Any:
        from dataclasses import replace

        return replace(plain_line(words), ids=tuple(names[word] for word in words))

    lines: Any = {"inputs": line(tokens), "outputs": line(tokens)} | ({"source": line(columns)} if columns else {})
    sizes: Any = {side: len(one) for side, one in lines.items()}
    piece = Piece((torch.zeros(1, len(tokens), 1),), torch.zeros(len(tokens), dtype=torch.long), sizes)
    scene = Scene(_Still(), lines, [piece], lambda x: x, {}, " ".join(tokens), "")
    asked = torch.zeros(1, len(heads), heads.shape[1], 1)
    keys = torch.zeros(1, len(heads), heads.shape[2], 1)

    def weigh(rows: slice, head: int | None) -> Tensor:
        found = heads[None, :, rows]
        return found if head is None else found[:, head : head + 1]

    sight = Sight()
    sight.add(Glance(asked, keys, keys, asked, weigh, across=bool(columns)))
    seen = {"decoder.layers.0.cross" if columns else "decoder.layers.0.attention": sight}
    return Look(scene, [seen], tuple(layers_of(scene, seen)), 0.0)
