"""regard score: how likely texts are, for ranking, filtering, and pairs that differ in one word."""

import json as jsons
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.ahead import check_ahead
from regard.commands.completing import runs as complete_runs
from regard.commands.show import plainly
from regard.commands.shown import Shown
from regard.commands.translate import Device, Int8, Quiet
from regard.datasets.lines import one_line

if TYPE_CHECKING:
    from regard.tasks.language.scorer import ScoredText

TOGETHER = 1024  # texts that are scored at a time


def score(
    run: Annotated[Path, typer.Argument(help="A run folder of a language model.", autocompletion=complete_runs)],
    text: Annotated[list[str] | None, typer.Argument(help="Texts; from --file or a pipe (-) if not said.")] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A text file, a text a line; .gz and .xz are unpacked; may be repeated; - is a pipe."),
    ] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Count that the text ends there too.")] = False,
    device: Device = "auto",
    int8: Int8 = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per text, with every token.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say how likely texts are: a line for every line, log P in nats, tokens, bits per byte, and the text.

    regard score runs/gpt 'The keys are here.' 'The keys is here.'

    regard score runs/gpt --file sentences.txt | sort -n
    """
    check_ahead(run)
    from regard.commands.asked import asked_lines
    from regard.commands.waiting import waiting
    from regard.commands.warned import DAMAGED, Warned
    from regard.tasks.language.scorer import Scorer
    from regard.verbs import generator_of, opened

    lines = asked_lines(text or [], file or [], "texts", "score")
    with Shown(quiet) as heard:
        scorer = Scorer(generator_of(opened(run, device=device, int8=int8, listener=heard)), ended)
        warned, done = Warned(heard, "scored"), 0
        for some in waiting(lines, TOGETHER):
            for asked in some:
                for told, why in ((asked.refused, f"not scored: {asked.refused}"), (asked.damaged, DAMAGED)):
                    if told:
                        warned.of(why, asked.place)
            texts = ["" if one.refused else one.text for one in some]
            scorer.check(texts, done + 1)
            found = dict(scorer.score(texts))
            heard.clear()
            for number in range(len(some)):
                plainly(_line(found[number], json))
            done += len(some)
            heard.at("scoring", done)
        if not done:
            heard.say("nothing was scored: there was no line")
        warned.sum_up()


def _line(found: "ScoredText", json: bool) -> str:
    if json:
        tokens = [{"text": token.text, "log_prob": round(token.log_prob, 6)} for token in found.tokens]
        row = {"text": found.text, "log_prob": round(found.log_prob, 6), "per_token": round(found.per_token, 6)}
        return jsons.dumps(row | {"bits_per_byte": round(found.bits_per_byte, 6), "tokens": tokens}, ensure_ascii=False)
    figures = f"{found.log_prob:.3f}\t{len(found.tokens)}\t{found.bits_per_byte:.3f}"
    return f"{figures}\t{one_line(found.text)}"
