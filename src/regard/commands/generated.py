"""What is written from the menu and kept beside the code: `make generated` writes it, a test says when to.

recipes/menu.json            the texts of `regard menu`, so that it need not import torch
recipes/figures.json         sizes and costs of the recipes, so that `regard recipes` need not either
recipes/recipe.schema.json   the JSON schema of recipes, for editors
docs/options.md              every option, to be read
"""

import json

from regard.commands.menu_cards import FILE, live_cards, signatures
from regard.commands.options_page import page
from regard.commands.recipe_figures import FILE as FIGURES
from regard.commands.recipe_figures import reckoned
from regard.disk import write
from regard.disk.shelf import shelf
from regard.recipe.schema import recipe_schema

SCHEMA = "recipe.schema.json"


def generated() -> dict[str, str]:
    """The texts by the names of their files, from the root of the project."""
    from regard.training.menu import MENU

    cards = live_cards()
    return {
        f"recipes/{FILE}": _json({"signatures": signatures()} | cards.table()),
        f"recipes/{SCHEMA}": _json(recipe_schema(MENU)),
        "docs/options.md": page(cards),
    }


def _json(table: object) -> str:
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, text in (generated() | {f"recipes/{FIGURES}": _json(reckoned())}).items():
        write(shelf().parent / name, text.encode())
        print(name)
