"""Every option of the menu as a page of Markdown: docs/options.md."""

from collections.abc import Iterator

from regard.recipe.cards import Cards, KindCard, SlotCard

HEAD = """# Every option

Made from the menu by `make generated`; `regard menu SLOT KIND` prints the same.

A recipe is a TOML file of sections: `[task]`, `[data]`, `[tokenizer]`, `[model]`, `[training]`, `[decoding]`. In each
place a `kind` is chosen from a slot of the menu, with the options below; what is not said has its default. A choice
without options of its own is short: `norm = "rms"` is `norm = { kind = "rms" }`. On the command line any option is set
by its full key: `regard train transformer-tiny model.decoder.layers=2 training.optimizer.learning_rate=1e-3`.

Editors that know Taplo (Even Better TOML in VS Code) check and complete recipes while they are written. In this
project they do so at once (`.taplo.toml`); elsewhere `regard menu --schema > recipe.schema.json`, and the first line
of a recipe of your own is `#:schema ./recipe.schema.json`.
"""


def page(cards: Cards) -> str:
    """The whole page."""
    return "\n".join([HEAD, *_contents(cards), *(line for slot in cards.slots for line in _slot(cards, slot))]) + "\n"


def _contents(cards: Cards) -> Iterator[str]:
    yield "| slot | what for | choices |"
    yield "|---|---|---|"
    for slot in cards.slots:
        kinds = ", ".join(f"[{kind.kind}](#{slot.name}-{kind.kind})" for kind in slot.kinds)
        yield f"| [{slot.name}](#{slot.name}) | {_cell(slot.about)} | {kinds} |"


def _slot(cards: Cards, slot: SlotCard) -> Iterator[str]:
    keys = [f"`{key}`" for key, names in cards.other_names.items() if slot.name in names]
    also = f" Chosen by the key {' and '.join(keys)} too." if keys else ""
    default = f" If no kind is said, it is {slot.default}." if slot.default else ""
    yield f"\n## {slot.name}\n"
    yield f"{slot.about[:1].upper()}{slot.about[1:]}.{default}{also}"
    for kind in slot.kinds:
        yield from _kind(slot, kind)


def _kind(slot: SlotCard, kind: KindCard) -> Iterator[str]:
    yield f"\n### {slot.name} {kind.kind}\n"
    yield _text(kind.about)
    for paragraph in kind.more.split("\n\n") if kind.more else []:
        yield f"\n{_text(paragraph)}"
    if kind.options:
        yield "\n| option | type | default | |\n|---|---|---|---|"
    for option in kind.options:
        wants = f"a choice of [{option.slot}](#{option.slot})" if option.slot else option.wants
        yield f"| `{option.name}` | {_cell(wants)} | {_cell(option.default)} | {_cell(_text(option.about))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _text(text: str) -> str:
    """Signs that Markdown would take for its own are kept as they are."""
    plain_and_code = text.split("`")
    for place in range(0, len(plain_and_code), 2):
        plain_and_code[place] = "".join(f"\\{sign}" if sign in "*_<[" else sign for sign in plain_and_code[place])
    return "`".join(plain_and_code)
