"""regard menu: everything there is to choose, readable at 80 columns, and quick because torch stays away."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
from spoken import refused, regard

from regard.calls.menus import menu
from regard.commands import menu_cards, menu_search
from regard.commands.generated import generated
from regard.errors import RecipeError
from regard.recipe.cards import Cards
from regard.recipe.prose import paragraphs, without_places
from regard.training.menu import MENU

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["recipes/menu.json", "recipes/recipe.schema.json", "docs/options.md"])
def test_what_is_written_from_the_menu_is_current(name: str) -> None:
    there = (ROOT / name).read_text(encoding="utf-8")
    assert there == generated()[name], f"{name} is not what the menu says now: run `make generated`"


def test_the_whole_menu_fits_80_columns_and_cuts_nothing() -> None:
    done = regard("menu")
    assert max(map(len, done.lines)) <= 80
    shown = " ".join(done.out.split())
    for slot in MENU:
        for kind, entry in slot.entries.items():
            assert f" {kind} " in shown
            assert paragraphs(entry.__doc__ or "")[0] in shown
    assert "…" not in re.sub("h_1 …|1…H", "", shown)
    assert not re.search(r"N\d:\d|trap T", shown)


def test_a_slot_and_a_choice_show_every_option_in_words() -> None:
    attention = regard("menu", "attention").out
    assert "multihead" in attention
    assert "linear" in attention
    one = regard("menu", "attention", "multihead").out
    assert "linear" not in one
    assert "    heads  a whole number ≥ 1; default 8" in one
    assert "    kernel  one of auto, naive, flash; default auto" in one
    assert "0 means as many as heads." in " ".join(one.split())
    training = regard("menu", "training").out
    assert "    max_grad_norm  a number ≥ 0; default 1" in training
    assert "    optimizer  a choice of optimizer; default adamw" in training
    assert not re.search("Annotated|FieldInfo|typing|Union|class '", training)
    assert "file  a file; must be said" in regard("menu", "tokenizer", "pretrained").out


def test_a_section_shows_what_it_chooses_from() -> None:
    slots = ["pairs", "texts", "images"]  # what a section is depends on the task
    assert regard("menu", "data").out == "\n".join(regard("menu", slot).out for slot in slots)
    assert regard("menu", "data", "pydoc").out == regard("menu", "texts", "pydoc").out
    assert [slot["name"] for slot in json.loads(regard("menu", "data", "--json").out)] == slots
    assert regard("menu", "cross").out == regard("menu", "attention").out


def test_what_is_not_there_is_answered_with_the_nearest_and_with_all() -> None:
    refused(2, f"foo: no such slot\nthe slots are {', '.join(MENU.slots)}\n", "menu", "foo")
    refused(2, "atention: no such slot; did you mean 'attention'?", "menu", "atention")
    refused(2, "dta: no such slot; did you mean 'data'?", "menu", "dta")
    refused(2, "multihed: no attention is called so; did you mean 'multihead'?", "menu", "attention", "multihed")
    refused(2, "--schema is that of a whole recipe", "menu", "attention", "--schema")


def test_machines_get_all_of_it() -> None:
    whole = json.loads(regard("menu", "--json").out)
    assert Cards.read(whole) == Cards.of(MENU)
    norm = json.loads(regard("menu", "norm", "--json").out)
    assert norm == next(slot for slot in whole["slots"] if slot["name"] == "norm")
    assert json.loads(regard("menu", "norm", "rms", "--json").out) == norm["kinds"][1]
    schema = json.loads(regard("menu", "--schema").out)
    assert schema == json.loads((ROOT / "recipes/recipe.schema.json").read_text(encoding="utf-8"))


def test_the_editors_hint_names_files_that_are_there() -> None:
    (rule,) = tomllib.loads((ROOT / ".taplo.toml").read_text())["rule"]
    assert (ROOT / rule["schema"]["path"]).is_file()
    assert any(set(ROOT.glob(pattern)) >= set(ROOT.glob("recipes/*.toml")) for pattern in rule["include"])


def test_code_that_changed_is_asked_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The texts that were written down are taken only if they are those of this code, and no plugin is about."""
    monkeypatch.delitem(menu_cards.sys.modules, menu_cards.LIVE)
    assert menu_cards._kept() == Cards.of(MENU)
    with monkeypatch.context() as patch:
        patch.setenv("REGARD_PLUGINS", "mine.py")
        assert menu_cards._kept() is None
    for spoilt in ('{"signatures": "other"}', "{}", "[", '{"signatures": 1, "slots": 2}'):
        (tmp_path / menu_cards.FILE).write_text(spoilt)
        monkeypatch.setattr(menu_cards, "shelf", lambda: tmp_path)
        assert menu_cards._kept() is None


