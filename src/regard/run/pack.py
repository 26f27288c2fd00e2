"""A slim copy of a run to hand on: what it takes to use it, a card, and nothing of the machine it was made on."""

from pathlib import Path

from regard.disk import place, write
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.run.card import CARD, card
from regard.run.portable import last_name, portable_facts, portable_recipe, portable_words
from regard.run.run import Run
from regard.run.slim import check_slim, slim_run


def pack(source: Run, out: str | Path, uses: tuple[str, str], listener: Listener = SILENT) -> Run:
    """Copy what it takes to use a run into a new folder: its best weights, recipe, the task's files and a card.

    `uses` are the commands that use such a run and that begin another from it, with {run} for its folder.
    """
    folder = place(out)
    if folder.resolve().is_relative_to(source.folder.resolve()):
        raise InputError(f"{out}: inside the run itself; name another folder")
    check_slim(folder)
    best = source.for_use(listener)
    progress = {"step": best.step, "scores": best.progress().get("scores", {})}
    facts, recipe = portable_facts(source.facts, source.recipe), portable_recipe(source.recipe)
    scores = [one for one in source.scores() if one.get("step") == best.step]
    with slim_run(folder, recipe, source.files, facts, best.weights(), progress) as made:
        for one in reversed(scores):
            made.keep_scores(
                one["scores"],
                step=best.step,
                on=last_name(one.get("on", "")),
                split=one.get("split", ""),
                how=portable_words(one.get("how", []), source.recipe),
                learnt=one.get("learnt"),
            )
        write(folder / CARD, card(made, best.step, uses).encode(errors="replace"))
    return made
