"""Notes, parts F and G: the examples of the notes, as `regard look --examples` makes them, and their numbers."""

from pathlib import Path

import pytest

from regard.examples import coffee, distance, induction, love
from regard.examples.classes import find
from regard.examples.example import Reading
from regard.examples.runs import Runs
from regard.model.watch import silenced
from regard.trained import Trained
from regard.verbs import look, opened


@pytest.fixture(scope="module")
def room(runs: Path) -> Runs:
    return Runs(runs / "examples")


@pytest.fixture(scope="module")
def far(room: Runs) -> Reading:
    return distance.read(room)


@pytest.fixture(scope="module")
def again(room: Runs) -> Reading:
    return induction.read(room)


@pytest.fixture(scope="module")
def asked(room: Runs) -> Reading:
    return coffee.read(room)


def test_084_i_love_you_in_a_model_that_is_set_by_hand(room: Runs):
    """A whole translator, opened as any other run: the weights are those of the notes, to six figures."""
    found = love.read(room)
    assert found.verdict == "set by hand"
    assert [found.figures[f"I → {word}"] for word in ("I", "love", "you")] == pytest.approx(
        [0.72, 0.15, 0.13], abs=1e-6
    )
    assert found.figures["degrees"] > 10  # no longer the embedding it was
    assert found.look.scene.written == love.TARGET
    other = look(room.folder / "love", "you love I").weights("encoder", 0, 0)[0]
    assert other.tolist() == pytest.approx([0.72, 0.15, 0.13, 0.0], abs=1e-6)  # the words look, not their places


def test_093_097_a_head_for_syntax_finds_the_subject_far_back(far: Reading):
    """Chosen on forty sentences, judged on forty others: without it the verb is a guess."""
    figures = far.figures
    assert figures["words back"] > 9
    assert figures["weight on the subject"] > 0.5 > 4 * figures["even"]
    assert figures["right"] > 0.95
    assert figures["right without it"] < 0.8


def test_093_098_a_head_for_position_and_one_that_finds_what_was_said_before(again: Reading):
    """By their scores on texts of which they were not chosen."""
    figures = again.figures
    assert figures["previous"] > 0.25
    assert figures["induction"] > 0.5 > 5 * figures["even"]
    assert figures["nats, said again"] < 0.5 < figures["nats, new words"] - 2


def test_098_without_either_head_what_was_said_before_is_forgotten(again: Reading):
    """The first layer tells each word what stood before it; the second finds the place by that."""
    seen = again.look
    before = induction.costs(seen)[1]
    for layer in seen.of("masked"):
        with silenced(seen.scene.model, {layer.name: list(range(layer.heads))}):
            assert induction.costs(seen)[1] > before + 1.5


def test_094_roles_on_coffee_or_tea_are_weaker_than_the_notes_have_them(asked: Reading, room: Runs):
    """Every sentence is right, and of four roles one begins to show: heads look at the form of the sentence.

    Chosen on half of the sentences and measured on the rest, it is more than the best head of an untaught model has;
    nouns, relations and tone have no head that stands out.
    """
    figures = asked.figures
    form, *others = coffee.ROLES
    assert figures["right"] > 0.95
    assert figures[form] > 0.1
    fresh = untaught(room)
    texts = [source for source, _ in coffee.asked()[: coffee.HELD] if source.startswith("Which")]
    looks = [look(fresh, text, coffee.COFFEE[1]) for text in texts]
    assert find(looks, "encoder", coffee.ROLES[form]).strength < 0.1
    assert max(figures[name] for name in others) < coffee.STRONG
    assert asked.verdict == "corrected"


def untaught(room: Runs) -> Trained:
    """The same translator before its first step."""
    trained = opened(room.folder / "coffee")
    fresh = trained.recipe.model.build().eval()
    return Trained(trained.run, trained.recipe, 0, trained.task, fresh)


def test_096_few_of_its_heads_are_needed(asked: Reading):
    """Trap T9: switched off one at a time, most cost nothing that could be noticed; some are needed."""
    assert 1 <= asked.figures["heads that are needed"] <= 0.7 * asked.figures["heads"]
    assert asked.figures["weight shared by the two most alike"] > 0.5
