"""Beginning with another run's weights: all of them, some parts, another vocabulary; and gone on with to the bit."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from heard import Heard
from toyruns import Table, fingerprint, killed, recipe, tensors, whole

from regard.commands.reporter import Reporter
from regard.errors import InputError, RecipeError
from regard.run import Run
from regard.tasks.language.task import Language
from regard.tasks.translation.task import Translation
from regard.training.begin import _smallest
from regard.training.events import Behind, Ended, Event, Prepared, Step, Validated
from regard.training.train import training


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here


@pytest.fixture
def base(tmp_path: Path) -> Path:
    whole(recipe("gru-additive", steps=40, validate_every=40), tmp_path / "base")
    return tmp_path / "base"


def begun(base: Path, out: Path, *overrides: Any, heard: Heard | None = None) -> list[Event]:
    return list(training(f"from={base}", *overrides, out=out, listener=heard or Heard()))


def first_weights(base: Path, out: Path, *overrides: Any) -> dict[str, torch.Tensor]:
    """After a step that changes nothing."""
    begun(base, out, "training.steps=1", "training.optimizer.learning_rate=1e-30", *overrides)
    return tensors(out)


def test_tuning_begins_where_the_other_run_ended(base: Path, tmp_path: Path) -> None:
    """On other data of the same kind, the first loss is far below that of drawn weights, and near the base's last."""
    heard = Heard()
    tuned = begun(base, tmp_path / "tuned", "data.seed=7", "training.steps=1", heard=heard)
    fresh = whole(recipe("gru-additive", data={"seed": 7}, steps=1), tmp_path / "fresh")
    losses = [next(event.loss for event in events if isinstance(event, Step)) for events in (tuned, fresh)]
    assert losses[0] < 0.7 * losses[1]
    every = len(tensors(base))
    assert heard.said == [f"copied {every} of {every} tensors from {base} (step 40)"]
    facts = Run.open(tmp_path / "tuned").facts["from"]
    assert (facts["run"], facts["step"], facts["copied"], facts["fresh"]) == (str(base), 40, every, [])


def test_what_is_not_said_is_as_in_that_run(base: Path, tmp_path: Path) -> None:
    begun(base, tmp_path / "tuned", "training.steps=2")
    mine, theirs = (Run.open(folder) for folder in (tmp_path / "tuned", base))
    assert mine.recipe["model"] == theirs.recipe["model"]
    assert mine.recipe["training"]["optimizer"] == theirs.recipe["training"]["optimizer"]
    assert mine.files["tokenizer.json"] == theirs.files["tokenizer.json"]


