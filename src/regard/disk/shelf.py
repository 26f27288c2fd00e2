"""Where the recipes are that come with Regard."""

from importlib.resources import files
from pathlib import Path


def shelf() -> Path:
    """The folder of recipes that come with Regard, with the menu's texts beside them."""
    beside = Path(__file__).parents[3] / "recipes"
    return beside if beside.is_dir() else Path(str(files("regard") / "recipes"))
