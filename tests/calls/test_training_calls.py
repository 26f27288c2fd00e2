"""regard.train and regard.plan: any way of saying a recipe, nothing printed unless asked, errors that speak Python."""

import signal
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from heard import Heard
from small_calls import SMALL

import regard
from regard.recipe.read import find
from regard.training.menu import MENU

Call = Callable[..., Any]
FEW = {**SMALL, "training": {"epochs": 0, "steps": 2}}
RECIPE = "wanted a recipe (a name, a file, tables or a Recipe), given "
OVERRIDE = "wanted 'key.key=value' or a mapping, given "


def refused(said: str, call: Call, *args: Any, **options: Any) -> None:
    with pytest.raises(regard.RegardError) as told:
        call(*args, **options)
    assert said in str(told.value)
    assert " --" not in str(told.value), "a flag of the command line"
    assert "`regard " not in str(told.value), "a command"
    assert len(str(told.value).splitlines()) <= 2
    assert not Path("runs").exists()


@pytest.mark.parametrize("call", [regard.train, regard.plan])
@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (None, f"{RECIPE}NoneType"),
        (b"gru-additive", f"{RECIPE}bytes"),
        (5, f"{RECIPE}int"),
        (["gru-additive"], f"{RECIPE}list"),
        ((word for word in "ab"), f"{RECIPE}generator"),
        ("", "no recipe; name one, such as those of regard.recipes(), or a run to begin from: start=RUN"),
        ({}, "no recipe; name one"),
        ("gru-aditive", "did you mean 'gru-additive'?\nall of them: regard.recipes()"),
        (Path("nothing.toml"), "no such file; there are some that come with Regard: regard.recipes()"),
        ({"model": None}, "model: wanted one of seq2seq"),
        ({"model": "image_classifier"}, "task: missing; recipe says what to build, not what to train it for"),
    ],
)
def test_what_is_no_recipe_is_refused(call: Call, recipe: Any, said: str) -> None:
    refused(said, call, recipe)


@pytest.mark.parametrize("call", [regard.train, regard.plan])
@pytest.mark.parametrize(
    ("override", "said"),
    [
        (None, f"{OVERRIDE}NoneType"),
        (5, f"{OVERRIDE}int"),
        (b"data.kind=toy", f"{OVERRIDE}bytes"),
        (["data.kind=toy"], f"{OVERRIDE}list"),
        ("data.kind", "wanted key.key=value, such as model.decoder.layers=4"),
        ({"training.steps": "ten"}, "training.steps: wanted a whole number ≥ 0 and ≤ 1000000000000, given 'ten'"),
        ({"training.steps": 2.5}, "training.steps: wanted a whole number ≥ 0 and ≤ 1000000000000, given 2.5"),
        ({"training": {"steps": None}}, "training.steps: wanted a whole number ≥ 0 and ≤ 1000000000000, given None"),
        ({"model.width": float("nan")}, "model.width: wanted a whole number ≥ 1, given nan"),
        ({5: 3}, "wanted key.key=value"),
        ({"trainin.steps": 3}, "trainin.steps: unknown; did you mean training.steps?"),
    ],
)
def test_what_is_no_override_is_refused(call: Call, override: Any, said: str) -> None:
    refused(said, call, "gru-additive", {"data.kind": "toy"}, override)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"out": 5}, "out: wanted the name of a folder, given int"),
        ({"out": b"x"}, "out: wanted the name of a folder, given bytes; decode them first: .decode('utf-8')"),
        ({"out": ""}, "out: wanted the name of a folder, given an empty text"),
        ({"start": 5}, "start: wanted a run folder, given int"),
        ({"start": "nowhere"}, "nowhere: not a run folder (no recipe.toml in it); regard.train('RECIPE') makes one"),
        ({"resume": "yes"}, "resume: wanted True or False, given 'yes'"),
        ({"resume": True}, "name the folder of a run: train('runs/NAME', resume=True)"),
        ({"progress": "yes"}, "progress: wanted True, False or None (in a notebook only), given 'yes'"),
        ({"listener": print}, "listener: wanted a regard.Listener, given builtin_function_or_method"),
        ({"on_event": 5}, "on_event: wanted what can be called with an event, given int"),
    ],
)
def test_odd_arguments_are_refused(options: dict[str, Any], said: str) -> None:
    refused(said, regard.train, "gru-additive", FEW, **options)


def open_tables() -> Any:
    """As plain tables, read by anybody."""
    return tomllib.loads(find("gru-additive").read_text(encoding="utf-8"))


