"""The JSON schema of recipes: what Regard takes is right in an editor too, and slips are wrong."""

import copy
import tomllib
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from test_whole_menu import complete, shelf

from regard.recipe import Recipe, RecipeError, recipes
from regard.recipe.read import find
from regard.recipe.schema import recipe_schema
from regard.training.menu import MENU

SCHEMA = recipe_schema(MENU)
CHECKS = Draft202012Validator(SCHEMA)
GRU = tomllib.loads(find("numbers-gru").read_text(encoding="utf-8"))


def faults(table: object) -> list[str]:
    return [error.message for error in CHECKS.iter_errors(table)]


def test_it_is_a_schema_of_draft_2020_12() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert list(SCHEMA["properties"]) == [
        *("name", "about", "task", "data", "tokenizer", "decoding", "augmentation", "corruption", "model", "training")
    ]


@pytest.mark.parametrize("name", sorted(recipes()))
def test_every_shelf_recipe_is_right_as_written_and_complete(name: str) -> None:
    assert faults(tomllib.loads(find(name).read_text(encoding="utf-8"))) == []
    assert faults(shelf(name).table()) == []  # as a run writes it


@pytest.mark.parametrize(("slot", "kind"), [(slot.name, kind) for slot in MENU for kind in slot.entries])
def test_every_entry_is_described_with_ranges_and_defaults(slot: str, kind: str) -> None:
    entry = SCHEMA["$defs"][f"{slot}.{kind}"]
    part = MENU.parts[slot][kind]
    assert entry["additionalProperties"] is False
    fields = {name: field for name, field in part.model_fields.items() if not (slot == "task" and name in part.slots)}
    assert list(entry["properties"]) == list(fields)
    for name, field in fields.items():
        said = entry["properties"][name]
        assert name == "kind" or "default" in said or field.is_required()
        assert said["description"] or (slot, kind) == ("pairs", "files")
    if slot != "task":
        checks = Draft202012Validator({"$ref": f"#/$defs/{slot}", "$defs": SCHEMA["$defs"]})
        assert [error.message for error in checks.iter_errors(complete(part))] == []
        assert [*checks.iter_errors({"kind": f"{kind}s"})]


SLIPS: list[tuple[tuple[str, ...], Any]] = [
    (("modell",), {}),
    (("model", "widht"), 3),
    (("model", "width"), "wide"),
    (("model", "width"), 0),
    (("model", "width"), 2.5),
    (("model", "kind"), "seq2sek"),
    (("model", "encoder", "direction"), "sideways"),
    (("model", "encoder", "dropout"), 1.0),
    (("model", "decoder", "cell"), "grue"),
    (("model", "decoder", "cell"), {"kind": "gru", "gates": 3}),
    (("model", "decoder", "attention", "hidden"), -1),
    (("task", "label_smoothing"), True),
    (("task", "data"), "numbers"),
    (("data", "upto"), 0),
    (("tokenizer", "joint"), "yes"),
    (("training", "steps"), -1),
    (("training", "checkpoints"), {"keep": 0}),
    (("training", "optimizer", "learning_rate"), 0.0),
    (("training", "machine"), {"precision": "half"}),
    (("decoding", "beam_size"), 3),
]


@pytest.mark.parametrize(("place", "value"), SLIPS, ids=str)
def test_slips_are_wrong_in_an_editor_as_in_regard(place: tuple[str, ...], value: Any) -> None:
    table = copy.deepcopy(GRU)
    assert faults(table) == []
    below = table
    for step in place[:-1]:
        kind = below.get(step, {})
        below[step] = {"kind": kind} if isinstance(kind, str) else kind
        below = below[step]
    below[place[-1]] = value
    assert faults(table)
    with pytest.raises(RecipeError):
        Recipe.check(table, MENU)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("model", "encoder"), {"kind": "transformer", "norm": "rms", "attention": {"heads": 2}}),
        (("model", "encoder"), {"kind": "transformer", "norm": {"eps": 1}, "mlp": {"kind": "experts", "active": 1}}),
        (("tokenizer",), {"vocab_size": 300}),
        (("tokenizer",), "characters"),
        (("data",), {"train": "corpus"}),
        (("training",), {"max_grad_norm": 0}),
        (("decoding",), {"beam_size": 2}),
    ],
    ids=str,
)
def test_what_is_short_is_right(place: tuple[str, ...], value: Any) -> None:
    table = copy.deepcopy(GRU)
    below = table
    for step in place[:-1]:
        below = below[step]
    below[place[-1]] = value
    assert faults(table) == []
    Recipe.check(table, MENU)


def test_a_section_that_a_task_reads_asks_for_one() -> None:
    table = {key: value for key, value in GRU.items() if key != "task"}
    assert any("'task' is a dependency" in fault for fault in faults(table))
