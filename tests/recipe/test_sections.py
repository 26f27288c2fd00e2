"""Sections: a task says by its signature which it reads; they stand beside [task], and no others do."""

from pathlib import Path
from typing import Any

import pytest

from regard.datasets.menu import SLOTS as DATA
from regard.datasets.pairs import Pairs
from regard.datasets.tokenizer import TokenizerTrainer
from regard.model.menu import MENU as MODEL
from regard.recipe import Count, File, Menu, Part, Recipe, RecipeError, Slot, choose


class Job:
    """A stand-in for tasks."""


class Reading(Job):
    def __init__(
        self,
        kept: Any,
        *,
        data: Part[Pairs],
        tokenizer: Part[TokenizerTrainer] = choose("bpe", vocab_size=300),
        max_length: Count = 128,
    ) -> None:
        self.kept, self.data, self.tokenizer, self.max_length = kept, data.build(), tokenizer.build(), max_length


class Adding(Job):
    def __init__(self, kept: Any, *, terms: Count = 2, names: File = "") -> None:
        if terms == 1:
            raise ValueError("terms: one is no sum")
        self.terms, self.names = terms, names


class Fitting:
    def __init__(self, *, steps: Count = 10) -> None:
        self.steps = steps


MENU = Menu(
    Slot("task", Job, "what for", {"reading": Reading, "adding": Adding}),
    *DATA,
    *MODEL,
    Slot("training", Fitting, "how long", {"loop": Fitting}, default="loop"),
)
MODEL_ONLY = {"model": {"kind": "language_model"}}
TABLE: dict[str, Any] = MODEL_ONLY | {"task": "reading", "data": {"kind": "phrases"}}


def check(**sections: Any) -> Recipe:
    return Recipe.check(MODEL_ONLY | sections, MENU)


def test_the_slots_of_a_task_are_sections_beside_it() -> None:
    recipe = check(task={"kind": "reading", "max_length": 9}, data={"kind": "phrases", "source": "ko"})
    table = recipe.table()
    assert list(table) == ["name", "about", "task", "data", "tokenizer", "model", "training"]
    assert table["task"] == {"kind": "reading", "max_length": 9}
    assert table["data"] == {"kind": "phrases", "source": "ko", "target": "en"}
    assert table["tokenizer"] == {"kind": "bpe", "vocab_size": 300, "joint": True, "lowercase": False}
    assert table["training"] == {"kind": "loop", "steps": 10}
    task = recipe.wants("task").build("kept")
    assert (task.kept, task.max_length, task.data.source, task.tokenizer.vocab_size) == ("kept", 9, "ko", 300)


def test_a_table_that_is_written_reads_the_same() -> None:
    recipe = Recipe.check(TABLE | {"training": {"steps": 3}}, MENU)
    again = Recipe.check(recipe.table(), MENU)
    assert again == recipe
    assert again.table() == recipe.table()


