"""The loop: what happens in which order, and that an interrupted run ends as if nothing had happened."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import Any, get_origin

import numpy as np
import pytest
import torch
from heard import Heard
from tokenizers import Tokenizer, models
from toyruns import FILES, STACKS, Table, fingerprint, killed, recipe, tensors, until, whole

from regard.calls.training import train
from regard.disk import tensors as disk_tensors
from regard.errors import FailedError, InputError, RecipeError
from regard.listener import SILENT
from regard.model.build import build
from regard.model.weights import named
from regard.recipe import Recipe
from regard.run import Run
from regard.tasks.task import Exam, Loss
from regard.tasks.translation import Translation, Translator
from regard.tasks.translation.evaluation import TranslationScores
from regard.training.events import Ended, Event, Prepared, Saved, Started, Step, Validated
from regard.training.learner import Learner
from regard.training.menu import MENU
from regard.training.parallel import Processes
from regard.training.stop import Stop
from regard.training.train import training

ALONE = Processes(0, 1, torch.device("cpu"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", os.fstat)  # nobody pulls the plug here


def after(step: int) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Step) and event.number == step


def kinds(events: list[Event]) -> list[str]:
    """S step, V validated, v no better, C checkpoint; the first two and the last left out."""
    letters = {Step: "S", Saved: "C", Prepared: "", Started: "", Ended: ""}
    return ["Vv"[not event.best] if isinstance(event, Validated) else letters[type(event)] for event in events][2:-1]


def started(events: list[Event]) -> Started:
    assert isinstance(events[1], Started)
    return events[1]


def ended(events: list[Event]) -> Ended:
    assert isinstance(events[-1], Ended)
    return events[-1]


def scripted(monkeypatch: pytest.MonkeyPatch, scores: list[float], name: str = "loss") -> None:
    """Validations that score what is said, one after another."""
    said = iter(scores)
    monkeypatch.setattr(Translation, "evaluate", lambda *_: scored({name: next(said)}))


def scored(scores: dict[str, float]) -> TranslationScores:
    """An evaluation with these scores and nothing else."""
    empty = {each.name: _nothing(each.type) for each in fields(TranslationScores)}
    return TranslationScores(**empty | {"scores": scores})


def _nothing(kind: Any) -> Any:
    """The empty value of a type: 0, "", [] or {}."""
    return (get_origin(kind) or kind)()


# --- what happens ---------------------------------------------------------------------------------------------------


def test_things_happen_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [3.0, 1.0, 2.0])
    events = whole(recipe(steps=7, validate_every=3, save_every=2), tmp_path / "run")
    assert "".join(kinds(events)) == "SSCSVCSCSSVCSvC"
    begun = started(events)
    assert (begun.folder, begun.step, begun.total) == (tmp_path / "run", 0, 7)
    assert begun.parameters == sum(tensor.numel() for tensor in tensors(tmp_path / "run").values())
    assert ended(events) == Ended(7, "done")
    steps = [event for event in events if isinstance(event, Step)]
    assert [step.number for step in steps] == list(range(1, 8))
    assert all(
        step.size > step.predictions > 0 and step.seconds > 0 and step.grad_norm > 0 and step.lr_factor == 1.0
        for step in steps
    )
    assert [event.step for event in events if isinstance(event, Saved)] == [2, 3, 4, 6, 7]


def test_epochs_are_counted_and_each_ends_with_a_look(tmp_path: Path) -> None:
    events = whole(recipe(steps=0, epochs=2, validate_every=0, accumulate=2), tmp_path / "run")
    begun = started(events)
    looks = [event.step for event in events if isinstance(event, Validated)]
    assert looks == [begun.total // 2 + begun.total % 2, begun.total]
    validated = [event for event in events if isinstance(event, Validated)]
    assert all(set(event.scores) == {"loss", "bleu", "chrf"} for event in validated)


def test_a_run_learns_and_says_so(tmp_path: Path) -> None:
    events = whole(recipe(steps=30, validate_every=30), tmp_path / "run")
    losses = [event.loss for event in events if isinstance(event, Step)]
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])


def test_the_log_holds_every_tenth_step_and_every_look(tmp_path: Path) -> None:
    events = whole(recipe(steps=25, validate_every=8), tmp_path / "run")
    steps = [event for event in events if isinstance(event, Step)]
    history = Run.open(tmp_path / "run").history()
    told = [entry for entry in history if "loss" in entry]
    ends = [entry["step"] for entry in told]
    assert {10, 20, 25} <= set(ends)  # every tenth, and the last ones however few
    for entry, first in zip(told, [0, *ends], strict=False):
        some = steps[first : entry["step"]]
        assert set(entry) == {"step", "seconds", "loss", "tokens_per_second", "lr_factor", "grad_norm"}
        mean = sum(step.loss * step.predictions for step in some) / sum(step.predictions for step in some)
        assert entry["loss"] == pytest.approx(mean)
        assert (entry["lr_factor"], entry["grad_norm"]) == (some[-1].lr_factor, some[-1].grad_norm)
    looks = [event for event in events if isinstance(event, Validated)]
    assert [entry["valid"] for entry in history if "valid" in entry] == [look.scores for look in looks]
    assert [entry["seconds"] for entry in history] == sorted(entry["seconds"] for entry in history)


def test_the_log_of_a_killed_run_has_every_line_once(tmp_path: Path) -> None:
    table = recipe(steps=25, validate_every=8, save_every=10)
    whole(table, tmp_path / "calm")
    killed(table, tmp_path / "killed", after(22))
    whole(table, tmp_path / "killed", resume=True)

    def told(name: str) -> list[Any]:
        history = Run.open(tmp_path / name).history()
        return [{key: value for key, value in entry.items() if "second" not in key} for entry in history]

    assert told("killed") == told("calm")


def test_a_look_that_was_saved_as_done_has_been_logged(tmp_path: Path) -> None:
    """Killed right after the checkpoint of a validation: it is not done again, so it must be in the log."""
    table = recipe(steps=4, validate_every=2)
    killed(table, tmp_path / "run", lambda event: isinstance(event, Saved))
    whole(table, tmp_path / "run", resume=True)
    assert [entry["step"] for entry in Run.open(tmp_path / "run").history() if "valid" in entry] == [2, 4]


# --- cut short and gone on with -------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("stack", STACKS)
def test_a_resumed_run_ends_as_an_uninterrupted_one_to_the_bit(stack: str, optimizer: str, tmp_path: Path) -> None:
    """Killed without warning, then asked to stop, each time gone on with: weights, state and scores."""
    sampling = 0.3 if stack == "elman" else 0.0
    table = recipe(
        stack,
        dropout=0.2,
        accumulate=2,
        ema=0.9,
        save_every=2,
        scheduled_sampling=sampling,
        optimizer={"kind": optimizer},
    )
    whole(table, tmp_path / "calm")
    first = killed(table, tmp_path / "cut", after(3))
    assert len(first) < 10
    second = until(table, tmp_path / "cut", after(5), resume=True)
    assert (started(second).step, ended(second)) == (2, Ended(5, "stopped"))
    third = whole(table, tmp_path / "cut", resume=True)
    assert (started(third).step, ended(third)) == (5, Ended(6, "done"))
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "calm")
    state = tensors(tmp_path / "cut", FILES[1])
    assert any(name.startswith("weights/") for name in state)
    assert any(name.startswith("optimizer/") for name in state)


def test_dropout_really_drops_and_depends_on_the_seed(tmp_path: Path) -> None:
    losses = []
    for number, (dropout, seed) in enumerate([(0.0, 1), (0.5, 1), (0.5, 1), (0.5, 2)]):
        events = whole(recipe(dropout=dropout, seed=seed, steps=2), tmp_path / str(number))
        losses.append([event.loss for event in events if isinstance(event, Step)])
    assert losses[1] == losses[2]
    assert losses[0] != losses[1] != losses[3]


def test_stopped_after_every_single_step_it_ends_the_same(tmp_path: Path) -> None:
    table = recipe(dropout=0.2, ema=0.9, optimizer={"kind": "muon"})
    whole(table, tmp_path / "calm")
    for step in range(7):
        last = after(step) if step else lambda event: isinstance(event, Started)
        events = until(table, tmp_path / "cut", last, resume=step > 0)
        assert ended(events).step == step
    assert ended(whole(table, tmp_path / "cut", resume=True)).why == "done"
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "calm")


class Impatient(Stop):
    """Asks by itself, the n-th time it is asked."""

    def __init__(self, moment: int) -> None:
        super().__init__()
        self.left = moment

    def __call__(self) -> bool:
        self.left -= 1
        self.asked = self.asked or self.left < 0
        return self.asked


def test_asked_at_any_moment_also_inside_a_look_it_ends_the_same(tmp_path: Path) -> None:
    """Also at the last one: a look cut short is neither saved nor logged, and done again."""
    table = recipe(dropout=0.2, steps=4, validate_every=2)
    calm = whole(table, tmp_path / "calm")
    inside = 0
    for moment in range(100):
        folder = tmp_path / str(moment)
        events = list(training(table, out=folder, stop=Impatient(moment)))
        if ended(events).why == "done":
            break
        looks = sum(isinstance(event, Validated) for event in events)
        inside += looks < ended(events).step // 2
        again = whole(table, folder, resume=True)
        assert again[-1] == calm[-1]
        assert fingerprint(folder)["step"] == 4
        assert {name: fingerprint(folder)[name] for name in FILES} == {
            name: fingerprint(tmp_path / "calm")[name] for name in FILES
        }
        entries = [entry["step"] for entry in Run.open(folder).history() if "valid" in entry]
        assert entries == [2, 4]
        assert (folder / "best").read_text() == (tmp_path / "calm" / "best").read_text()
    assert 8 < moment < 99
    assert inside >= 4


def test_a_finished_run_gone_on_with_is_finished(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    before = fingerprint(tmp_path / "run")
    events = whole(recipe(), tmp_path / "run", resume=True)
    assert [type(event) for event in events] == [Prepared, Started, Ended]
    assert ended(events) == Ended(6, "done")
    assert fingerprint(tmp_path / "run") == before


def test_a_run_killed_before_its_first_checkpoint_begins_again(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "calm")
    killed(recipe(), tmp_path / "cut", after(2))
    events = whole(recipe(), tmp_path / "cut", resume=True)
    assert started(events).step == 0
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "calm")


def test_a_damaged_checkpoint_costs_a_few_steps_and_nothing_else(tmp_path: Path) -> None:
    table = recipe(dropout=0.2, save_every=2)
    whole(table, tmp_path / "calm")
    until(table, tmp_path / "cut", after(5))
    weights = tmp_path / "cut" / "checkpoints" / "step-5" / FILES[0]
    weights.write_bytes(weights.read_bytes()[:-4])
    heard = Heard()
    events = whole(table, tmp_path / "cut", resume=True, listener=heard)
    said = heard.said
    assert started(events).step == 4
    assert len(said) == 1
    assert "damaged" in said[0]
    assert "falling back to the checkpoint before it" in said[0]
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "calm")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("unknown", 1),
        ("step", "many"),
        ("scores", 3),
        *[("step", value) for value in (-1, 0, 2, 10**12)],
        ("saved", -1),
        *[(key, value) for key in ("validated", "best_step", "waited") for value in (-1, 2)],
    ],
)
def test_progress_of_another_form_is_damage_and_no_trace(key: str, value: Any, tmp_path: Path) -> None:
    """Its hash is right: who can write the progress can write that too."""
    whole(recipe(steps=1), tmp_path / "run")
    checkpoint = Run.open(tmp_path / "run").checkpoints()[0]
    Run.open(tmp_path / "run").amend(checkpoint.step, checkpoint.progress() | {key: value})
    with pytest.raises(InputError, match=rf"manifest.json: damaged: progress.{key}"):
        whole(recipe(steps=1), tmp_path / "run", resume=True)


def test_with_every_checkpoint_damaged_nothing_is_begun_over(tmp_path: Path) -> None:
    whole(recipe(), tmp_path / "run")
    log = (tmp_path / "run" / "log.jsonl").read_bytes()
    for checkpoint in Run.open(tmp_path / "run").checkpoints():
        (checkpoint.folder / FILES[1]).write_bytes(b"")
    with pytest.raises(InputError, match="none of its checkpoints is whole; train a new run"):
        whole(recipe(), tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "log.jsonl").read_bytes() == log


def test_a_disk_that_fills_up_costs_nothing_that_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = recipe(dropout=0.2, save_every=2)
    whole(table, tmp_path / "calm")
    calls, plain = count(), disk_tensors.save_file

    def full(*given: Any) -> None:
        plain(*given)
        if next(calls) == 3:  # two files a checkpoint: inside the second
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(FailedError, match="the disk is full"):
        patch.setattr(disk_tensors, "save_file", full)
        whole(table, tmp_path / "cut")
    assert [checkpoint.step for checkpoint in Run.open(tmp_path / "cut").checkpoints()] == [2]
    assert not list((tmp_path / "cut").rglob("*.part"))  # halves would only keep the disk full
    whole(table, tmp_path / "cut", resume=True)
    assert list((tmp_path / "cut").rglob("*.part")) == []
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "calm")


def test_one_run_is_not_trained_twice_at_a_time(tmp_path: Path) -> None:
    events = training(recipe(), out=tmp_path / "run")
    next(events), next(events)
    with pytest.raises(InputError, match=r"another process \(\d+, since .*\) is training in it"):
        whole(recipe(), tmp_path / "run", resume=True)
    assert ended(list(events)) == Ended(6, "done")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_any_precision_is_resumed_to_the_bit(precision: str, tmp_path: Path) -> None:
    table = recipe("transformer", dropout=0.2, precision=precision, steps=4, validate_every=2)
    events = whole(table, tmp_path / "calm")
    assert all(np.isfinite(event.loss) for event in events if isinstance(event, Step))
    killed(table, tmp_path / "cut", after(3))
    whole(table, tmp_path / "cut", resume=True)
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "calm")
    assert {tensor.dtype for tensor in tensors(tmp_path / "cut").values()} == {torch.float32}


# --- what is refused ------------------------------------------------------------------------------------------------


def changed(key: str, value: Any) -> Table:
    table = recipe(steps=1)
    inner = table
    *above, last = key.split(".")
    for step in above:
        inner[step] = {} if last == "kind" and step == above[-1] else dict(inner[step])
        inner = inner[step]
    inner[last] = value
    return table


CHANGES: list[tuple[str, Any]] = [
    ("training.seed", 2),
    ("training.optimizer.learning_rate", 0.02),
    ("training.optimizer.weight_decay", 0.5),
    ("training.schedule.warmup_steps", 1),
    ("task.label_smoothing", 0.2),
    ("model.width", 32),
    ("model.decoder.dropout", 0.5),
    ("data.seed", 2),
    ("data.operation", "copy"),
    ("tokenizer.lowercase", True),
    ("training.optimizer.kind", "muon"),
    ("decoding.kind", "beam"),
    ("training.machine.precision", "bfloat16"),
    ("training.machine.compile", True),
]


@pytest.mark.parametrize(("key", "value"), CHANGES, ids=[key for key, _ in CHANGES])
def test_a_changed_recipe_is_refused_by_key(key: str, value: Any, tmp_path: Path) -> None:
    whole(recipe(steps=1), tmp_path / "run")
    before = fingerprint(tmp_path / "run")
    with pytest.raises(RecipeError) as caught:
        whole(changed(key, value), tmp_path / "run", resume=True)
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{key}: the run in {tmp_path / 'run'} has ")
    assert first.endswith(f"now it says {value!r}")
    assert second.endswith(f"begin a new run from its weights: from={tmp_path / 'run'}")
    assert fingerprint(tmp_path / "run") == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((f"training.checkpoints.{key}", 1) for key in ("keep", "patience", "validate_every", "save_every")),
        ("training.machine.device", "cpu"),
        ("training.steps", 2),
        ("about", "mine"),
    ],
)
def test_where_and_how_much_is_kept_may_change(key: str, value: Any, tmp_path: Path) -> None:
    whole(recipe(steps=1), tmp_path / "run")
    assert ended(whole(changed(key, value), tmp_path / "run", resume=True)).why == "done"


def test_saying_a_default_out_loud_changes_nothing(tmp_path: Path) -> None:
    whole(recipe(steps=1), tmp_path / "run")
    whole(changed("training.max_grad_norm", 1.0), tmp_path / "run", resume=True)
    assert Run.open(tmp_path / "run").recipe["training"]["max_grad_norm"] == 1.0


def test_changed_data_are_refused(tmp_path: Path) -> None:
    table = recipe(steps=1)
    table["data"] = {"train": str(tmp_path / "pairs.tsv"), "valid_share": 0.3}
    lines = [f"{word} {word}\t{word}" for word in "abcdefghij"]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    whole(table, tmp_path / "run")
    assert ended(whole(table, tmp_path / "run", resume=True)).why == "done"
    (tmp_path / "pairs.tsv").write_text("\n".join([*lines[:-1], "j j\ti"]))
    with pytest.raises(InputError, match="the data are not those this run began with"):
        whole(table, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("width = 16", "width = 24", "they do not belong together"),
        ("width = 16", "width = 16000000", "is the most for weights of"),
        ("layers = 1", "layers = 300", "of more than .* tensors"),
    ],
)
@pytest.mark.parametrize("begun", ["from", "resume"])
def test_a_recipe_edited_inside_a_run_is_refused_by_the_weights_before_data_are_read(
    begun: str, key: str, value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole(recipe(steps=1), tmp_path / "run")
    file = tmp_path / "run" / "recipe.toml"
    assert key in file.read_text()
    file.write_text(file.read_text().replace(key, value))
    monkeypatch.setattr(Translation, "prepare", None)
    source, out = str(tmp_path / "run"), tmp_path / "new"
    with pytest.raises((InputError, RecipeError), match=said):
        list(training(source, resume=True) if begun == "resume" else training(f"from={source}", out=out))
    assert not out.exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:7", "gpu", ""])
def test_a_device_that_is_not_there_is_said_before_anything_is_made(device: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=f"training.machine.device: '{device}' is not there; say auto or cpu"):
        whole(recipe(device=device), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_score_that_there_is_not_cannot_be_best(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="training.checkpoints.best_by: there is loss, bleu, chrf"):
        whole(recipe(best_by="accuracy"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_models_and_data_that_cannot_be_trained_are_told(tmp_path: Path) -> None:
    table = recipe()
    del table["data"]
    with pytest.raises(RecipeError, match="data: missing; say what to learn from"):
        whole(table, tmp_path / "run")
    model = {"model": "image_classifier"}
    with pytest.raises(RecipeError, match="task: missing; recipe says what to build, not what to train it for"):
        list(training(model, out=tmp_path / "run"))
    with pytest.raises(RecipeError, match="model.kind: translation trains seq2seq, and this is a image_classifier"):
        list(training(model, "task=translation", "data.kind=toy", out=tmp_path / "run"))
    with pytest.raises(InputError, match="no training pair has at most 1 tokens a side; raise task.max_length"):
        whole(recipe(max_length=1, data={"min_length": 3}), tmp_path / "run")
    table = recipe("transformer")
    table["model"]["decoder"] = table["model"]["decoder"] | {"positions": {"kind": "learned", "limit": 3}}
    with pytest.raises(RecipeError, match=r"model.decoder.positions.limit: 3 positions, but training texts need 4"):
        whole(table, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_table_for_two_vocabularies_is_refused(tmp_path: Path) -> None:
    """Also where they happen to be of one size: id 300 is another word on each side."""
    table = recipe("transformer")
    table["tokenizer"] = {"kind": "words", "joint": False}
    table["model"] = table["model"] | {"tie_embeddings": "all"}
    with pytest.raises(RecipeError, match="model.tie_embeddings: `all` needs one vocabulary for both sides"):
        whole(table, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_tokenizer_that_knows_nothing_of_the_data_is_refused(tmp_path: Path) -> None:
    """Rather than a run made that cannot be opened."""
    table = recipe()
    (tmp_path / "tokenizer.json").write_text(Tokenizer(models.BPE({"</s>": 0, "Ω": 1}, [])).to_str())
    table["tokenizer"] = {"kind": "pretrained", "file": str(tmp_path / "tokenizer.json")}
    with pytest.raises(InputError, match="the tokenizer knows nothing of any training source"):
        whole(table, tmp_path / "run")


def test_to_go_on_needs_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "gru-dot").mkdir(parents=True)
    (tmp_path / "runs" / "gru-dot" / "recipe.toml").touch()
    with pytest.raises(InputError, match="gru-dot: no such run to go on with; did you mean runs/gru-dot"):
        list(training("gru-dot", resume=True))
    with pytest.raises(InputError, match="no such run to go on with; name the folder of a run"):
        list(training("gru-additive", resume=True))
    with pytest.raises(InputError, match="not a run folder"):
        list(training(str(tmp_path), resume=True))
    with pytest.raises(InputError, match="not a run folder"):
        whole(recipe(), tmp_path / "none", resume=True)
    whole(recipe(steps=1), tmp_path / "run")
    with pytest.raises(InputError, match="there is a run already; go on with resume=True"):
        whole(recipe(steps=1), tmp_path / "run")
    with pytest.raises(InputError, match="there is a run already; go on with resume=True, or begin from it"):
        list(training(str(tmp_path / "run")))


def test_from_python_a_call_trains_and_gives_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[Event] = []
    run = train(recipe(steps=2), on_event=seen.append)
    assert run.folder == Path("runs/toy")
    assert ended(seen).why == "done"
    assert train(recipe(steps=2)).folder == Path("runs/toy-2")
    assert train("runs/toy", resume=True).folder == Path("runs/toy")
    assert fingerprint(Path("runs/toy")) == fingerprint(Path("runs/toy-2"))


# --- not a number ---------------------------------------------------------------------------------------------------


def spoil(monkeypatch: pytest.MonkeyPatch, step: int, how: str) -> None:
    """At one step the loss is no number, or only its gradient."""
    calls, plain = count(), Translation.loss

    def loss(self: Translation, *given: Any) -> Loss:
        found = plain(self, *given)
        if next(calls) != step:
            return found
        if how == "gradient":
            found.total.register_hook(lambda grad: grad * float("inf"))
            return found
        return Loss(found.total * float(how), found.plain * float(how))

    monkeypatch.setattr(Translation, "loss", loss)


@pytest.mark.parametrize("how", ["nan", "inf", "gradient"])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_what_is_not_a_number_is_caught_in_its_step_and_changes_nothing(
    how: str, optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = recipe(ema=0.9, optimizer={"kind": optimizer}, validate_every=6)
    whole(
        table | {"training": table["training"] | {"checkpoints": table["training"]["checkpoints"] | {"save_every": 1}}},
        tmp_path / "good",
    )
    with monkeypatch.context() as patch, pytest.raises(FailedError) as caught:
        spoil(patch, 3, how)
        whole(table, tmp_path / "bad")
    first, second = str(caught.value).splitlines()
    assert first.startswith("step 3: the loss is ")
    assert first.endswith(": the run diverged; step 3 is saved")
    assert "training.optimizer.learning_rate" in second
    for file in FILES:
        kept, wanted = tensors(tmp_path / "bad", file), tensors(tmp_path / "good", file, step=3)
        assert kept.keys() == wanted.keys()
        assert all(torch.equal(kept[name], wanted[name]) for name in kept)
    events = whole(table, tmp_path / "bad", resume=True)  # had it been the machine, nothing is lost
    assert started(events).step == 3
    ends = [fingerprint(tmp_path / name) for name in ("bad", "good")]
    assert ends[0]["weights.safetensors"] == ends[1]["weights.safetensors"]


def test_a_first_step_that_fails_keeps_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(FailedError, match="step 0"):
        spoil(patch, 0, "nan")
        whole(recipe(), tmp_path / "bad")
    assert Run.open(tmp_path / "bad").checkpoints()[0].step == 0
    whole(recipe(), tmp_path / "good")
    whole(recipe(), tmp_path / "bad", resume=True)
    assert fingerprint(tmp_path / "bad") == fingerprint(tmp_path / "good")


# --- patience and the best ------------------------------------------------------------------------------------------


def test_patience_ends_a_run_that_gets_no_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [3.0, 2.0, 2.5, 2.0, 1.0])
    table = recipe(steps=9, validate_every=1, patience=2)
    events = whole(table, tmp_path / "run")
    assert [event.best for event in events if isinstance(event, Validated)] == [True, True, False, False]
    assert ended(events) == Ended(4, "patience")
    assert (tmp_path / "run" / "best").read_text() == "step-2"
    before = fingerprint(tmp_path / "run")
    again = whole(table, tmp_path / "run", resume=True)
    assert [type(event) for event in again] == [Prepared, Started, Ended]
    assert ended(again) == Ended(4, "patience")
    assert fingerprint(tmp_path / "run") == before


def test_a_better_look_begins_the_wait_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [3.0, 4.0, 2.0, 4.0, 1.0, 4.0])
    events = whole(recipe(steps=6, validate_every=1, patience=2), tmp_path / "run")
    assert ended(events) == Ended(6, "done")


def test_patience_is_counted_across_interruptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped between two bad looks, and inside the last one."""
    table = recipe(steps=9, validate_every=2, patience=2)
    scripted(monkeypatch, [1.0, 2.0])
    until(table, tmp_path / "run", after(5))
    stop = Stop()

    def cut(*_: Any) -> None:
        stop.asked = True

    monkeypatch.setattr(Translation, "evaluate", cut)
    events = list(training(table, out=tmp_path / "run", resume=True, stop=stop))
    assert ended(events) == Ended(6, "stopped")
    scripted(monkeypatch, [2.0])
    events = whole(table, tmp_path / "run", resume=True)
    assert "".join(kinds(events)) == "v"
    assert ended(events) == Ended(6, "patience")