@pytest.mark.parametrize(
    ("overrides", "kept"),
    [
        ([], {"encoder", "decoder", "source", "target", "head"}),
        (["from.parts=encoder"], {"encoder"}),
        (["from.parts=[encoder, decoder]"], {"encoder", "decoder"}),
        (['from.parts=["encoder"]'], {"encoder"}),
        (["from.fresh=decoder"], {"encoder", "source", "target", "head"}),
        ([{"from.parts": ["encoder", "head"], "from.fresh": ["head"]}], {"encoder"}),
        (["tokenizer.kind=characters"], {"encoder", "decoder"}),  # another vocabulary: its tables are begun anew
    ],
)
def test_only_what_is_asked_for_is_taken(overrides: list[Any], kept: set[str], base: Path, tmp_path: Path) -> None:
    there, here = tensors(base), first_weights(base, tmp_path / "new", *overrides)
    same = {name for name in here if here[name].shape == there[name].shape and torch.equal(here[name], there[name])}
    wanted = {name for name in here if name.partition(".")[0] in kept}
    biases = {name for name in here if not here[name].any()}  # zeros are zeros, drawn or copied
    assert wanted <= same <= wanted | biases
    assert set(Run.open(tmp_path / "new").facts["from"]["fresh"]) == set(here) - wanted


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["from.parts=encodr"], "from.parts: no part is called 'encodr'; did you mean 'encoder'?"),
        (["from.fresh=x"], "from.fresh: no part is called 'x'"),
        (["from.parts=7"], "from.parts: wanted a list of texts, given 7"),
        (["model.encoder.cell=lstm"], "begin what does not fit anew: from.fresh=encoder"),
        (["model.encoder.layers=2"], "begin what does not fit anew: from.fresh=encoder"),
        (["model.width=32"], "none of its parts fits; leave out from=, or keep model as it is there"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_leaves_nothing(
    overrides: list[str], said: str, base: Path, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError) as refused:
        begun(base, tmp_path / "new", *overrides)
    assert said in str(refused.value)
    assert not (tmp_path / "new").exists()


def test_the_remedy_for_what_does_not_fit_is_one(base: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as refused:
        begun(base, tmp_path / "new", "model.encoder.cell=lstm", "training.steps=1")
    remedy = str(refused.value).split("anew: ")[1]
    begun(base, tmp_path / "new", "model.encoder.cell=lstm", "training.steps=1", remedy)
    assert Run.open(tmp_path / "new").facts["from"]["copied"] > 0


@pytest.mark.parametrize(
    ("misfits", "parts"),
    [
        (["decoder.positions.table.weight"], ["decoder.positions"]),
        (["decoder.layers.0.mlp.up.weight", "decoder.layers.1.mlp.up.weight"], ["decoder.layers"]),
        (["head.weight", "decoder.positions.table.weight"], ["head", "decoder.positions"]),
        (["decoder.positions.table.weight", "decoder.layers.0.mlp.up.weight"], ["decoder"]),
    ],
)
def test_no_more_is_begun_anew_than_does_not_fit(misfits: list[str], parts: list[str]) -> None:
    layers = [f"decoder.layers.{n}.mlp.{side}.weight" for n in (0, 1) for side in ("up", "down")]
    assert _smallest(misfits, [*layers, "decoder.positions.table.weight", "head.weight", "head.bias"]) == parts


def test_what_is_no_run_cannot_be_begun_from(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing: not a run folder"):
        begun(tmp_path / "nothing", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def cut(table: Table, out: Path, step: int) -> None:
    killed(table, out, lambda event: isinstance(event, Step) and event.number == step)


@pytest.mark.parametrize("step", [2, 5])
def test_resumed_it_ends_as_if_never_interrupted_to_the_bit(step: int, base: Path, tmp_path: Path) -> None:
    """Also when it was killed before anything was saved, and begins again from the same weights."""
    table = recipe("gru-additive", dropout=0.2, steps=8, validate_every=4) | {"from": {"run": str(base)}}
    whole(table, tmp_path / "one")
    cut(table, tmp_path / "two", step)
    whole(table, tmp_path / "two", resume=True)
    assert fingerprint(tmp_path / "two") == fingerprint(tmp_path / "one")


def test_begun_again_from_other_weights_is_refused(base: Path, tmp_path: Path) -> None:
    table = recipe("gru-additive", steps=8, validate_every=4) | {"from": {"run": str(base)}}
    cut(table, tmp_path / "new", 2)
    list(training(str(base), "training.steps=45", resume=True))
    with pytest.raises(InputError, match="not the weights any more that were begun from; train a new run"):
        whole(table, tmp_path / "new", resume=True)


def test_once_saved_the_other_run_is_needed_no_more(base: Path, tmp_path: Path) -> None:
    table = recipe("gru-additive", steps=8, validate_every=4) | {"from": {"run": str(base)}}
    whole(table, tmp_path / "one")
    cut(table, tmp_path / "two", 5)
    base.rename(tmp_path / "gone")
    list(training(str(tmp_path / "two"), resume=True))
    assert fingerprint(tmp_path / "two") == fingerprint(tmp_path / "one")


def test_a_run_that_is_no_better_than_the_one_it_began_from_says_so(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worse = ["training.steps=2", "training.optimizer.learning_rate=1.0", "training.checkpoints.validate_every=1"]
    events = begun(base, tmp_path / "worse", *worse)
    start = Run.open(base).best().progress()["scores"]["loss"]  # type: ignore[union-attr]
    validated = [event for event in events if isinstance(event, Validated)]
    best = min(event.scores["loss"] for event in validated)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert ended.behind == Behind("loss", best, start)
    assert best > start
    said = f"the run it began from had loss {start:.3f}, better than {best:.3f} here"
    with Reporter() as report:
        for event in events:
            report(event)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"best so far; the run it began from had loss {start:.3f}, better than" in shown
    assert f"done after 0:00; {said}" in shown
    others = begun(base, tmp_path / "others", *worse, "data.seed=7")
    assert [event.behind for event in others if isinstance(event, Validated | Ended)] == [None] * 3


def test_what_is_tested_on_is_told_again_when_it_goes_on(base: Path) -> None:
    (prepared,) = (
        event for event in training(str(base), "training.steps=41", resume=True) if isinstance(event, Prepared)
    )
    kept = Run.open(base).facts["splits"]
    assert {split: report.kept for split, report in prepared.splits.items()} == {
        split: kept[split]["kept"] for split in ("train", "valid", "test")
    }


@pytest.mark.parametrize("key", ["parts", "fresh"])
def test_parts_that_are_not_there_are_refused_before_data_are_read(
    key: str, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translation, "prepare", None)
    with pytest.raises(RecipeError, match=f"from.{key}: no part is called 'encodr'"):
        begun(base, tmp_path / "new", f"from.{key}=encodr")


def test_a_state_that_no_model_carries_is_refused_before_data_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Language, "prepare", None)
    with pytest.raises(RecipeError, match=r"task\.carry_state: only a recurrent decoder"):
        list(training("gpt-char", "task.carry_state=true", out=tmp_path / "new"))
