"""regard restore: images without their noise, by files, folders, patterns or a pipe of names."""

import json as jsons
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.ahead import check_ahead
from regard.commands.asked_images import ImageNames, Refusals, groups_read, is_several
from regard.commands.completing import runs as complete_runs
from regard.commands.show import plainly
from regard.commands.shown import Shown
from regard.commands.streams import Unread
from regard.commands.translate import Device, Quiet
from regard.datasets.lines import one_line
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.tasks.restoration import Restored

AT_ONCE = 8  # images that are held at a time


def restore(
    run: Annotated[Path, typer.Argument(help="A run folder of a restorer.", autocompletion=complete_runs)],
    image: ImageNames = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where restored images go: a folder, or for one image a .png.")
    ] = Path("restored"),
    show: Annotated[
        Path | None,
        typer.Option(help="Draw before and after side by side: a picture (.png, .svg, .pdf), or a folder for many."),
    ] = None,
    corrupt: Annotated[
        bool, typer.Option("--corrupt", help="Spoil images first, as those it learnt from, to see what it can do.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write over images and pictures that are there already.")
    ] = False,
    device: Device = "auto",
    json: Annotated[bool, typer.Option("--json", help="One JSON line per image, for machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Restore images: each is written as a PNG of its own size, and a line says where.

    regard restore runs/mine scan.png photos/ --out clean

    find photos -name '*.jpg' | regard restore runs/mine --json

    regard restore runs/mine letter.png --corrupt --show before-after.png
    """
    check_ahead(run)
    from regard.tasks.images.places import Places
    from regard.tasks.restoration.printing import PNG, Prints
    from regard.verbs import check_verb, opened, restorer_of

    check_verb(run, "restore", "restorer")  # first: its texts would be names of no images
    read = groups_read(image, "restore")
    for places in (Places(out, (PNG,), overwrite), *([] if show is None else [Places(show, overwrite=overwrite)])):
        places.check(is_several(image))
    with Shown(quiet) as heard, Unread() as unread:
        restorer = restorer_of(opened(run, device=device, listener=heard))
        prints, refusals = Prints(restorer, out, show, corrupt, overwrite), Refusals(heard, "restored")
        for one in (one for group in read(AT_ONCE) for one in group):
            if isinstance(one, InputError):
                refusals.refuse(one)
                if json:
                    with unread.lines():
                        _json({"refused": one.on_command_line})
                continue
            found = prints.restore(*one, heard)
            refusals.answer()
            heard.clear()
            with unread.lines():
                _say(found, json)
            heard.at("restoring", prints.done)
        heard.clear()
        if prints.shown is not None and prints.shown.given:
            heard.say(f"look at {prints.shown.told}")
        refusals.end()


def _say(found: "Restored", json: bool) -> None:
    rows, columns, _ = found.pixels.shape
    if json:
        facts = {"image": found.name, "restored": str(found.path), "rows": rows, "columns": columns}
        return _json(facts | ({"psnr": found.psnr} if found.psnr else {}))
    better = "\t{before:.2f} dB\t{after:.2f} dB".format(**found.psnr) if found.psnr else ""
    return plainly(f"{one_line(found.name)}\t{one_line(str(found.path))}{better}")


def _json(row: dict[str, Any]) -> None:
    plainly(jsons.dumps(row, ensure_ascii=False))
