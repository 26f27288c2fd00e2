"""Any way to name a run, opened for use."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from regard.decoding.resize import beam_keys
from regard.errors import InputError, RecipeError
from regard.listener import SILENT, Listener
from regard.recipe.override import Override
from regard.recipe.read import keys
from regard.run import Run
from regard.trained import Trained, open_run
from regard.verbs.given import named

RunLike = str | Path | Run | Trained
"""A run: its folder, what `train` returned, or what `open_run` opened."""


def opened(
    run: RunLike,
    *overrides: Override,
    beam: int = 0,
    device: str | None = None,
    int8: bool = False,
    listener: Listener = SILENT,
) -> Trained:
    """Any way to name a run, opened for use; `beam` is short for keys of its decoding."""
    if isinstance(run, Trained):
        if device is not None or int8:
            raise InputError("this run is open already: say device= and int8= where it is opened, in open_run")
        return run.answering(*_beam(run.recipe.table(), beam, overrides), *overrides)
    if not isinstance(run, str | Path | Run):
        raise InputError(f"wanted a run (its folder, or what train or open_run returned), given {named(run)}")
    found = run if isinstance(run, Run) else Run.open(Path(run))
    more = [*_beam(found.recipe, beam, overrides), *overrides]
    return open_run(found.folder, *more, listener=listener, device=device or "auto", int8=int8)


def _beam(recipe: Mapping[str, object], beam: int, overrides: Sequence[Override]) -> list[str]:
    """What a size of the beam asks of a recipe; what else is said of decoding is said besides."""
    decoding = recipe.get("decoding", {})
    made = beam_keys(decoding if isinstance(decoding, Mapping) else {"kind": decoding}, beam)
    twice = sorted({"decoding.kind", "decoding.beam_size"} & set(keys(overrides))) if made else []
    if twice:
        raise RecipeError(
            f"{twice[0]}: the beam is said twice; leave this out, or ", call=f"beam={beam}", flag=f"--beam {beam}"
        )
    return made


A = TypeVar("A")


def answerer_of(run: RunLike, kind: type[A], called: str) -> A:
    """What answers with a run, if that is of a kind; else its task is named."""
    trained = opened(run)
    if not isinstance(trained.answerer, kind):
        raise InputError(f"{trained.run.folder}: not a {called}; its task is {trained.recipe.wants('task').kind}")
    return trained.answerer
