"""A sentence and its translation, to be looked at: what the encoder read, what the decoder read and wrote."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from regard.errors import InputError
from regard.looking.line import Line, alone, joined, line
from regard.looking.scene import Piece, Scene, Side
from regard.tasks.translation.translator import Part, Translator


def translation_scene(translator: Translator, text: str, target: str = "") -> Scene:
    """Its own translation, or `target` as if it had written that; pieces of a text are read each by itself."""
    two = translator.tokenizers
    if target:
        parts, written = [Part(two.source.encode([text])[0], two.target.encode([target])[0])], target
    else:
        found = translator.translate([text])[0]
        parts, written = found.parts, found.text
    if not text.strip() or not parts:
        raise InputError("nothing to look at: the text is empty")
    again = None if target else lambda: translator.translate([text])[0].text
    return _scene(translator, text, parts, written, again)


def _scene(
    translator: Translator, text: str, parts: Sequence[Part], written: str, again: Callable[[], str] | None
) -> Scene:
    two, model = translator.tokenizers, translator.model
    ids, device = two.ids, next(model.parameters()).device
    rows = [([*part.source, ids.source_eos], [ids.bos, *part.target], [*part.target, ids.eos]) for part in parts]
    for source, inputs, _ in rows:
        _check("text", len(source), model.encoder.limit)
        _check("target", len(inputs), model.decoder.limit)
    pieces = [
        Piece(
            (torch.tensor([source], device=device), torch.tensor([inputs], device=device)),
            torch.tensor(outputs, device=device),
            {"source": len(source), "inputs": len(inputs), "outputs": len(outputs)},
        )
        for source, inputs, outputs in rows
    ]
    lines: dict[Side, Line] = {
        "source": joined([line(two.source, source) for source, _, _ in rows]),
        "inputs": joined([line(two.target, inputs) for _, inputs, _ in rows]),
        "outputs": joined([line(two.target, outputs) for _, _, outputs in rows]),
    }
    return Scene(
        model,
        lines,
        pieces,
        model.states,
        {"source": model.source, "inputs": model.target},
        text,
        written,
        again,
        names=partial(alone, two.target),
        retold=partial(_retold, translator, text, parts[0].source) if len(parts) == 1 else None,
    )


def _retold(translator: Translator, text: str, source: list[int], begun: Sequence[int], _tokens: int = 0) -> Scene:
    """The same source, and a translation that begins as somebody wants."""
    target = translator.go_on(source, list(begun))
    written = translator.tokenizers.target.decode([target])[0]

    def again() -> str:
        return translator.tokenizers.target.decode([translator.go_on(source, list(begun))])[0]

    return _scene(translator, text, [Part(source, target)], written, again)


def _check(what: str, tokens: int, limit: int | None) -> None:
    if limit is not None and tokens > limit:
        raise InputError(f"the {what} has {tokens:,} tokens, and the model takes in {limit:,} at most; shorten it")
