"""What to make: menus, recipes, and errors that name the place. No torch here."""

from regard.errors import RecipeError
from regard.recipe.menu import Menu, Slot
from regard.recipe.part import Count, File, NonNegative, Number, Part, Positive, Share, choose
from regard.recipe.recipe import Recipe, recipes

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
    "Slot",
    "choose",
    "recipes",
]
