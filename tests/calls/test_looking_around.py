"""The calls that train nothing: describe, build, menu, recipes, data, bench, watch."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from heard import Heard

import regard
from regard.commands import app
from regard.recipe import RecipeError
from regard.training.menu import MENU


@pytest.mark.parametrize("call", [regard.describe, regard.build])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((None,), "wanted a recipe (a name, a file, tables or a Recipe), given NoneType"),
        ((b"gpt2",), "given bytes"),
        ((5,), "given int"),
        (((word for word in "ab"),), "given generator"),
        (({},), "model: missing; choose one of"),
        (("",), "recipe: no such recipe or file"),
        (("gpt3",), "did you mean 'gpt2'?\nall of them: regard.recipes()"),
        (("gpt2", None), "wanted 'key.key=value' or a mapping, given NoneType"),
        (("gpt2", 5), "wanted 'key.key=value' or a mapping, given int"),
        (("gpt2", "model"), "wanted key.key=value"),
        (("gpt2", {"model.width": "x"}), "model.width: wanted a whole number"),
        (("gpt2", {"modell": {"width": 3}}), "modell: unknown; did you mean model?"),
    ],
)
def test_what_is_no_recipe_is_refused(call: Callable[..., Any], said: tuple[Any, ...], told: str) -> None:
    with pytest.raises(RecipeError) as error:
        call(*said)
    assert told in str(error.value)


@pytest.mark.parametrize("options", [{"length": 0}, {"length": "a"}, {"length": True}, {"batch": -1}, {"batch": 2.5}])
def test_sizes_are_whole_numbers(options: dict[str, Any]) -> None:
    with pytest.raises(regard.InputError, match="wanted a whole number of at least 1, given"):
        regard.describe("gpt-char", **options)


def test_a_printed_description_is_as_readable_as_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    print(regard.describe("gpt-char", {"model.decoder.norm.eps": 1e-3}, length=64))
    printed = capsys.readouterr().out
    app(["describe", "gpt-char", "--length", "64"], standalone_mode=False)
    shown = capsys.readouterr().out
    words = [line.split() for line in printed.splitlines() if line]
    assert words[1:] == [line.split() for line in shown.splitlines() if line][-len(words) + 1 :]
    assert any("layers 0…5" in line and "TransformerLayer" in line for line in printed.splitlines())
    assert len(printed) < 5000
    html = regard.describe("gpt-char")._repr_html_()
    assert html.count("<details") > 3
    assert "layers 0…5" in html


def test_a_run_and_a_description_of_it(run: regard.Run) -> None:
    assert regard.describe(run).parameters == run.facts["parameters"]
    assert isinstance(regard.build(run), torch.nn.Module)


def test_the_menu_is_the_whole_menu() -> None:
    """As many slots as the command shows, each with its class and its choices."""
    assert list(regard.menu().slots) == [slot.name for slot in MENU]
    assert {"task", "pairs", "optimizer", "attention", "from"} <= set(regard.menu().slots)
    assert "attention" in str(regard.menu())
    assert "<table" in regard.menu()._repr_html_()
    assert "multihead" in str(regard.menu("attention"))
    assert "<table" in regard.menu("attention")._repr_html_()
    with pytest.raises(regard.RecipeError, match="atention: no such slot; did you mean 'attention'"):
        regard.menu("atention")
    with pytest.raises(regard.InputError, match="slot: wanted the name of a slot, given int"):
        regard.menu(5)  # type: ignore[call-overload]


def test_recipes_are_listed_with_sizes_and_times() -> None:
    found = regard.recipes()
    assert found["gpt2"].startswith(found.facts["gpt2"]["about"])
    head, *lines = str(found).splitlines()
    assert head.split() == ["recipe", "task", "parameters", "training", "here"]
    assert len(lines) == len(found)
    (row,) = [line for line in lines if line.startswith("numbers-gru ")]
    assert re.search(r"translation +\d+k +about \d+ (s|min|h|days)$", row), row
    assert found._repr_html_().count("<tr>") == 1 + len(found)


def test_data_lists_or_gets() -> None:
    found = regard.data()
    assert {"numbers", "files"} <= set(found.built_in)
    assert "numbers" in str(found)
    assert found._repr_html_().count("<table") == 2
    for given in (5, None, ["homeassistant"], b"x"):
        with pytest.raises(regard.InputError, match="name: wanted a text"):
            regard.data(given)  # type: ignore[call-overload]
    with pytest.raises(regard.InputError, match="nothing: no such data set"):
        regard.data("nothing")


@pytest.mark.parametrize(
    ("what", "options", "said"),
    [
        (None, {}, "None: no such bench"),
        ("attentions", {}, "did you mean 'attention'?"),
        ("attention", {"lengths": 5}, "lengths: wanted whole numbers of at least 1, given 5"),
        ("attention", {"lengths": "12"}, "lengths: wanted whole numbers"),
        ("attention", {"lengths": [0]}, "lengths: wanted whole numbers"),
        ("attention", {"lengths": [2.5]}, "lengths: wanted whole numbers"),
        ("attention", {"lengths": None}, "lengths: wanted whole numbers"),
        ("attention", {"kinds": "dot"}, "kinds: wanted names in a list, given 'dot'"),
        ("attention", {"kinds": 5}, "kinds: wanted names in a list"),
        ("attention", {"kinds": ["nix"]}, "kinds: no case is called 'nix'"),
        ("attention", {"repeats": -1}, "repeats: wanted a whole number"),
        ("steps", {"repeats": 1.5}, "repeats: wanted a whole number"),
        ("steps", {"kinds": ["lstm"]}, "kinds: only those of attention can be chosen"),
        ("steps", {"progress": 1}, "progress: wanted True, False or None"),
    ],
)
def test_a_bench_checks_what_it_is_given(what: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(regard.InputError) as told:
        regard.bench(what, **options)
    assert said in str(told.value)


def test_a_bench_is_rows_and_a_table(capfd: pytest.CaptureFixture[str]) -> None:
    heard = Heard()
    found = regard.bench("steps", lengths=(n for n in (4, 8)), repeats=1, listener=heard)  # type: ignore[arg-type]
    assert capfd.readouterr() == ("", "")
    assert {row["past"] for row in found.rows} == {4, 8}
    assert str(found).startswith("name")
    assert "<table" in found._repr_html_()
    assert heard.works[-1][0] == "measuring steps"


def test_a_bench_in_a_script_runs_the_script_once(tmp_path: Path) -> None:
    """Memory is measured in processes of their own; none of them runs the user's file again."""
    script = tmp_path / "mine.py"
    script.write_text('import regard\nprint("once")\nprint(regard.bench(lengths=[16], kinds=["linear"], repeats=1))\n')
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.count("once") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("given", [None, 5, "gpt2", {}])
def test_only_a_model_can_be_watched(given: Any) -> None:
    with pytest.raises(regard.InputError, match="wanted a model, or a part of one, given"), regard.watch(given):
        pass


