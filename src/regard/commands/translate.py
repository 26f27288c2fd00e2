"""regard translate: sentences, files or a pipe."""

import json as jsons
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.ahead import check_ahead
from regard.commands.completing import runs as complete_runs
from regard.commands.show import console, plainly
from regard.commands.shown import Shown
from regard.commands.warned import CUT_SHORT, DAMAGED, FOREIGN, Warned
from regard.datasets.lines import one_line
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.commands.asked import Asked
    from regard.looking.alignment import Alignment
    from regard.tasks.translation import Translated, Translator

TOGETHER = 1024  # lines translated at a time, where so many are waiting
KEY = re.compile(r"(decoding|task|data|model|training|tokenizer)\.[a-z_0-9.]+=\S*")

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; warnings and errors are still said.")]
Int8 = Annotated[
    bool,
    typer.Option("--int8", help="Eight-bit matrices: faster (language models: with numba), a little less exact."),
]
Device = Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1; auto takes a GPU if there is one.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="a.b=c", help="How it answers, such as decoding.length_penalty=0.6; may be repeated."
    ),
]


def translate(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    text: Annotated[list[str] | None, typer.Argument(help="Texts; from --file or a pipe (-) if not said.")] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A text file, a text a line; .gz and .xz are unpacked; may be repeated; - is a pipe."),
    ] = None,
    beam: Annotated[int, typer.Option(min=0, help="Size of the beam; 1 is greedy, 0 as the recipe says.")] = 0,
    n_best: Annotated[int, typer.Option(min=1, help="How many translations of each.")] = 1,
    set_: Set = None,
    attention: Annotated[bool, typer.Option("--attention", help="Draw which words were looked at.")] = False,
    device: Device = "auto",
    int8: Int8 = False,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Score only likely words: faster.")] = False,
    split: Annotated[
        bool | None,
        typer.Option(
            "--split/--no-split",
            help="Translate sentence by sentence; if not said, where the run learnt from single sentences.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per text, for machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Translate with a trained run: a line for every line, in their order; texts are split into sentences.

    regard translate runs/mine 'Guten Abend.' --beam 5 --set decoding.length_penalty=0.6

    regard translate runs/mine --file in.txt.gz > out.txt
    """
    check_ahead(run)
    from regard.commands.asked import asked_lines
    from regard.commands.waiting import waiting
    from regard.decoding.resize import check_sizes
    from regard.verbs import opened, split_keys, translator_of

    check_sizes(beam, n_best)
    lines = asked_lines(no_keys(text or []), file or [])
    keys = [*(set_ or ()), *(["task.shortlist=true"] if shortlist else []), *split_keys(split)]
    with Shown(quiet) as heard:
        trained = opened(run, *keys, beam=beam, device=device, int8=int8, listener=heard)
        translator = translator_of(trained).resized(beam, n_best)
        writer = _Writer(translator, heard, n_best, attention, json)
        for some in waiting(lines, TOGETHER):
            writer.answer(some)
        if not writer.shown:
            heard.say("nothing was translated: there was no line")
        writer.warned.sum_up()


def no_keys(texts: list[str]) -> list[str]:
    """Texts; what looks like a key of a recipe was not meant as one."""
    for text in texts:
        if KEY.fullmatch(text):
            raise InputError(f"{text}: a key is set with --set {text}; as a text it is taken from --file or a pipe")
    return texts


class _Writer:
    """Answers in the order of the questions, each as soon as those before it are written."""

    def __init__(self, translator: "Translator", heard: Shown, n_best: int, attention: bool, json: bool) -> None:
        self.translator, self.heard, self.n_best, self.attention, self.json = translator, heard, n_best, attention, json
        self.shown, self.warned = 0, Warned(heard)

    def answer(self, asked: "list[Asked]") -> None:
        """Some more texts."""
        ready: dict[int, Translated] = {}
        first = self.shown
        texts = ["" if each.refused else each.text for each in asked]
        for number, found in self.translator.stream(texts, first=first):
            ready[first + number] = found
            while self.shown in ready:
                self.heard.clear()
                self._write(ready.pop(self.shown), asked[self.shown - first])
                self.shown += 1
            if not sys.stdout.isatty():  # else the answers themselves are what is seen
                self.heard.at("translating", self.shown)

    def _write(self, found: "Translated", asked: "Asked") -> None:
        best = list(zip(found.texts, found.scores, strict=True))
        refusal = asked.refused and f"not translated: {asked.refused}"
        foreign = not (refusal or asked.damaged) and self.translator.tokenizers.source.is_foreign(asked.text)
        warnings = ((refusal, refusal), (asked.damaged, DAMAGED), (foreign, FOREIGN), (found.cut_short, CUT_SHORT))
        for told, why in warnings:
            if told:
                self.warned.of(why, asked.place)
        if self.json:
            row: dict[str, Any] = {"source": asked.text, "cut_short": found.cut_short}
            row["translations"] = [{"text": text, "score": score} for text, score in best]
            row |= {"refused": refusal} if refusal else {}
            seen = self._seen(found, asked.place)
            plainly(jsons.dumps(row | ({"attention": vars(seen)} if seen else {}), ensure_ascii=False))
            return
        best += [("", float("-inf"))] * (self.n_best - len(best))  # so many lines for every line, whatever was found
        for text, score in best:
            line = one_line(text)
            plainly(line if self.n_best == 1 else f"{score:.3f}\t{line}")
        if (seen := self._seen(found, asked.place)) is not None:
            console.print(f"\n{seen}\n", soft_wrap=True)  # a picture in letters: torn, it says nothing

    def _seen(self, found: "Translated", place: str) -> "Alignment | None":
        """Where it looked; a model that looks nowhere says so once, and answers all the same."""
        if not self.attention or not found.parts:
            return None
        from regard.looking.alignment import NoAttentionError, TooLongError

        try:
            return self.translator.look(found)
        except NoAttentionError as error:
            self.attention = False
            self.heard.say(f"--attention: {error}")
        except TooLongError as error:
            self.heard.say(f"{place}: --attention: {error}")
        return None
