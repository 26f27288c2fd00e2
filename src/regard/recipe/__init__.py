"""What to make: menus, recipes, and errors that name the place. No torch here."""

from regard.errors import RecipeError
from regard.recipe.menu import Menu
from regard.recipe.part import Count, File, NonNegative, Number, Part, Positive, Share, choose
from regard.recipe.recipe import Recipe, Size, recipes
from regard.recipe.slot import Slot

__all__ = [
    "Count",
    "File",
    "Menu",
    "NonNegative",
    "Number",
    "Part",
    "Positive",
    "Recipe",
    "RecipeError",
    "Share",
    "Size",
    "Slot",
    "choose",
    "recipes",
]