@pytest.mark.parametrize(("limit", "length"), [(64, 64), (256, 128)])
def test_a_model_is_described_with_as_many_tokens_as_it_has_positions(limit: int, length: int) -> None:
    small = ("model.width=16", "model.decoder.layers=1", "model.decoder.attention.heads=2")
    found = regard.describe("gpt-char", *small, f"model.decoder.positions.limit={limit}")
    assert found.length == length
    with pytest.raises(regard.InputError, match=r"a model trained with a larger model\.decoder\.positions\.limit"):
        regard.describe("gpt-char", *small, f"model.decoder.positions.limit={limit}", length=limit + 1)


def test_a_description_names_parts_as_learners_know_them() -> None:
    """And sets what comes out of a part apart from the shape of a parameter."""
    shown = str(
        regard.describe("gpt-char", "model.width=16", "model.decoder.layers=1", "model.decoder.attention.heads=2")
    )
    for part in ("final norm  ", "attention norm  ", "mlp norm  ", "key and value  ", "Pre(LayerNorm)  → 128×16"):
        assert part in shown
    assert not {"close", "around_attention", "key_value"} & {*shown.split()}
    rows = str(regard.describe("gru-lm", "model.width=16")).splitlines()
    assert all("→" not in row for row in rows if "Parameter" in row)
    assert any(" Parameter  " in row for row in rows)
