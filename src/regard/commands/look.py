"""regard look: what a trained model looks at, as a picture, as numbers, and head by head."""

from dataclasses import asdict
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.ahead import check_ahead
from regard.commands.completing import runs as complete_runs
from regard.commands.examples import check_asked, show_examples
from regard.commands.page import is_paged, show
from regard.commands.show import as_json, console, line, plainly
from regard.commands.shown import Shown
from regard.commands.translate import Device, Quiet
from regard.datasets.lines import one_line
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.looking.ablation import Without
    from regard.looking.look import Look
    from regard.looking.panel import Panel

LIKELIEST = 3  # classes of an image that are named


def look(
    run: Annotated[Path | None, typer.Argument(help="A run folder.", autocompletion=complete_runs)] = None,
    text: Annotated[
        str | None,
        typer.Argument(help="What it reads, or the name of an image; from --file or a pipe (-) if not said."),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A text file, all of it one text; - is a pipe.")] = None,
    target: Annotated[
        str, typer.Option(help="What it is to have written (of an image: a class); its own if not said.")
    ] = "",
    tokens: Annotated[int, typer.Option(min=0, help="How many tokens a language model writes behind the text.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="A page (.html), a picture (.png, .svg, .pdf) or exact numbers (.csv, .json)."
        ),
    ] = None,
    view: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is shown: heads (all of a kind: heads.cross), cross.0.3 (one head), cross.0 or cross (a mean), "
            "rollout, influence.source.",
        ),
    ] = "",
    rows: Annotated[str, typer.Option(metavar="A:B", help="Only these rows, counted from 0.")] = "",
    subwords: Annotated[
        bool | None,
        typer.Option(
            "--subwords/--words",
            help="Every token by itself, or merged into words; words unless a side would have one or two.",
            show_default=False,
        ),
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads", help="Measure all heads: what each does, and what becomes without it.")
    ] = False,
    off: Annotated[
        list[str] | None,
        typer.Option("--off", metavar="NAME", help="Switch a head off (cross.0.3); may be repeated."),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="RUN",
            help="Another run beside it, on the page; up to three.",
            autocompletion=complete_runs,
        ),
    ] = None,
    live: Annotated[
        bool | None,
        typer.Option(
            "--live/--no-live", help="Open the page in the browser; on a terminal, unless something else is asked for."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where the live page is on this machine; 0 is any that is free.")
    ] = 0,
    examples: Annotated[
        bool, typer.Option("--examples", help="The examples of the notes, as pages in out/examples, or in --out.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="This example alone (apple); may be repeated.")
    ] = None,
    smollm2: Annotated[
        bool, typer.Option("--smollm2", help="Ask SmolLM2 too, fetched if it is not in runs/smollm2 (93 MB).")
    ] = False,
    device: Device = "auto",
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Look inside a run while it reads a text or an image: every attention, every head, exactly, whatever its kernel.

    regard look runs/mine 'guten abend'

    regard look runs/mine 'guten abend' --out x.html

    regard look runs/gpt 'a text' --view masked.2.5 --out head.csv

    regard look runs/mine 'guten abend' --heads

    regard look runs/photos cat.jpg --out heads.png

    regard look --examples
    """
    asked_of_it = (text, file, target, tokens, view, rows, subwords, heads, off, beside, live, port, device != "auto")
    check_asked(run, any(asked_of_it), examples, bool(only or smollm2))
    if run is None:
        return show_examples(out, only or [], smollm2, json, quiet)
    check_ahead(run, *(beside or ()))
    from regard.verbs import check_one_task
    from regard.verbs import look as looked

    _check(out, view, heads, off or [], bool(rows), bool(subwords))
    words = None if subwords is None else not subwords
    paged = is_paged(out, live, bool(view or rows), bool(heads or off or json), bool(subwords))
    if port and (out is not None or not paged):
        raise InputError(f"--port {port}: only the live page has an address; --live opens it")
    if beside and not paged:
        raise InputError("--with: runs stand side by side on the page only; --out x.html writes one, --live opens it")
    check_one_task([run, *(beside or ())])
    asked = _asked(text, file, tokens)
    with Shown(quiet) as heard:
        found = looked(run, asked, target, tokens=tokens, device=device, listener=heard)
        if paged:
            others = [looked(one, asked, target, tokens=tokens, device=device, listener=heard) for one in beside or ()]
            heard.clear()
            return show([found, *others], out, port, json, words)
        if off:
            return _switched_off(found, off, json, heard)
        if heads:
            return _measured(found, out, json, heard)
        _say_cut(found, view, words, rows, heard)
        if out is not None:
            return _told(found.save(out, view, words=words, rows=rows, listener=heard), json)
        heard.clear()
        return _shown(found, view, words, rows, json)


def _check(out: Path | None, view: str, heads: bool, off: list[str], rows: bool, subwords: bool) -> None:
    """What does not go together, and names under which nothing could be written, before anything is loaded."""
    from regard.looking.saving import check_name

    said = [word for word, given in (("--off", off), ("--heads", heads), ("--view", view)) if given]
    if len(said) > 1:
        raise InputError(f"{said[0]} and {said[1]}: ask for one of them at a time")
    picture = [word for word, given in (("--rows", rows), ("--subwords", subwords)) if given]
    if picture and (heads or off):
        raise InputError(f"{picture[0]} and {said[0]}: the one is of a picture, the other gives numbers")
    if off and out is not None:
        raise InputError("--off and --out: what is written without a head is said here, or by --json for machines")
    if out is not None:
        check_name(out, only_numbers=heads)


def _say_cut(found: "Look", view: str, words: bool | None, rows: str, heard: Shown) -> None:
    """Fewer rows than were asked for are not taken for all of them."""
    start, _, stop = rows.partition(":")
    if rows and stop.isdecimal():
        merged = found.scene.image is None and (found.words if words is None else words)
        there = found.panels(view or found.usual)[0].shape(merged)[0]
        if int(start or 0) < there < int(stop):
            heard.say(f"--rows {rows}: there are {there:,} rows, so {start or 0}:{there} is shown")


def _asked(text: str | None, file: Path | None, tokens: int) -> str:
    """One text, however long; a model that writes by itself needs none. `-` is the pipe."""
    from regard.commands.asked import PIPE
    from regard.commands.prompts import asked_prompts, prompt_of

    if text == str(PIPE) and file is None:
        text, file = None, PIPE
    if text is not None and file is not None:
        raise InputError(f"a text and --file {file}: say what to look at in one way, not in two")
    if text is None and file is None and tokens:
        return ""
    prompts = asked_prompts([] if text is None else [text], [file] if file else [], whole=text is None)
    if prompts is None:
        raise InputError("nothing to look at: give a text, --file, or a pipe")
    found = prompt_of(next(prompts))
    return found.rstrip("\n") if text is None else found


def _shown(found: "Look", view: str, words: bool | None, rows: str, json: bool) -> None:
    """On the terminal, or all numbers for machines."""
    from regard.looking.saving import document

    if json:
        plainly(document(found, view, words=words, rows=rows))
        return
    name = view or found.usual
    if not found.layers and not view:
        line(f"this model has no attention; what counted is told by gradients ({name})", style="dim")
    said, panels = found.text(name, words, rows), found.panels(name)
    line(panels[0].title if len(panels) == 1 else f"{len(panels)} heads", style="bold")
    console.print(f"\n{said}\n", soft_wrap=True)
    _exactly(found)
    if not view and found.scene.image is None and found.layers:
        _hint(found, panels[0])


def _hint(found: "Look", panel: "Panel") -> None:
    """Where to look if a mean of many heads shows little, as where most of them look at the first token."""
    kind, layer, _ = panel.place
    heads = sum(each.heads for each in found.of(kind))
    if heads > 1 and layer is None:
        sink = panel.rows is panel.columns and found.is_sink(kind)
        why = "most of the weight is on the first token, an attention sink; " if sink else ""
        line(
            f"this is a mean: {why}--heads says what each of {heads} heads does, --view {kind}.0.0 shows one",
            style="dim",
        )


def _exactly(found: "Look") -> None:
    if found.scene.image is not None:
        from regard.looking.page.chances import steps

        (step,) = steps(found.scene)
        pairs = zip(step["tokens"][:LIKELIEST], step["log_probs"], strict=False)
        line("classes: ", ", ".join(f"{one_line(label)} {100 * exp(log):.1f} %" for label, log in pairs))
    elif found.scene.written:
        line("written: ", found.scene.written)
    if found.layers:
        line(f"weights {found.exactly}", style="dim")


def _measured(found: "Look", out: Path | None, json: bool, heard: Shown) -> None:
    from regard.looking.saving import check_name, heads_file

    if not found.layers:
        raise InputError(f"this model has no attention, so no heads; --view {found.usual} shows what counted")
    measured = found.heads(heard)
    heard.clear()
    if out is not None:
        return _told(heads_file(found, measured, check_name(out)), json)
    return as_json(found.facts() | measured.facts()) if json else _table(found, str(measured))


def _table(found: "Look", table: str) -> None:
    from regard.looking.heads import LEGEND

    console.print(table, soft_wrap=True)
    line("")
    line(LEGEND, style="dim")
    _exactly(found)


def _switched_off(found: "Look", off: list[str], json: bool, heard: Shown) -> None:
    heard.at("answering without them")
    gone: Without = found.without(*off)
    heard.clear()
    if json:
        return as_json(found.facts() | {"without": asdict(gone)})
    line("off: ", (", ".join(gone.heads), "bold"))
    image = found.scene.image is not None
    line(f"loss {gone.loss[0]:.3f} → {gone.loss[1]:.3f} nats{'' if image else ' per token'}")
    changes = ", ".join(f"{one_line(one.before)} → {one_line(one.after)}" for one in gone.changes)
    more = ", …" if len(gone.changes) < gone.changed else ""
    if not image:
        line(f"another token becomes the likeliest at {gone.changed} of {gone.tokens} steps, given the same beginning")
    if changes:
        line(f"{'class' if image else 'these'}: {changes}{more}")
    if gone.answer is not None and gone.answer == found.scene.written:
        line("the answer stays: ", gone.answer)
    elif gone.answer is not None:
        line("with:    ", found.scene.written)
        line("without: ", gone.answer)
    return None


def _told(path: Path, json: bool) -> None:
    if json:
        return as_json({"written": str(path)})
    return line("Look at ", (str(path), "bold"), ".")
