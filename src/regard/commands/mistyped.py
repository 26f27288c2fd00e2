"""An option that there is not: a slip of the pen, or a key of a recipe that is set in another way."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from regard.errors import RegardError
from regard.recipe.keys import did_you_mean, same_name


def option_meant(option: str, options: Sequence[str], words: Sequence[str]) -> str:
    """`; did you mean training.steps=3?` for `--steps 3`, or an option with a similar name, or nothing.

    `options` are those with similar names, `words` all that was typed behind `regard`.
    """
    try:
        keys = _keys_meant(option, words)
    except (RegardError, OSError):  # no such recipe, or a run that is none: that is said once the option is right
        keys = []
    similar = get_close_matches(option.lstrip("-"), [one.lstrip("-") for one in options if one != "--help"], n=1)
    return did_you_mean(keys or [f"--{name}" for name in similar])


def _keys_meant(option: str, words: Sequence[str]) -> list[str]:
    """Keys of the recipe or of the run that was named, as they are set for this verb."""
    verb, *more = words
    named = [word for word in more if not word.startswith("-")]
    if not named or verb not in ("train", "describe", "evaluate", "translate", "generate"):
        return []
    from regard.recipe.keys import Keys
    from regard.recipe.read import read
    from regard.recipe.recipe import Recipe
    from regard.recipe.stand_in import put_over
    from regard.trained import task_of
    from regard.training.menu import MENU

    within: tuple[str, ...] = ("",)
    table, flag = read(named[0].removeprefix("from=")), ""
    if verb in ("train", "describe"):
        table = put_over(table, [word for word in named[1:] if "=" in word], MENU)
    else:
        within, flag = task_of(Recipe.check(table, MENU)).at_use, "--set "
    value = _value(option, words)
    return [f"{flag}{key}={value}" for key in same_name(option.lstrip("-"), Keys(table, MENU, within).valid)]


def _value(option: str, words: Sequence[str]) -> Any:
    """What was said of it: `--steps=3`, `--steps 3`, or nothing."""
    for word, behind in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else behind if behind and not behind.startswith("--") else "…"
    return "…"
