"""regard menu: every slot, every choice, every option."""

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.show import as_json, columns, console
from regard.errors import RecipeError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from regard.recipe import Menu, Part, Slot


def menu(
    slot: Annotated[str, typer.Argument(help="One slot in full, such as attention.")] = "",
    json: Annotated[bool, typer.Option("--json", help="JSON schema, for machines.")] = False,
) -> None:
    """Show what a recipe can choose from."""
    from regard.recipe.errors import nearest
    from regard.training.menu import MENU

    if slot and slot not in MENU.slots:
        raise RecipeError(f"{slot}: no such slot{nearest(slot, MENU.slots)}")
    chosen = [MENU.slots[slot]] if slot else list(MENU)
    if json:
        return as_json({each.name: MENU.schema(each.name) for each in chosen})
    for each in chosen:
        console.print(f"[bold]{each.name}[/]  {each.about}")
        if slot:
            _in_full(MENU, each)
        else:
            _in_short(each)
    if not slot:
        console.print("One slot with all its options: [bold]regard menu attention[/]")
    return None


def _in_short(slot: "Slot") -> None:
    table = columns("", "", "")
    table.show_header = False
    for kind, entry in slot.entries.items():
        table.add_row(" ", kind, _plain(inspect.getdoc(entry) or "").split("\n")[0])
    console.print(table)
    console.print()


def _in_full(menu: "Menu", slot: "Slot") -> None:
    for kind, part in menu.parts[slot.name].items():
        console.print(f"\n[bold cyan]{kind}[/]")
        console.print(_plain(inspect.getdoc(part.entry) or ""), style="dim")
        options = {name: field for name, field in part.model_fields.items() if name != "kind"}
        if not options:
            continue
        table = columns("  option", "wants", "default")
        for name, field in options.items():
            table.add_row(f"  {name}", *_option(menu, part, name, field))
        console.print(table)


def _option(menu: "Menu", part: "type[Part[Any]]", name: str, field: "FieldInfo") -> tuple[str, str]:
    kind = f"one of {menu.slot_of(part.slots[name])}" if name in part.slots else _plain(_wants(field))
    if field.is_required():
        return kind, "must be given"
    default: Any = field.default
    return kind, _plain(str(default["kind"] if isinstance(default, dict) else default))


def _wants(field: "FieldInfo") -> str:
    from regard.recipe.part import type_name

    bounds = [
        f"{sign} {getattr(bound, name)}"
        for bound in field.metadata
        for name, sign in _SIGNS.items()
        if hasattr(bound, name)
    ]
    return " ".join([type_name(field.annotation), *bounds])


_SIGNS = {"ge": "≥", "gt": ">", "lt": "<", "le": "≤"}


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
