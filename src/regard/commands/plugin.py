"""--plugin FILE.py, an option of every verb: parts of the user's own, loaded before the verb runs."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

HELP = "A Python file of yours that puts parts on the menu (repeatable; also REGARD_PLUGINS)."
Plugins = Annotated[list[Path] | None, typer.Option("--plugin", metavar="FILE.py", help=HELP)]


def offer_plugins(app: typer.Typer) -> None:
    """Let every verb of an app, and of the apps below it, take `--plugin`."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_plugins(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            offer_plugins(group.typer_instance)


def _with_plugins(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    def called(*args: Any, plugin: list[Path] | None = None, **options: Any) -> Any:
        from regard.recipe.plugins import plugin as load

        for file in plugin or ():
            load(file)
        return verb(*args, **options)

    signature = inspect.signature(verb, eval_str=True)
    last = inspect.Parameter("plugin", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Plugins)
    called.__signature__ = signature.replace(parameters=[*signature.parameters.values(), last])  # type: ignore[attr-defined]
    called.__annotations__ = {**verb.__annotations__, "plugin": Plugins}
    return called