def test_an_option_more_changes_the_digest() -> None:
    plain = (
        "class Dot(Attention):\n    'Compares.'\n    def __init__(self, *, a: Count = 1) -> None:\n        self.a = a\n"
    )
    read = [menu_cards._telling(ast.parse(text)) for text in (
        plain, plain.replace("self.a = a", "self.b = a"), plain.replace("= 1", "= 2"), plain.replace("res.", "ses."),
    )]  # fmt: skip
    assert read[0] == read[1]
    assert read[0] not in read[2:]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Sums [N4:7-13, N2:43].", "Sums."),
        ("c = w V [N2:134-159; Luong et al. 2015]", "c = w V [Luong et al. 2015]"),
        ("tanh(W[c;h]) [N2:248-253], or [s;c] [N4:69].", "tanh(W[c;h]), or [s;c]."),
        ("P(x) [N4:129; trap T1] asks (trap T3):", "P(x) asks:"),
        ("W [adding, what is far, N0:17-33]", "W [adding, what is far]"),
    ],
)
def test_places_in_notes_are_left_out(said: str, shown: str) -> None:
    assert without_places(said) == shown


@pytest.mark.parametrize(
    ("word", "name", "key"),
    [
        ("rope", "positions rotary", "model.decoder.positions.kind=rotary"),
        ("rotary", "positions rotary", "model.decoder.positions.kind=rotary"),
        ("window", "pattern window", "model.decoder.pattern.kind=window"),
        ("lstm", "cell lstm", "model.encoder.cell.kind=lstm"),
        ("swiglu", "mlp swiglu", "model.decoder.mlp.kind=swiglu"),
        ("MoE", "mlp experts", "model.decoder.mlp.kind=experts"),
        ("bottleneck", "attention none", "model.decoder.attention.kind=none"),
        ("bottleneck", "body resnet: block", "model.body.block=bottleneck"),
        ("sliding", "pattern window", "model.decoder.pattern.kind=window"),
        ("clipping", "training loop: max_grad_norm", "training.max_grad_norm=1"),
        ("dropout", "encoder transformer: dropout", "model.encoder.dropout=0"),
        ("linear attention", "attention linear", "model.decoder.attention.kind=linear"),
        ("lr", "optimizer adamw: learning_rate", "training.optimizer.learning_rate=0.001"),
    ],
)
def test_any_word_is_looked_for_and_answered_with_how_it_is_set(word: str, name: str, key: str) -> None:
    hits = {hit["name"]: hit for hit in json.loads(regard("menu", *word.split(), "--json").out)}
    assert key in hits[name]["set"]
    shown = regard("menu", *word.split())
    assert shown.lines[0] == next(iter(hits))
    assert max(map(len, shown.lines)) <= 80


def test_every_word_from_elsewhere_leads_to_something_on_the_menu() -> None:
    cards = Cards.of(MENU)
    names = {f"{slot.name} {kind.kind}" for slot in cards.slots for kind in slot.kinds}
    names |= {
        f"{slot.name} {kind.kind} {option.name}"
        for slot in cards.slots
        for kind in slot.kinds
        for option in kind.options
    }
    assert menu_search.WORDS.keys() <= names
    for words in menu_search.WORDS.values():
        for word in words.split():
            assert menu_search.search(cards, word)[0].rank == 0


def test_every_key_that_is_shown_can_be_set() -> None:
    """In some recipe: the sections are those of recipes, and the rest of the key is an option below."""
    sections = {
        "task",
        "model",
        "training",
        "from",
        *(name for task in MENU.parts["task"].values() for name in task.slots),
    }
    cards = Cards.of(MENU)
    for slot in cards.slots:
        for kind in slot.kinds:
            for hit in menu_search.search(cards, kind.kind):
                assert {key.partition(".")[0] for key in hit.set} <= sections, hit
    refused(2, "lstn: no such slot; did you mean 'lstm'?", "menu", "lstn")


def test_a_word_that_is_no_slot_is_found_in_python_too() -> None:
    with pytest.raises(RecipeError, match=r"no slot; it is positions rotary: .*; see regard.menu\('positions'\)"):
        menu("rope")
