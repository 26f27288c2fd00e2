"""What `import regard` offers: every name real, typed and explained; every verb of the command line a call."""

import inspect
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import regard
from regard import extend
from regard.commands import app

PACKAGE = Path(regard.__file__).parent
ALIASES = {"Event"}  # a union of classes, each of which is explained
# demo: a show for the terminal, of calls that are all here. The rest says what is not a call of its own name.
NO_CALL = {"demo"}


def test_a_new_process_sees_what_is_offered_and_nothing_else() -> None:
    assert dir(regard) == sorted([*regard.__all__, "__version__"])
    assert regard.__all__ == sorted(regard.__all__)
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'trian'"):
        regard.trian  # type: ignore[attr-defined]  # noqa: B018


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = (
        "import regard, sys; dir(regard); regard.__all__; print([m for m in ('torch', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_name_of_the_surface_is_read_by_type_checkers_too() -> None:
    """The imports under TYPE_CHECKING and the places that are looked up say the same."""
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    static = source[source.index("if TYPE_CHECKING:") : source.index("_PLACES = {")]
    for name in regard.__all__:
        assert f" {name}" in static, name
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize("name", sorted(set(regard.__all__) - ALIASES))
def test_every_name_is_explained_and_annotated(name: str) -> None:
    offered = getattr(regard, name)
    doc = inspect.getdoc(offered) or ""
    assert len(doc.split("\n")[0]) >= 20, doc
    assert not doc.startswith(f"{name}("), "a dataclass without a docstring of its own"
    if inspect.isfunction(offered):
        signature, hints = inspect.signature(offered), get_type_hints(offered, include_extras=True)
        assert set(hints) == {*signature.parameters, "return"}
        assert Any not in hints.values()


@pytest.mark.parametrize("name", extend.__all__)
def test_what_parts_are_made_of_is_there(name: str) -> None:
    offered = getattr(extend, name)
    if isinstance(offered, type) and offered.__module__.startswith("regard"):
        assert inspect.getdoc(offered)


def verbs() -> list[str]:
    groups = [group.name for group in app.registered_groups]
    commands = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    return sorted(filter(None, [*commands, *groups]))


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_is_a_call_and_no_room_has_its_name(verb: str) -> None:
    assert not (PACKAGE / verb).exists(), "a package would hide the call"
    if verb in NO_CALL:
        assert not hasattr(regard, verb)
        return
    call = {"import": "import_model"}.get(verb, verb)  # which is a word of Python's own
    assert call in regard.__all__
    assert inspect.isfunction(getattr(regard, call))


def test_calls_stay_calls_when_everything_is_imported() -> None:
    """No module of the package takes the place of a call once it is loaded."""
    for name in regard.__all__:
        getattr(regard, name)
    for name, module in list(sys.modules.items()):
        if name.startswith("regard.") and name.count(".") == 1 and isinstance(module, types.ModuleType):
            assert name.removeprefix("regard.") not in regard.__all__ or module is extend


@pytest.mark.parametrize("name", ["DivergedError", "FailedError", "InputError", "RecipeError"])
def test_errors_can_be_caught_by_name(name: str) -> None:
    assert issubclass(getattr(regard, name), regard.RegardError)


def test_the_examples_of_docstrings_name_recipes_that_exist() -> None:
    """`build("gpt2", …)`: what is shown can be typed."""
    assert 'build("gpt2"' in (inspect.getdoc(regard.build) or "")
    assert {"gpt2", "gru-additive"} <= set(regard.recipes())
