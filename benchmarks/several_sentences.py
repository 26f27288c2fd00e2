"""Texts of several sentences, made of test lines, beside the same sentences translated one by one."""

from pathlib import Path
from random import Random
from typing import Annotated

import typer

from regard import translate
from regard.commands.show import columns, console
from regard.tasks.translation import Translation
from regard.tasks.translation.scores import score
from regard.verbs import opened, translator_of
from shown import run

MARKS = (".", "!", "?")
GAPS = (" ", "  ", "\n", " \t")


def several_sentences(
    folder: Annotated[str, typer.Argument(help="A run that translates.")],
    data: Annotated[str, typer.Argument(help="Test lines: NAME for NAME.de and NAME.en, as the run's languages are.")],
    texts: Annotated[int, typer.Option(help="How many texts.")] = 200,
    seed: Annotated[int, typer.Option(help="Which lines are put together.")] = 1,
) -> None:
    """Translate texts of two to five test lines, and the lines one by one."""
    trained = opened(folder)
    assert isinstance(trained.task, Translation)
    languages = trained.task.data.source, trained.task.data.target
    sides = [Path(f"{data}.{side}").read_text(encoding="utf-8").splitlines() for side in languages]
    pairs = [(one, other) for one, other in zip(*sides, strict=True) if one.endswith(MARKS)]
    chance = Random(seed)
    made = [chance.sample(pairs, chance.randint(2, 5)) for _ in range(texts)]
    gaps = [["", *(chance.choice(GAPS) for _ in some[1:])] for some in made]

    def joined(rows: list[list[str]]) -> list[str]:
        return ["".join(map(str.__add__, gap, row)) for gap, row in zip(gaps, rows, strict=True)]

    sources, references = (joined([[pair[side] for pair in some] for some in made]) for side in (0, 1))
    alone = iter(translator_of(trained).translate([source for some in made for source, _ in some]))
    one_by_one = joined([[next(alone).text for _ in some] for some in made])
    whole = translate(trained, sources)
    ways = {
        "sentences one by one": one_by_one,
        "whole texts": [found.text for found in whole],
        "whole texts, --no-split": [found.text for found in translate(trained, sources, split=False)],
    }
    table = columns("", " BLEU, lower case", " characters")
    for name, found in ways.items():
        bleu = score(found, references, languages[1]).bleu_lowercase
        table.add_row(name, f"{bleu:.2f}", f"{sum(map(len, found)):,}")
    console.print(table)
    same = sum(found.text == text for found, text in zip(whole, one_by_one, strict=True))
    pieces = sum(len(found.parts) for found in whole)
    console.print(
        f"{texts} texts of {sum(map(len, made))} sentences, read in {pieces} pieces; {same} came out the same"
    )


if __name__ == "__main__":
    run(several_sentences)
