"""What to make: menus, recipes, and errors that name the place. No torch here."""

from regard.errors import RecipeError
from regard.recipe.menu import Count, Menu, Number, Part, Positive, Share, Slot, choose
from regard.recipe.recipe import Recipe, recipes

__all__ = [
    "Count",
    "Menu",
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
