"""A text as a language model reads it, to be looked at: every token, and what is said to come next."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from regard.errors import InputError
from regard.looking.line import Line, alone, line
from regard.looking.scene import Piece, Scene, Side
from regard.tasks.language.generator import TextGenerator


def language_scene(generator: TextGenerator, text: str, tokens: int = 0) -> Scene:
    """A text, and behind it so many tokens that the model writes itself, as its recipe says."""
    ids, written = generator.encode(text), ""
    if tokens:
        (found,) = generator.generate([text], tokens)
        ids, written = [*ids, *(one.token for one in found.tokens)], found.text
    if len(ids) < 2:
        ids = [generator.facts.begin, *generator.tokenizer.encode([text])[0]]
    if len(ids) < 2:
        raise InputError(
            "nothing to look at: the text is empty; ", call="tokens=20 writes one", flag="--tokens 20 writes one"
        )
    again = (lambda: generator.generate([text], tokens)[0].text) if tokens else None
    return _scene(generator, ids, text, written, again)


def _scene(
    generator: TextGenerator, ids: Sequence[int], text: str, written: str, again: Callable[[], str] | None
) -> Scene:
    if len(ids) > generator.window:
        raise InputError(
            f"the text has {len(ids):,} tokens, and the model takes in {generator.window:,} at most; shorten it"
        )
    model = generator.model
    row = torch.tensor([list(ids)], device=next(model.parameters()).device)
    piece = Piece((row,), row[0, 1:], {"inputs": len(ids), "outputs": len(ids) - 1})
    lines: dict[Side, Line] = {"inputs": line(generator.tokenizer, ids), "outputs": line(generator.tokenizer, ids[1:])}
    return Scene(
        model,
        lines,
        [piece],
        model.states,
        {"inputs": model.target},
        text,
        written,
        again,
        names=partial(alone, generator.tokenizer),
        retold=partial(_retold, generator),
    )


def _retold(generator: TextGenerator, begun: Sequence[int], tokens: int) -> Scene:
    """Another text, from its first id on, and behind it so many tokens that the model writes itself."""
    ids = generator.go_on(begun, tokens)
    if len(ids) < 2:
        raise InputError("nothing to look at: one token says nothing about the next")
    said, written = (generator.tokenizer.decode([part])[0] for part in (ids[: len(begun)], ids[len(begun) :]))

    def again() -> str:
        return generator.tokenizer.decode([generator.go_on(begun, tokens)[len(begun) :]])[0]

    return _scene(generator, ids, said, written, again if tokens else None)
