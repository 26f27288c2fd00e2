"""regard menu: every slot, every choice, every option."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from regard.commands.completing import kinds, slots
from regard.commands.show import as_json, columns, console, line
from regard.errors import RecipeError

if TYPE_CHECKING:
    from regard.commands.menu_search import Hit
    from regard.recipe.cards import Cards, KindCard, SlotCard
    from regard.recipe.options import Option

MUST = "must be said"


def menu(
    slot: Annotated[
        str,
        typer.Argument(
            help="One slot in full, such as attention; or any word to look for: rope.", autocompletion=slots
        ),
    ] = "",
    kind: Annotated[str, typer.Argument(help="One of its choices, such as multihead.", autocompletion=kinds)] = "",
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="JSON schema of a whole recipe, for editors.")] = False,
) -> None:
    """Show what a recipe can choose from, and every option of it."""
    from regard.commands.menu_cards import cards

    if schema:
        return _schema(slot)
    found = cards()
    if not slot:
        return as_json(found.table()) if json else _whole(found)
    if hits := _searched(found, slot, kind):
        return as_json([asdict(hit) for hit in hits]) if json else _hits(hits)
    chosen = _slots(found, slot)
    if kind:
        chosen = [_with_kind(chosen, slot, kind)]
    if json:
        cards_ = [asdict(each.kinds[0] if kind else each) for each in chosen]
        return as_json(cards_[0] if len(cards_) == 1 else cards_)
    for number, each in enumerate(chosen):
        console.print(Text.assemble("\n" if number else "", (each.name, "bold"), f"  {each.about}"))
        for one in each.kinds:
            _in_full(one, one.kind == each.default)
    return None


def _schema(slot: str) -> None:
    if slot:
        raise RecipeError("--schema is that of a whole recipe; leave out the slot")
    from regard.recipe.schema import recipe_schema
    from regard.training.menu import MENU

    as_json(recipe_schema(MENU))


def _searched(cards: "Cards", slot: str, kind: str) -> "list[Hit]":
    """Where words are found that are no slot, and no slip in the name of one."""
    from regard.commands.menu_search import search

    if slot in cards.other_names or slot in {one.name for one in cards.slots}:
        return []
    return search(cards, f"{slot} {kind}")


def _hits(hits: "list[Hit]") -> None:
    from regard.commands.menu_search import KEYS, MOST

    for hit in hits[:MOST]:
        console.print(Text(hit.name, "bold cyan"))
        console.print(Padding(Text(hit.about), (0, 0, 0, 4)))
        more = ["…"] if len(hit.set) > KEYS else []
        console.print(Padding(Text("  ".join([*hit.set[:KEYS], *more]), "bold"), (0, 0, 0, 4)))
    if len(hits) > MOST:
        line(f"and {len(hits) - MOST} more: ", ", ".join(hit.name for hit in hits[MOST:]), style="dim")
    first = hits[0].name.partition(":")[0]
    line("All of the first: ", (f"regard menu {first}", "bold"))


def _slots(cards: "Cards", name: str) -> "list[SlotCard]":
    """By its own name, or by a key that chooses from it: for one task from this slot, for another from that."""
    slots = {slot.name: slot for slot in cards.slots}
    known = [name] if name in slots else cards.other_names.get(name, [])
    if not known:
        names = [kind.kind for slot in cards.slots for kind in slot.kinds]
        close = _nearest(name, [*slots, *cards.other_names]) or _nearest(name, names)
        raise RecipeError(f"{name}: no such slot{close}\nthe slots are {', '.join(slots)}")
    return [slots[one] for one in known]


def _with_kind(slots: "list[SlotCard]", slot: str, name: str) -> "SlotCard":
    for one in slots:
        kinds = [kind for kind in one.kinds if kind.kind == name]
        if kinds:
            return replace(one, kinds=kinds)
    names = [kind.kind for one in slots for kind in one.kinds]
    raise RecipeError(f"{name}: no {slot} is called so{_nearest(name, names)}\nthere is {', '.join(names)}")


def _nearest(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _whole(cards: "Cards") -> None:
    widest = max(len(kind.kind) for slot in cards.slots for kind in slot.kinds)
    for slot in cards.slots:
        console.print(Text.assemble((slot.name, "bold"), f"  {slot.about}"))
        table = columns("", "", "")
        table.show_header = False
        table.columns[1].min_width = widest
        for kind in slot.kinds:
            table.add_row("", Text(kind.kind, "cyan"), Text(kind.about))
        console.print(table)
        console.print()
    line("One slot with all its options: ", ("regard menu attention", "bold"))
    line("One choice: ", ("regard menu attention multihead", "bold"))


def _in_full(card: "KindCard", by_default: bool) -> None:
    aside = "  (if no kind is said)" if by_default else f"  (added by {card.added})" if card.added else ""
    console.print(Text.assemble("\n", (card.kind, "bold cyan"), (aside, "dim")))
    console.print(Padding(Text(card.about), (0, 0, 0, 2)))
    for paragraph in card.more.split("\n\n") if card.more else []:
        console.print(Padding(Text(paragraph, "dim"), (0, 0, 0, 2)))
    for option in card.options:
        said = Text.assemble((option.name, "bold"), f"  {option.wants}; ", (_default(option), "cyan"))
        console.print(Padding(said, (0, 0, 0, 4)))
        console.print(Padding(Text(option.about), (0, 0, 0, 8)))


def _default(option: "Option") -> str:
    return MUST if option.default == MUST else f"default {option.default}"