def test_more_can_be_said_about_a_section_that_is_there_by_default() -> None:
    recipe = Recipe.check(TABLE | {"tokenizer": {"lowercase": True}}, MENU)
    assert recipe.table()["tokenizer"] == {"kind": "bpe", "vocab_size": 300, "joint": True, "lowercase": True}
    other = Recipe.check(TABLE | {"tokenizer": "words"}, MENU)
    assert other.table()["tokenizer"]["vocab_size"] == 0


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"task": "adding", "data": "phrases"}, "data: unknown; there is name, about, from, task, model, training"),
        ({"task": "adding", "tokenizer": {}}, "tokenizer: unknown; there is name, about, from, task, model, training"),
        ({"task": "reading", "data": "phrases", "dat": {}}, "dat: unknown; did you mean data?"),
        ({"task": "reading", "data": "phrases", "tokens": {}}, "tokens: unknown; it is called tokenizer now"),
        ({"data": "phrases"}, "task: missing; choose one of reading, adding, which read [data]"),
        ({"tokenizer": "bpe"}, "task: missing; choose one of reading, adding, which read [tokenizer]"),
        ({"training": {"steps": 3}}, "task: missing; choose one of reading, adding, which read [training]"),
        ({"task": "reading"}, "data: missing; say what to learn from: data.train=FILE"),
        ({"task": "readin", "data": "phrases"}, "task.kind: no task is called 'readin'; did you mean 'reading'?"),
        ({"task": {"max_length": 3}}, "task.kind: missing; choose one of reading, adding"),
        ({"task": 5}, "task: wanted one of reading, adding, given 5"),
        ({"task": {"kind": "reading", "data": "phrases"}}, "task.data: belongs to a section of its own, [data]"),
        (
            {"task": {"kind": "reading", "length": 3}, "data": "phrases"},
            "task.length: unknown; ",
        ),
        ({"task": "reading", "data": {"kind": "phrases", "source": "en"}}, ""),
        (
            {"task": "reading", "data": {"kind": "phrases", "source": "xx"}},
            "data.source: wanted one of en, de, ",
        ),
        (
            {"task": "reading", "data": "phrases", "training": {"stepps": 3}},
            "training.stepps: unknown; did ",
        ),
        ({"task": "reading", "data": {"source": "de"}}, "data.train: missing; it has no default"),
    ],
    ids=str,
)
def test_sections_are_held_against_the_task(sections: dict[str, Any], said: str) -> None:
    if not said:  # two options that do not go together are found when it is built
        with pytest.raises(RecipeError, match="^data: target: 'en' is the source already"):
            check(**sections).wants("task").build(None)
        return
    with pytest.raises(RecipeError) as told:
        check(**sections)
    assert str(told.value).startswith(said)


def test_what_a_constructor_refuses_names_the_place() -> None:
    with pytest.raises(RecipeError, match="^task: terms: one is no sum$"):
        check(task={"kind": "adding", "terms": 1}).wants("task").build(None)


def test_a_recipe_without_a_task_builds_and_does_not_train() -> None:
    recipe = check()
    assert recipe.task is recipe.training is None
    assert list(recipe.table()) == ["name", "about", "model"]
    for section in ("task", "training"):
        with pytest.raises(RecipeError, match="^task: missing; recipe says what to build, not what to train it for\n"):
            recipe.wants(section)


def test_a_menu_without_tasks_reads_the_model_alone() -> None:
    recipe = Recipe.check(TABLE | {"training": {"anything": 1}}, MODEL)
    assert list(recipe.table()) == ["name", "about", "model"]


def test_files_are_absolute_where_the_recipe_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    data = {"train": "a/train", "valid": "~/valid", "test": "/far/test"}
    recipe = check(task="reading", data=data)
    wanted = {"train": f"{tmp_path}/a/train", "valid": f"{tmp_path}/home/valid", "test": "/far/test"}
    monkeypatch.chdir("/")
    assert recipe.table()["data"].items() >= wanted.items()
    assert recipe.wants("task").build(None).data.named == {split: [name] for split, name in wanted.items()}
    assert Recipe.check(recipe.table(), MENU) == recipe
    assert check(task="adding").table()["task"]["names"] == ""  # nothing is no file


def test_the_home_of_nobody_is_said() -> None:
    with pytest.raises(RecipeError, match=r"^data\.train: wanted a file \(.*home.*\), given '~nobody-by-that-name/x'$"):
        check(task="reading", data={"train": "~nobody-by-that-name/x"})


def test_a_value_that_another_kind_takes_is_answered_with_that_kind() -> None:
    """Who trains on generated numbers and names a file of their own has forgotten one word."""
    named = MODEL_ONLY | {"task": "reading", "data": {"kind": "numbers", "train": "mine.tsv"}}
    with pytest.raises(RecipeError, match=r"given 'mine.tsv' \(data.kind=files takes that\)$"):
        Recipe.check(named, MENU)


def test_a_menu_hands_out_its_slots() -> None:
    assert MENU["training"].entries == {"loop": Fitting}
    with pytest.raises(RecipeError, match="trainings: no such slot; did you mean 'training'"):
        MENU["trainings"]
