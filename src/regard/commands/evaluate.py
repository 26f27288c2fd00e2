"""regard evaluate: how good a run is on data it has not seen."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.show import as_json, columns, console, one_line, progress

if TYPE_CHECKING:
    from regard.trained import Evaluation


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    on: Annotated[str, typer.Option(help="Other files: NAME for NAME.de and NAME.en, or one .tsv or .jsonl.")] = "",
    beam: Annotated[int, typer.Option(min=0, help="Size of the beam; 1 is greedy, 0 as the recipe says.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Where the translations and the plot go; the run if not said.")
    ] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Eight-bit matrices: faster, a little less exact.")] = False,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Score only likely words: faster.")] = False,
    against: Annotated[list[Path] | None, typer.Option(help="Another run, scored beside it on the same data.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Score a run: loss, BLEU, chrF, and BLEU by the length of the source."""
    from regard.look.lengths import plot_lengths
    from regard.trained import evaluate as evaluated
    from regard.trained import open_run

    def warn(said: str) -> None:
        print(said, file=sys.stderr)

    all_found: dict[str, Evaluation] = {}
    folders = [run, *(against or [])]
    opened = [open_run(one, warn, int8=int8, shortlist=shortlist) for one in folders]
    for one, trained in zip(folders, opened, strict=True):
        with progress(100, quiet=True) as tell:
            name = trained.recipe.name if trained.recipe.name not in all_found else str(one)
            all_found[name] = evaluated(trained, on=on, beam=beam, like=opened[0], tell=_percent(tell))
    found, folder = next(iter(all_found.values())), out or run
    picture = plot_lengths({name: one.by_length for name, one in all_found.items()}, folder / "bleu-by-length.png")
    written = folder / "translations.txt"
    written.write_text("".join(one_line(line) + "\n" for line in found.translations), encoding="utf-8")
    if json:
        rows = {name: _short(one) for name, one in all_found.items()}
        return as_json(_short(found) | ({"against": dict(list(rows.items())[1:])} if against else {}))
    _show(found)
    if against:
        _compare(all_found)
    console.print(f"\nLook at [bold]{picture}[/]; the translations are in [bold]{written}[/].", soft_wrap=True)
    return None


def _short(found: "Evaluation") -> dict[str, Any]:
    return {key: value for key, value in asdict(found).items() if key not in _LONG}


def _percent(tell: Callable[[str], None]) -> Callable[[int, int], None]:
    """One step of a bar of a hundred for every hundredth done."""
    told = 0

    def so_far(done: int, total: int) -> None:
        nonlocal told
        while told < 100 * done // total:
            told += 1
            tell(f"{done:,} of {total:,} translated")

    return so_far


_LONG = ("sources", "translations", "references")


def _show(found: "Evaluation") -> None:
    table = columns("", " ", "")
    table.show_header = False
    table.add_row("pairs", f"{found.pairs:,}", f"{found.pairs / found.seconds:.1f} sentences/s")
    table.add_row("loss", f"{found.loss:.3f}", f"perplexity {found.perplexity:.2f}")
    table.add_row("exact match", f"{100 * found.exact:.1f} %", "")
    table.add_row("BLEU", f"{found.bleu:.2f}", found.signatures["bleu"])
    table.add_row("BLEU, lower case", f"{found.tokenised:.2f}", found.signatures["tokenised"])
    table.add_row("chrF", f"{found.chrf:.2f}", found.signatures["chrf"])
    console.print(table)
    console.print()
    bins = columns(" words in the source", " pairs", " BLEU", " chrF", "")
    for part in found.by_length:
        bar = "█" * round(part.bleu / 4)
        bins.add_row(f"{part.least}–{part.most}", f"{part.count:,}", f"{part.bleu:.1f}", f"{part.chrf:.1f}", bar)
    console.print(bins)


def _compare(all_found: "dict[str, Evaluation]") -> None:
    """Runs as columns: the whole, then by length."""
    table = columns("", *(f" {name}" for name in all_found))
    found = list(all_found.values())
    table.add_row("BLEU", *(f"{one.bleu:.2f}" for one in found))
    table.add_row("BLEU, lower case", *(f"{one.tokenised:.2f}" for one in found))
    table.add_row("chrF", *(f"{one.chrf:.2f}" for one in found))
    table.add_row("perplexity", *(f"{one.perplexity:.2f}" for one in found))
    bins = [{(part.least, part.most): part.bleu for part in one.by_length} for one in found]
    for least, most in bins[0]:
        scores = [one.get((least, most)) for one in bins]
        table.add_row(f"BLEU, {least}–{most} words", *("" if s is None else f"{s:.1f}" for s in scores))
    console.print()
    console.print(table)