@pytest.mark.parametrize(
    ("name", "scores", "best"), [("loss", [3, 1, 2], 2), ("bleu", [3, 1, 5], 3), ("chrf", [9, 1, 5], 1)]
)
def test_the_best_is_kept_and_pointed_at(
    name: str, scores: list[float], best: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, [float(score) for score in scores], name)
    whole(recipe(steps=3, validate_every=1, best_by=name, keep=1), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.for_use(SILENT).step == best
    assert {3, best} <= {checkpoint.step for checkpoint in run.checkpoints()}
    assert len(run.checkpoints()) == 2  # the best before may stay until the next is saved
    newest = run.checkpoints()[0].progress()
    assert newest["best_step"] == best
    assert newest["scores"] == {name: scores[-1]}


def test_among_equal_scores_the_loss_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no word is right BLEU is 0, and yet the model gets better."""
    told = iter([{"bleu": 0.0, "loss": 3.0}, {"bleu": 0.0, "loss": 2.0}, {"bleu": 0.0, "loss": 2.5}])
    monkeypatch.setattr(Translation, "evaluate", lambda *_: scored(next(told)))
    events = whole(recipe(steps=3, validate_every=1, best_by="bleu"), tmp_path / "run")
    assert [event.best for event in events if isinstance(event, Validated)] == [True, True, False]
    assert (tmp_path / "run" / "best").read_text() == "step-2"


def test_killed_between_a_best_and_its_pointer_it_is_pointed_at_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, [2.0, 1.0])
    table = recipe(steps=4, validate_every=2)
    killed(table, tmp_path / "run", lambda event: isinstance(event, Saved) and event.step == 4)
    assert (tmp_path / "run" / "best").read_text() == "step-2"
    whole(table, tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "best").read_text() == "step-4"


# --- one step -------------------------------------------------------------------------------------------------------


class Plain(torch.optim.Optimizer):
    """Takes one off for every one of the gradient: the step is the gradient."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__(list(model.parameters()), {"base_lr": 1.0})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter -= group["lr"] * parameter.grad


def learner(table: Table) -> Learner:
    checked = Recipe.check(table, MENU)
    assert checked.training is not None
    assert checked.task is not None
    settings, task = checked.training.build(), checked.task.build(None)
    task.prepare(SILENT)
    torch.manual_seed(0)
    made = Learner(build({"model": table["model"] | task.sizes()}), task, settings, ALONE)
    made.optimizers = [Plain(made.model)]
    return made


def moved(made: Learner, number: int = 0) -> tuple[Step, dict[str, torch.Tensor]]:
    """What one step did to every weight."""
    before = {name: tensor.detach().clone() for name, tensor in named(made.model).items()}
    step = made.step(number)
    return step, {name: before[name] - tensor.detach() for name, tensor in named(made.model).items()}


def length(change: dict[str, torch.Tensor]) -> float:
    return float(sum(tensor.square().sum() for tensor in change.values()) ** 0.5)


def test_gradients_are_clipped_by_their_length_and_the_length_is_told() -> None:
    free, long = moved(learner(recipe(max_grad_norm=0)))
    assert free.grad_norm > 0.1
    assert length(long) == pytest.approx(free.grad_norm, rel=1e-4)
    loose, change = moved(learner(recipe(max_grad_norm=100)))
    assert (loose.grad_norm, length(change)) == (pytest.approx(free.grad_norm), pytest.approx(free.grad_norm, rel=1e-4))
    tight, change = moved(learner(recipe(max_grad_norm=0.01)))
    assert (tight.grad_norm, length(change)) == (pytest.approx(free.grad_norm), pytest.approx(0.01, rel=1e-3))
    for name, tensor in change.items():
        torch.testing.assert_close(tensor, long[name] * 0.01 / free.grad_norm, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("stack", ["elman", "gru-additive", "convolution", "transformer"])
@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_two_pieces_added_up_are_one_batch_of_both(stack: str, smoothing: float) -> None:
    """Of different lengths: every prediction counts alike, not every piece."""
    two, one = (learner(recipe(stack, max_grad_norm=0, accumulate=n, label_smoothing=smoothing)) for n in (2, 1))
    task = two.task
    assert isinstance(task, Translation)
    batches = task.batches(1)
    order = np.argsort(batches.corpus.sides[1].lengths)
    few, many = order[:3], order[-9:]
    two.batches = [batches.collate(few), batches.collate(many)]
    one.batches = [batches.collate(np.concatenate([few, many]))]
    assert two.batches[0].predictions < two.batches[1].predictions / 3
    (pieces, apart), (batch, together) = moved(two), moved(one)
    assert (pieces.loss, pieces.size) == (pytest.approx(batch.loss, rel=1e-5), batch.size)
    for name, tensor in apart.items():
        torch.testing.assert_close(tensor, together[name], rtol=1e-5, atol=1e-5)


def test_steps_and_pieces_take_the_batches_in_their_order() -> None:
    made = learner(recipe(accumulate=2))
    plain, taken = made.batches, []

    class Watched:
        def __len__(self) -> int:
            return len(plain)

        def __getitem__(self, number: int) -> Any:
            taken.append(number)
            return plain[number]

    made.batches = Watched()
    for number in range(3):
        made.step(number)
    assert taken == [0, 1, 2, 3, 4, 5]


def test_smoothing_changes_what_is_learnt_and_not_what_is_told() -> None:
    (plain, one), (smoothed, other) = (
        moved(learner(recipe(label_smoothing=0))),
        moved(learner(recipe(label_smoothing=0.3))),
    )
    assert smoothed.loss == plain.loss
    assert not torch.allclose(one["head.bias"], other["head.bias"])


def test_smoothing_pulls_towards_all_words_alike() -> None:
    """Σ_v of the gradient at the bias of the head: mean over predictions of p − (1−ε) onehot − ε/V."""
    made = learner(recipe(label_smoothing=0.3, max_grad_norm=0))
    batch = made.batches[0]
    with torch.no_grad():
        chances = made.model(batch.source, batch.inputs, batch.source_lengths).softmax(-1)
    real = torch.arange(batch.labels.shape[1]) < batch.lengths[:, None]
    wanted = torch.nn.functional.one_hot(batch.labels, chances.shape[-1]) * 0.7 + 0.3 / chances.shape[-1]
    _, change = moved(made)
    torch.testing.assert_close(change["head.bias"], (chances - wanted)[real].mean(0), rtol=1e-3, atol=1e-6)


def test_the_rate_is_that_of_the_schedule() -> None:
    made = learner(recipe(schedule={"kind": "constant", "warmup_steps": 3}, max_grad_norm=0))
    whole_step = length(moved(learner(recipe(max_grad_norm=0)))[1])
    step, change = moved(made)
    assert step.lr_factor == 0.25
    assert length(change) == pytest.approx(0.25 * whole_step, rel=1e-4)


def test_averages_are_those_of_the_weights_so_far(tmp_path: Path) -> None:
    """w̄ ← d w̄ + (1−d) w with d = min(ema, (1+n)/(10+n)), from the first weights on."""
    table = recipe(steps=5, ema=0.3, save_every=1, optimizer={"kind": "adamw", "learning_rate": 0.05})
    until(table, tmp_path / "run", lambda event: isinstance(event, Started))
    whole(table, tmp_path / "run", resume=True)
    mean = tensors(tmp_path / "run", step=0)
    for number in range(5):
        keep = min(0.3, (1 + number) / (10 + number))
        saved, state = (tensors(tmp_path / "run", file, step=number + 1) for file in FILES)
        for name, tensor in saved.items():
            mean[name] = keep * mean[name] + (1 - keep) * state[f"weights/{name}"]
            torch.testing.assert_close(tensor, mean[name], rtol=1e-4, atol=1e-6)
    assert any(not torch.equal(saved[name], state[f"weights/{name}"]) for name in saved)


def test_averages_are_what_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def evaluate(self: Translation, answerer: Translator, exam: Exam) -> TranslationScores:
        seen.append({name: tensor.detach().clone() for name, tensor in named(answerer.model).items()})
        assert not answerer.model.training
        assert (exam.split, exam.quick) == ("valid", True)
        return scored({"loss": 1.0})

    monkeypatch.setattr(Translation, "evaluate", evaluate)
    whole(recipe(steps=2, validate_every=2, ema=0.9), tmp_path / "run")
    saved = tensors(tmp_path / "run")
    assert all(torch.equal(seen[0][name], saved[name]) for name in saved)


def test_averaging_does_not_touch_the_learning(tmp_path: Path) -> None:
    whole(recipe(steps=3), tmp_path / "plain")
    whole(recipe(steps=3, ema=0.9), tmp_path / "averaged")
    learnt, state = tensors(tmp_path / "plain"), tensors(tmp_path / "averaged", FILES[1])
    assert all(torch.equal(tensor, state[f"weights/{name}"]) for name, tensor in learnt.items())


# --- signals --------------------------------------------------------------------------------------------------------


@pytest.fixture
def handlers() -> Iterator[None]:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_between_two_steps_and_saves(number: int, tmp_path: Path) -> None:
    stop, events = Stop(), []
    with stop.on_signals():
        for event in training(recipe(), out=tmp_path / "run", stop=stop):
            events.append(event)
            if after(2)(event):
                os.kill(os.getpid(), number)
    assert ended(events) == Ended(2, "stopped")
    assert Run.open(tmp_path / "run").checkpoints()[0].step == 2
    whole(recipe(), tmp_path / "calm")
    whole(recipe(), tmp_path / "run", resume=True)
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "calm")


@pytest.mark.usefixtures("handlers")
def test_a_second_interrupt_is_obeyed_at_once_and_a_second_term_waits() -> None:
    stop = Stop(heeded=True)
    with stop.on_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_data_are_read_a_signal_is_obeyed_at_once(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to save yet, and reading may take minutes."""
    stop = Stop()

    def read(*_: Any) -> None:
        os.kill(os.getpid(), number)
        raise AssertionError("went on")

    monkeypatch.setattr(Translation, "prepare", read)
    with stop.on_signals(), pytest.raises(KeyboardInterrupt):
        list(training(recipe(), out=tmp_path / "run", stop=stop))
    assert not (tmp_path / "run").exists()