def test_a_recipe_may_be_a_name_a_file_tables_or_checked(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(find("gru-additive").read_text(encoding="utf-8"), encoding="utf-8")
    checked = regard.Recipe.resolve("gru-additive", MENU, [FEW])
    ways: list[Any] = [("gru-additive", FEW), (Path("mine.toml"), FEW), (checked,), (open_tables(), FEW)]
    ends = [regard.train(*said, out=tmp_path / str(number)) for number, said in enumerate(ways)]
    losses = [[row["loss"] for row in run.curve() if "loss" in row] for run in ends]
    assert losses == losses[:1] * 4
    assert all(isinstance(run, regard.Run) for run in ends)


def test_nothing_is_printed_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    heard, events = Heard(), list[regard.Event]()
    run = regard.train("gru-additive", FEW, out="runs/a", on_event=events.append)
    assert capfd.readouterr() == ("", "")
    assert [type(event) for event in events] == [
        regard.Prepared, regard.Started, regard.Step, regard.Step, regard.Validated, regard.Saved, regard.Ended
    ]  # fmt: skip
    regard.train("gru-additive", FEW, {"data.train": 91}, out="runs/b", listener=heard)
    assert capfd.readouterr() == ("", "")
    assert {"encoding the train data", "scoring"} <= {work for work, _, _ in heard.works}
    regard.train(run, {"training.steps": 3}, resume=True, progress=True)
    out, err = capfd.readouterr()
    assert "step 3  done after" in out
    assert err == ""


def test_a_run_can_be_gone_on_with_and_begun_from() -> None:
    run = regard.train("gru-additive", FEW, out="runs/a")
    longer = regard.train(run, {"training.steps": 4}, resume=True)
    assert longer.folder == run.folder
    assert longer.curve()[-1]["step"] == 4
    tuned = regard.train({"training": {"epochs": 0, "steps": 1}}, start=run, out="runs/b")
    assert tuned.facts["from"]["run"] == str(run.folder.absolute())
    with pytest.raises(regard.InputError, match="go on with resume=True, or begin from it: train"):
        regard.train(run)
    assert "regard.train('gru-additive'" in run.facts["commands"][0]


def test_a_plan_says_what_train_would_do(capfd: pytest.CaptureFixture[str]) -> None:
    heard = Heard()
    found = regard.plan("gru-additive", FEW, out="runs/a", listener=heard)
    assert capfd.readouterr() == ("", "")
    assert not Path("runs").exists()
    assert ("timing a few steps", 0, 20) in heard.works
    assert (found.task, found.steps, found.folder) == ("translation", 2, Path("runs/a"))
    assert found.parameters == regard.train("gru-additive", FEW, out="runs/a").facts["parameters"]
    shown = str(found)
    assert "train data  90" in shown
    assert "time here" in shown
    assert "<table" in found._repr_html_()
    again = regard.plan("runs/a", {"training.steps": 9}, resume=True)
    assert (again.step, again.steps) == (2, 9)


def test_a_diverging_run_is_caught_by_name() -> None:
    steep = {"training": {"epochs": 0, "steps": 60, "max_grad_norm": 1e9, "optimizer.learning_rate": 1e12}}
    with pytest.raises(regard.DivergedError, match="the run diverged") as told:
        regard.train("gru-additive", SMALL, steep, out="runs/a")
    assert told.value.step >= 1


def test_a_handler_of_the_users_own_stays(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    regard.train("gru-additive", FEW, out="runs/a")
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupted_it_saves_and_says_how_to_go_on() -> None:
    def interrupt(event: regard.Event) -> None:
        if isinstance(event, regard.Step) and event.number == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"go on with regard\.train\('runs/a', resume=True\)"):
        regard.train("gru-additive", SMALL, out="runs/a", on_event=interrupt)
    (found,) = regard.runs()
    assert (found.state, found.step) == ("stopped", 2)


ORDERS = [("data.source=ko", "data.kind=dates"), ("data.kind=dates", "data.source=ko")]


@pytest.mark.parametrize("said", ORDERS)
def test_the_order_of_overrides_says_nothing(said: tuple[str, str]) -> None:
    """A source asked for is not lost because a kind is said after it (or in one mapping with it)."""
    few = {"data.train": 20, "data.valid": 4, "data.test": 4, "training": {"epochs": 0, "steps": 1}, "model.width": 8}
    small = {**few, "tokenizer.kind": "characters"}
    run = regard.train("gru-additive", *said, small, out="runs/a")
    assert (run.recipe["data"]["kind"], run.recipe["data"]["source"]) == ("dates", "ko")
    told = regard.plan("gru-additive", {"data": {"source": "ko", "kind": "dates"}}, small)
    assert told.splits["train"].kept == 20


def test_a_size_asked_for_is_trained_or_refused() -> None:
    """The size of a vocabulary in [model] is no wish: the data give it, or nothing is trained."""
    with pytest.raises(regard.RecipeError, match=r"model\.source_vocab_size: the recipe says 37,000, the data give"):
        regard.train("gru-additive", FEW, {"model.source_vocab_size": 37000}, out="runs/a")
    assert not Path("runs").exists()
    run = regard.train("gru-additive", FEW, {"tokenizer": {"kind": "bpe", "vocab_size": 262}}, out="runs/a")
    assert run.recipe["model"]["source_vocab_size"] == 262
