"""regard translate: sentences, files or a pipe."""

import json as jsons
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.completing import runs as complete_runs
from regard.commands.show import console
from regard.commands.shown import Shown
from regard.datasets.lines import one_line
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.tasks.translation import Translated, Translator

TOGETHER = 1024  # lines translated at a time, where so many are waiting


def translate(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    text: Annotated[list[str] | None, typer.Argument(help="Texts; from --file or a pipe if not said.")] = None,
    file: Annotated[Path | None, typer.Option(help="A text file, a text a line; .gz and .xz are unpacked.")] = None,
    beam: Annotated[int, typer.Option(min=0, help="Size of the beam; 1 is greedy, 0 as the recipe says.")] = 0,
    n_best: Annotated[int, typer.Option(min=1, help="How many translations of each.")] = 1,
    attention: Annotated[bool, typer.Option("--attention", help="Draw which words were looked at.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Eight-bit matrices: faster, a little less exact.")] = False,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Score only likely words: faster.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per text, for machines.")] = False,
) -> None:
    """Translate with a trained run: order and empty lines are kept, long texts are split into sentences."""
    from regard.commands.waiting import waiting
    from regard.trained import open_run
    from regard.verbs import translator_of

    lines = _lines(text, file)
    keys = ["task.shortlist=true"] if shortlist else []
    trained = open_run(run, *keys, listener=Shown(), int8=int8)
    translator = translator_of(trained).resized(beam, n_best)
    shown = 0
    for some in waiting(lines, TOGETHER):
        ready: dict[int, Translated] = {}
        first = shown
        for number, found in translator.stream(some, first=first):
            ready[first + number] = found
            while shown in ready:
                _write(translator, ready.pop(shown), n_best, attention, json)
                shown += 1


def _lines(text: list[str] | None, file: Path | None) -> Iterator[str]:
    if text:
        return iter(text)
    if file is None and sys.stdin.isatty():
        raise InputError("nothing to translate: give a text, --file, or a pipe")
    return _read(file)


def _read(file: Path | None) -> Iterator[str]:
    from regard.datasets.lines import bare_lines, raw_lines

    for number, line in enumerate(raw_lines(file) if file else bare_lines(_pipe()), 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{file or 'the pipe'}: line {number}: not UTF-8") from error


def _pipe() -> Iterable[bytes]:
    """Standard input, opened anew: Python aborts at its end if a thread still waits in the one it closes itself."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # not a file of the system
        return sys.stdin.buffer


def _write(translator: "Translator", found: "Translated", n_best: int, attention: bool, json: bool) -> None:
    best = list(zip(found.texts, found.scores, strict=True))
    seen = translator.align(found.source, found.text) if attention and found.source.strip() else None
    if json:
        row = {"source": found.source, "translations": [{"text": text, "score": score} for text, score in best]}
        print(jsons.dumps(row | ({"attention": vars(seen)} if seen else {}), ensure_ascii=False), flush=True)
        return
    for text, score in best:
        line = one_line(text)
        print(line if n_best == 1 else f"{score:.3f}\t{line}", flush=True)
    if seen is not None:
        console.print(f"\n{seen}\n")
