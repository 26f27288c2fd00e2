"""regard recipes: what can be made at once."""

from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.show import as_json, console, line
from regard.figures import count

if TYPE_CHECKING:
    from regard.commands.recipe_figures import Figures

PER = {
    "tokens": ("seconds_per_million_tokens", 1_000_000, "a million tokens"),
    "images": ("seconds_per_thousand_images", 1_000, "a thousand images"),
}
GROUPS = {"image_classifier": "Images", "image_restorer": "Images"}
UNTRAINED = "to build and describe; no task trains them yet"


def recipes(json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """List the recipes that come with Regard: what each is for, how large it is and how long it takes here."""
    facts = recipe_facts()
    if json:
        return as_json(facts)
    titles = list(dict.fromkeys(_title(one) for one in facts.values()))
    for title in sorted(titles, key=lambda title: UNTRAINED in title):
        name, _, more = title.partition(": ")
        line((name, "bold"), f": {more}" if more else "")
        for recipe, one in facts.items():
            if _title(one) == title:
                _show(recipe, one)
        console.print()
    line("Times are rough, for this machine left alone; data of yours take so long a pass.")
    line(("regard train … --dry-run", "bold"), " measures; ", ("training.minutes=N", "bold"), " sets the time.")
    line("Look at one: ", ("regard describe transformer-tiny", "bold"))
    return None


def recipe_facts() -> dict[str, dict[str, Any]]:
    """What is known of every recipe, by its name."""
    from regard.commands.recipe_figures import kept_figures
    from regard.measuring.speed import training_speed
    from regard.recipe import recipes as on_the_shelf

    figures, speed = kept_figures(), training_speed()
    return {name: _facts(about, figures.get(name), speed) for name, about in on_the_shelf().items()}


def _facts(about: str, known: "Figures | None", speed: float) -> dict[str, Any]:
    """One recipe. Seconds are those of all of its training, or where the data are yours of a million tokens, or of a
    thousand images."""
    if known is None:
        return {"about": about, "task": None, "trainable": None}
    facts: dict[str, Any] = {
        "about": about,
        "task": known.task or None,
        "trainable": bool(known.task),
        "model": known.model,
    }
    facts["parameters"] = known.parameters
    if known.task:
        facts[PER[known.unit][0]] = known.flops * PER[known.unit][1] / speed
        facts["seconds"] = known.flops * known.tokens / speed if known.tokens else None
    return facts


def _title(one: dict[str, Any]) -> str:
    if one["trainable"] is None:
        return "Others"
    if one["trainable"]:
        return f"For {one['task']}: regard train RECIPE"
    return f"{GROUPS.get(one['model'], one['model'])}: {UNTRAINED}"


def _show(name: str, one: dict[str, Any]) -> None:
    size = count(one["parameters"]) if one.get("parameters") else ""
    time = time_of(one)
    line("  ", (f"{name:<20}", "bold"), f"{size:>6} parameters{f', {time}' if time else ''}" if size else "")
    for part in wrap(one["about"], console.width - 6):
        line(f"      {part}", style="dim")


def time_of(one: dict[str, Any]) -> str:
    """A number that promises no more than it can keep."""
    if one.get("seconds"):
        return f"about {_about(one['seconds'])}"
    found = [(one[key], words) for key, _, words in PER.values() if one.get(key)]
    return f"about {_about(found[0][0])} {found[0][1]}" if found else ""


def _about(seconds: float) -> str:
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 0.95 * unit:
            return f"{float(f'{seconds / unit:.1g}'):g} {name}"
    return f"{max(10, round(seconds, -1)):.0f} s"
