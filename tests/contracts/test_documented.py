"""Every entry says what it is, in a sentence a learner can read, and where it comes from."""

import inspect
import re

import pytest

from regard.model.menu import MENU

ENTRIES = [(slot.name, kind, entry) for slot in MENU for kind, entry in slot.entries.items()]
NOTES = r"N\d:\d+|trap T\d"
PAPER = r"(et al\.|[A-Z][a-z]+( & [A-Z][a-z]+)?) (19|20)\d\d"


def every_entry() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", [pytest.param(entry, id=f"{s}-{k}") for s, k, entry in ENTRIES])


@every_entry()
def test_the_first_sentence_is_fit_for_a_menu(entry: type) -> None:
    text = inspect.cleandoc(vars(entry)["__doc__"])
    first = text.splitlines()[0]
    assert re.search(r"[.\]]$", first), "the first line is a whole sentence"
    assert first[0].isupper()
    assert 20 <= len(first) <= 110
    assert "self" not in first.split()
    assert "`" not in first.split(".")[0] or first.count("`") % 2 == 0


@every_entry()
def test_it_cites_the_notes_or_a_paper(entry: type) -> None:
    assert re.search(f"{NOTES}|{PAPER}", vars(entry)["__doc__"])


@every_entry()
def test_every_option_has_an_annotation_and_every_wire_too(entry: type) -> None:
    for name, parameter in inspect.signature(entry).parameters.items():
        assert parameter.annotation is not inspect.Parameter.empty, name
        assert parameter.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD), name


@pytest.mark.parametrize("slot", list(MENU), ids=lambda slot: slot.name)
def test_a_slot_says_what_it_is_for(slot: object) -> None:
    assert 10 <= len(slot.about) <= 60
    assert inspect.isabstract(slot.abstract) or slot.abstract.__doc__


@every_entry()
def test_an_entry_is_final_and_one_level_below_its_slot(entry: type) -> None:
    assert not [kind for kind in entry.__subclasses__() if kind.__module__.startswith("regard.")]
    assert not inspect.isabstract(entry)
