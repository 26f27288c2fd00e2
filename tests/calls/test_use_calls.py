"""What is done with a run, as calls: evaluate, translate, look, open_run, runs, pack, and its learning curve."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from heard import Heard

import regard

Call = Callable[..., Any]
CALLS: dict[str, Call] = {
    "evaluate": regard.evaluate,
    "translate": lambda run: regard.translate(run, ["a b"]),
    "look": lambda run: regard.look(run, "a b"),
    "align": lambda run: regard.align(run, "a b"),
    "open_run": regard.open_run,
    "pack": lambda run: regard.pack(run, "slim"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", [None, 5, b"runs/a", ["runs/a"], {"run": "a"}, "", "nowhere", Path("nowhere")])
def test_what_is_no_run_is_refused(name: str, given: Any) -> None:
    with pytest.raises(regard.InputError) as told:
        CALLS[name](given)
    assert "run" in str(told.value)
    assert " --" not in str(told.value)
    assert "`" not in str(told.value)


@pytest.mark.parametrize("name", CALLS)
def test_a_run_may_be_its_folder_or_what_train_or_open_run_returned(name: str, run: regard.Run) -> None:
    ways: list[Any] = [str(run.folder), run.folder, run]
    ways += [regard.open_run(run)] if name != "open_run" else []
    for number, way in enumerate(ways):
        found = regard.pack(way, f"slim{number}") if name == "pack" else CALLS[name](way)
        assert found is not None


def test_using_a_run_prints_nothing(run: regard.Run, capfd: pytest.CaptureFixture[str]) -> None:
    heard = Heard()
    regard.evaluate(run, listener=heard)
    regard.translate(run, (text for text in ("a b", "c")), listener=heard)
    regard.look(run, "a b c")
    regard.pack(run, "slim")
    regard.runs(".")
    assert capfd.readouterr() == ("", "")
    assert "translating" in {work for work, _, _ in heard.works}
    assert "scoring" in {work for work, _, _ in heard.works}


def test_how_a_run_answers_is_said_as_text_or_as_tables(run: regard.Run) -> None:
    for said in ("decoding.min_length=2", {"decoding": {"min_length": 2}}, {"decoding.min_length": 2}):
        opened = regard.open_run(run, said)
        assert opened.recipe.table()["decoding"]["min_length"] == 2
    with pytest.raises(regard.RecipeError, match=r"^model\.width: cannot be changed once a run is trained"):
        regard.open_run(run, {"model": {"width": 3}})
    with pytest.raises(regard.RecipeError, match="wanted 'key.key=value' or a mapping, given int"):
        regard.open_run(run, 5)  # type: ignore[arg-type]
    for device in ("gpu0", None, 3):
        with pytest.raises(regard.InputError, match="device"):
            regard.open_run(run, device=device)  # type: ignore[arg-type]


def test_evaluations_are_printed_compared_and_drawn(run: regard.Run, tmp_path: Path) -> None:
    found = regard.evaluate(run)
    assert "BLEU" in str(found)
    assert "<table" in found._repr_html_()
    table = found.beside({"mine": found, "again": found})
    assert table is not None
    assert [head.strip() for head in table.heads] == ["", "mine", "again"]
    assert "mine" in str(table)
    assert "<table" in table._repr_html_()
    for name, others in (("one.png", None), ("both.svg", {"mine": found, "again": found})):
        assert found.draw(tmp_path / name, others) == tmp_path / name
        assert (tmp_path / name).stat().st_size > 1000
    assert found.draw(tmp_path / "folder") == tmp_path / "folder" / "bleu-by-length.png"


def test_a_learning_curve_is_rows_and_a_picture(run: regard.Run, tmp_path: Path) -> None:
    curve = run.curve()
    assert isinstance(curve, list)
    assert [row["step"] for row in curve][-1] == 6
    assert [step for step, _ in curve.of("valid_loss")] == [3, 6]
    assert str(curve).splitlines()[0].split()[:3] == ["step", "loss", "valid_loss"]
    assert "<svg" in curve._repr_html_()
    assert curve.draw("one.png").read_bytes()[:4] == b"\x89PNG"
    assert curve.draw("deep/two.svg", {"a": curve, "b <&$": curve}).read_bytes()[:5] == b"<?xml"
    for path, others, said in (
        ("x.gif", None, "pictures are written as"),
        ("x.png", {}, "others: wanted curves by name"),
        ("x.png", {"a": run}, "others: wanted curves by name"),
        ("x.png", [curve], "others: wanted curves by name"),
    ):
        with pytest.raises(regard.InputError, match=said):
            curve.draw(path, others)  # type: ignore[arg-type]


def test_runs_are_listed_printed_and_shown(run: regard.Run, tmp_path: Path) -> None:
    found = regard.runs(tmp_path)
    (one,) = found
    assert isinstance(one, regard.Overview)
    assert (one.folder, one.task, one.state, one.step) == (run.folder, "translation", "done", 6)
    assert str(found).splitlines()[0].split()[:3] == ["run", "task", "recipe"]
    assert "<table" in found._repr_html_()
    (tmp_path / "empty").mkdir()
    assert str(regard.runs("empty")) == regard.runs(Path("empty"))._repr_html_() == "no runs"
    for given, said in (
        (None, "given None"),
        (5, "given int"),
        (b"x", "decode"),
        ("", "empty"),
        ("no", "no such folder"),
    ):
        with pytest.raises(regard.InputError, match=said):
            regard.runs(given)  # type: ignore[arg-type]


def test_a_packed_run_can_be_used(run: regard.Run) -> None:
    slim = regard.pack(run, "slim")
    assert isinstance(slim, regard.Run)
    assert regard.translate(slim, "a b")[0].text == regard.translate(run, "a b")[0].text
    for out, said in ((None, "out: wanted"), (5, "out: wanted"), (run.folder / "in", "inside the run itself")):
        with pytest.raises(regard.InputError, match=said):
            regard.pack(run, out)  # type: ignore[arg-type]
    with pytest.raises(regard.InputError, match="slim"):
        regard.pack(run, "slim")


def test_an_alignment_is_drawn_under_any_kind_of_name(run: regard.Run, tmp_path: Path) -> None:
    found = regard.align(run, "a b c")
    assert found.source[:3] == ["a", "b", "c"]
    assert found.draw("x.png").is_file()
    assert found.draw(tmp_path / "y.svg", title="$x").is_file()
    assert "<table" in found._repr_html_()
    with pytest.raises(regard.InputError, match="pictures are written as"):
        found.draw("x")


def test_a_model_left_in_training_mode_answers_as_ever(run: regard.Run) -> None:
    opened = regard.open_run(run)
    before = [one.text for one in regard.translate(opened, ["a b", "c d e"])]
    opened.model.train()
    assert [one.text for one in regard.translate(opened, ["a b", "c d e"])] == before
