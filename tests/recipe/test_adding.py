"""Parts put on the menu from outside: what is wrong with a class is said where it is added."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from plugged import bare_menu

import regard
from regard.extend import Attention, Count, Doc, Norm, OptimizerFactory, Part, Positions, Positive, Site, Slot, choose
from regard.model.attention import Dot
from regard.model.build import build
from regard.model.norms import RmsNorm
from regard.recipe.schema import recipe_schema
from regard.training.menu import MENU


@pytest.fixture(autouse=True)
def menu() -> Iterator[None]:
    with bare_menu():
        yield


class Mine(Dot):
    """A dot product under another name."""

    def __init__(self, site: Site, *, loud: Annotated[Positive, Doc("How loud it is, in nothing.")] = 2.0) -> None:
        super().__init__(site)
        if loud > 99:
            raise ValueError("loud: too loud; choose less than 99")
        self.loud = loud if loud != 7 else int("seven")


def test_a_part_is_chosen_like_any_other() -> None:
    regard.menu().add("attention", "mine", Mine)
    model = build("gpt-char", "model.decoder.attention.kind=mine", "model.decoder.attention.loud=3.0")
    assert model.decoder.layers[0].attention.loud == 3.0
    assert "mine" in regard.menu().slots["attention"].entries
    assert "A dot product under another name." in str(regard.menu().slots["attention"])
    described = regard.describe("gpt-char", {"model.decoder.attention": "mine"})
    assert "Mine" in str(described)
    assert "How loud it is, in nothing." in str(recipe_schema(MENU))
    with pytest.raises(
        regard.RecipeError, match=r"attention\.lout: unknown; did you mean model\.decoder\.attention\.loud\?"
    ):
        build("gpt-char", {"model.decoder.attention": {"kind": "mine", "lout": 3.0}})
    regard.menu().remove("attention", "mine")
    with pytest.raises(regard.RecipeError, match="no attention is called 'mine'"):
        build("gpt-char", "model.decoder.attention.kind=mine")
    with pytest.raises(regard.RecipeError, match="attention 'dot': was not added"):
        regard.menu().remove("attention", "dot")


def test_only_what_a_part_refuses_itself_is_a_fault_of_the_recipe() -> None:
    """`raise ValueError` is a refusal, with the place; any other ValueError is a fault of the code and stays one."""
    regard.menu().add("attention", "mine", Mine)
    with pytest.raises(regard.RecipeError, match=r"^model\.decoder\.attention: loud: too loud; choose less than 99$"):
        build("gpt-char", {"model.decoder.attention": {"kind": "mine", "loud": 100.0}})
    with pytest.raises(ValueError, match="invalid literal for int") as told:
        build("gpt-char", {"model.decoder.attention": {"kind": "mine", "loud": 7.0}})
    assert not isinstance(told.value, regard.RegardError)
    with pytest.raises(regard.RecipeError, match=r"heads: 5 heads do not divide width"):
        build("gpt-char", "model.decoder.attention.heads=5")


class Silent(Dot):
    def __init__(self, site: Site) -> None:
        super().__init__(site)


class Untyped(Dot):
    """An option without a type."""

    def __init__(self, site: Site, *, loud=2.0) -> None:  # type: ignore[no-untyped-def]
        super().__init__(site)


class WrongDefault(Dot):
    """A default that no recipe could say."""

    def __init__(self, site: Site, *, loud: Count = 0) -> None:
        super().__init__(site)


class ManyOptions(Dot):
    """Options without names."""

    def __init__(self, site: Site, **options: Any) -> None:
        super().__init__(site)


class Positional(Dot):
    """An option that a parent would have to hand over."""

    def __init__(self, site: Site, loud: float) -> None:
        super().__init__(site)


class Kind(Dot):
    """An option by the name of the choice itself."""

    def __init__(self, site: Site, *, kind: str = "x") -> None:
        super().__init__(site)


class Unknown(Dot):
    """A type that is nowhere."""

    def __init__(self, site: Site, *, loud: "Nowhere" = 1) -> None:  # type: ignore[name-defined]
        super().__init__(site)


class Half(Attention):
    """Answers half of the questions."""

    def ask(self, queries: Any) -> Any:
        return queries


class NoSlot(Dot):
    """A part of a class that has no slot."""

    def __init__(self, site: Site, *, inner: Part[Dot] = choose("dot")) -> None:
        super().__init__(site)


@pytest.mark.parametrize(
    ("slot", "kind", "entry", "said"),
    [
        ("attention", "mine", Silent, "Silent has no docstring; its first line is what the menu says of it"),
        ("attention", "mine", Untyped, "loud has no type; annotate it, such as `loud: Count = 1`"),
        ("attention", "mine", WrongDefault, "loud: wanted greater than or equal to 1, and its default is 0"),
        ("attention", "mine", ManyOptions, "ManyOptions takes **options: Any; name every option, each after a *"),
        ("attention", "mine", Positional, "takes site, loud by position, wanted __init__(self, site, *, …)"),
        ("attention", "mine", Kind, "an option cannot be called kind"),
        ("attention", "mine", Unknown, "the options of Unknown cannot be read: name 'Nowhere' is not defined"),
        ("attention", "mine", Half, "Half does not say mix, read, weigh, as every Attention must"),
        ("attention", "mine", NoSlot, "inner is a Part[Dot], and no slot of the menu is for those"),
        ("attention", "mine", int, "int is no Attention; make it a subclass of regard.model.attention"),
        ("attention", "mine", 5, "wanted a class, given 5"),
        ("attention", "mine", Mine(Site(4)), "wanted a class, given Mine("),
        ("attention", "Mine!", Mine, "wanted a name of small letters, digits and _, such as 'cosine'"),
        ("attention", None, Mine, "wanted a name of small letters"),
        ("attention", "dot", Mine, "attention 'dot': comes with Regard; choose another name"),
        ("attentions", "mine", Mine, "attentions: no such slot; did you mean 'attention'?"),
        (None, "mine", Mine, "None: no such slot"),
        ("data", "mine", Mine, "data: is chosen from the slot 'pairs'; add to that one"),
        ("optimizer", "mine", OptimizerFactory, "OptimizerFactory does not say"),
        ("task", "mine", Mine, "Mine is no Task; make it a subclass of regard.tasks.task.Task"),
    ],
)
def test_what_is_no_part_is_refused(slot: Any, kind: Any, entry: Any, said: str) -> None:
    with pytest.raises(regard.RecipeError) as told:
        regard.menu().add(slot, kind, entry)
    assert said in str(told.value)
    assert len(str(told.value).splitlines()) == 1
    assert not any(one.added for one in regard.menu())


def test_a_name_is_added_once_and_a_cell_may_be_run_again() -> None:
    regard.menu().add("attention", "mine", Mine)
    regard.menu().add("attention", "mine", Mine)
    again = type("Mine", (Mine,), {"__doc__": "Changed.", "__module__": Mine.__module__, "__qualname__": "Mine"})
    regard.menu().add("attention", "mine", again)
    assert regard.menu().slots["attention"].entries["mine"] is again
    with pytest.raises(regard.RecipeError, match="'mine': was added by .*; choose another name, or remove it"):
        regard.menu().add("attention", "mine", type("Other", (Mine,), {"__doc__": "Another."}))


class Tone(Norm):
    """What a part of one's own lets a recipe choose."""


def test_a_slot_of_ones_own() -> None:
    flat = type("Flat", (RmsNorm,), {"__doc__": "A norm by another name."})
    regard.menu().add_slot(Slot("tone", Tone, "how it sounds", {}))
    assert "tone" in regard.menu().slots
    with pytest.raises(regard.RecipeError, match="tone: there is a slot of this name"):
        regard.menu().add_slot(Slot("tone", Positions, "again", {}))
    with pytest.raises(regard.RecipeError, match="Flat is no Tone"):
        regard.menu().add("tone", "flat", flat)
