"""JSON schema of a whole recipe, for editors and other programs (draft 2020-12)."""

from typing import Any

from pydantic import BaseModel, create_model

from regard.recipe.menu import Menu
from regard.recipe.options import capital, sentence
from regard.recipe.part import Part
from regard.recipe.prose import described

Schema = dict[str, Any]
TEXTS = {"name": "What the recipe is called; if not said, the name of its file.", "about": "What it makes, in a line."}


def recipe_schema(menu: Menu) -> Schema:
    """All sections of a recipe. A choice is a table with a `kind`, or the kind's name alone."""
    sections: dict[str, Schema] = {key: {"type": "string", "description": said} for key, said in TEXTS.items()}
    sections["task"] = _refer("task", menu.slots["task"].about)
    tasks = {
        kind: {name: _inside(menu, task, name) for name in task.slots} for kind, task in menu.parts["task"].items()
    }
    sections |= {name: _of_tasks(name, tasks) for read in tasks.values() for name in read}
    read_by_tasks = [*sections, "training"]
    sections |= {name: _refer(name, menu.slots[name].about) for name in ("model", "training")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A recipe of Regard",
        "type": "object",
        "required": ["model"],
        "properties": sections,
        "additionalProperties": False,
        "dependentRequired": {key: ["task"] for key in read_by_tasks if key not in (*TEXTS, "task")},
        "allOf": [_if_task(kind, read) for kind, read in tasks.items() if read],
        "$defs": {
            **{slot.name: _slot(menu, slot.name) for slot in menu},
            **{
                f"{slot.name}.{kind}": _table(menu, slot.name, part)
                for slot in menu
                for kind, part in menu.parts[slot.name].items()
            },
        },
    }


def _of_tasks(name: str, tasks: dict[str, dict[str, Schema]]) -> Schema:
    """A section that several tasks read: what all of them say of it, if that is the same."""
    said = [read[name] for read in tasks.values() if name in read]
    same = all(each == said[0] for each in said)
    return said[0] if same else {"description": " Or: ".join(each["description"] for each in said)}


def _if_task(kind: str, read: dict[str, Schema]) -> Schema:
    """What a task makes of its sections."""
    chosen = {
        "anyOf": [{"const": kind}, {"type": "object", "required": ["kind"], "properties": {"kind": {"const": kind}}}]
    }
    return {"if": {"required": ["task"], "properties": {"task": chosen}}, "then": {"properties": read}}


def _slot(menu: Menu, slot: str) -> Schema:
    """What may stand for a slot. Only where it has a default, a table may leave out its kind."""
    kinds, default = menu.parts[slot], menu.slots[slot].default
    short = [kind for kind, part in kinds.items() if not _must(slot, part)]
    tables = [
        {"$ref": f"#/$defs/{slot}.{kind}", **({} if kind == default else {"required": ["kind"]})} for kind in kinds
    ]
    return {"anyOf": [*([{"enum": short}] if short else []), *tables]}


def _table(menu: Menu, slot: str, part: type[Part[Any]]) -> Schema:
    """A table of one kind, its options in the order of the signature."""
    kind, about = part.model_fields["kind"].default, described(part.entry)[0]
    options = {"kind": {"const": kind, "description": about}} | _plain(part)
    for name in part.slots:
        if slot != "task":  # a task's are sections of their own
            options[name] = _inside(menu, part, name)
    for name in options.keys() - {"kind"}:
        options[name]["description"] = sentence(menu, part, name)
    return {
        "title": kind,
        "description": about,
        "type": "object",
        "required": _must(slot, part),
        "properties": {name: options[name] for name in part.model_fields if name in options},
        "additionalProperties": False,
    }


def _plain(part: type[Part[Any]]) -> dict[str, Schema]:
    """The options that are no slots, as pydantic describes them."""
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in part.model_fields.items()
        if name not in part.slots and name != "kind"
    }
    made: type[BaseModel] = create_model(part.__name__, **fields)
    found: dict[str, Schema] = made.model_json_schema().get("properties", {})
    return {name: {key: value for key, value in said.items() if key != "title"} for name, said in found.items()}


def _inside(menu: Menu, part: type[Part[Any]], name: str) -> Schema:
    """A slot inside an entry. More can be said of what is there by default without saying its kind again."""
    slot, field = menu.slot_of(part.slots[name]), part.model_fields[name]
    about = sentence(menu, part, name)
    if field.is_required():
        return _refer(slot, about)
    default = field.default if len(field.default) > 1 else field.default["kind"]
    either = [{"$ref": f"#/$defs/{slot}"}, {"$ref": f"#/$defs/{slot}.{field.default['kind']}"}]
    return {"description": about, "default": default, "anyOf": either}


def _must(slot: str, part: type[Part[Any]]) -> list[str]:
    """What has no default and must be said."""
    required = [name for name, field in part.model_fields.items() if field.is_required()]
    return [name for name in required if not (slot == "task" and name in part.slots)]


def _refer(slot: str, about: str) -> Schema:
    return {"description": capital(about), "$ref": f"#/$defs/{slot}"}
