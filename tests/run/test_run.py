"""A run folder holds nothing half-written, and nothing in it is trusted."""

import errno
import fcntl
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from heard import Heard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError

from regard.disk import checksum
from regard.disk import tensors as disk_tensors
from regard.disk.files import LARGEST
from regard.errors import FailedError, InputError
from regard.listener import SILENT, Listener
from regard.run import STATE, WEIGHTS, Checkpoint, Run, checkpoint
from regard.run.lock import holder as holder_of

FILES = (WEIGHTS, STATE)
ALL = (*FILES, "manifest.json")
RECIPE = {"name": "small", "training": {"epochs": 3}}
KEPT = {"tokenizer.json": '{"ä": 1}'.encode(), "classes.json": b"{}"}
DATA = "abc"
FACTS = {"format": 1, "data": DATA, "files": ["classes.json", "tokenizer.json"]}
SAME: Any = nullcontext()
HOLDER = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, 2); print('held', flush=True); input()"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug here, and real discs take their time; what is synced when has a test of its own."""
    monkeypatch.setattr(os, "fsync", os.fstat)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "runs" / "one", RECIPE, KEPT, DATA)


def save(run: Run, step: int, keep: int = 9) -> Checkpoint:
    weights = {"w": torch.full((2, 3), float(step)), "b": torch.arange(step)}
    return run.save(step, weights, {"moment": torch.full((4,), 0.5 + step)}, progress(step), keep)


def progress(step: int) -> dict[str, Any]:
    return {"step": step, "best": -1 / 3, "scores": {"loss": 0.1 + step}, "waited": None}


def whole(checkpoint: Checkpoint) -> bool:
    """Everything in it is what `save` was given."""
    step = checkpoint.step
    assert checkpoint.progress() == progress(step)
    assert torch.equal(checkpoint.weights()["w"], torch.full((2, 3), float(step)))
    assert torch.equal(checkpoint.weights()["b"], torch.arange(step))
    assert torch.equal(checkpoint.state()["moment"], torch.full((4,), 0.5 + step))
    return True


def steps(run: Run) -> list[int]:
    return [checkpoint.step for checkpoint in run.checkpoints()]


class Nobody(Listener):
    """Nothing is to be said."""

    def say(self, text: str) -> None:
        raise AssertionError(f"nothing was to be said, but: {text}")


def test_what_was_created_is_opened(run: Run) -> None:
    opened = Run.open(run.folder)
    assert (opened.recipe, opened.files) == (RECIPE, KEPT)
    assert opened.facts == FACTS
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "checkpoints",
        "classes.json",
        "recipe.toml",
        "run.json",
        "tokenizer.json",
    ]
    assert opened.checkpoints() == []
    assert opened.history() == []
    assert opened.newest(Nobody()) is None


def test_a_run_is_never_written_over(run: Run) -> None:
    with pytest.raises(InputError, match="there is a run already; go on with resume=True"):
        Run.create(run.folder, {"name": "other"}, {}, "")
    assert Run.open(run.folder).recipe == RECIPE


@pytest.mark.parametrize("there", ["nothing", "above", "an empty folder"])
@pytest.mark.parametrize("touch", range(12))
def test_a_run_whose_making_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, touch: int, there: str
) -> None:
    """Refused by the disk at any file: no folder that is in the way of the next try."""
    folder = tmp_path / "deep" / "run"
    if there != "nothing":
        (folder if there == "an empty folder" else folder.parent).mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as patch, pytest.raises(FailedError, match="the disk is full") if touch < 8 else SAME:
        patch.setattr(os, "fsync", refusing(FULL, touch))
        Run.create(folder, RECIPE, KEPT, DATA)
    if touch < 8:
        assert sorted(tmp_path.rglob("*")) == before
    assert Run.open(folder if touch >= 8 else Run.create(folder, RECIPE, KEPT, DATA).folder).files == KEPT


def test_a_run_whose_making_was_killed_is_none_and_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for moment in range(30):
        folder = tmp_path / str(moment)
        with monkeypatch.context() as patch:
            touches = count()
            for where, name in TOUCHING:
                patch.setattr(where, name, _deadly(getattr(where, name), touches, moment))
            with pytest.raises(Killed):
                Run.create(folder, RECIPE, KEPT, DATA)
        if (folder / "recipe.toml").exists():
            break
        with pytest.raises(InputError, match="not a run folder"):
            Run.open(folder)
        assert Run.create(folder, RECIPE, KEPT, DATA).files == KEPT
    assert moment > 10


@pytest.mark.parametrize("there", ["a file", "below a file", "something else", "a run cut short, and a note", "closed"])
def test_a_place_that_is_not_new_or_empty_is_refused_and_left_alone(
    tmp_path: Path, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "it"
    if there == "a file":
        folder.write_text("mine")
    elif there == "below a file":
        (tmp_path / "it").write_text("mine")
        folder = tmp_path / "it" / "run"
    elif there == "closed":
        monkeypatch.setattr(os, "access", lambda *_: False)  # whoever runs the tests may write anywhere
    else:
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
        if there == "a run cut short, and a note":
            (folder / "run.json").write_text('{"format": 1, "data": "", "files": []}')
    before = sorted(tmp_path.rglob("*"))
    said = {"a file": "a file, and a run is a folder", "below a file": "is a file", "closed": "may not be written to"}
    with pytest.raises(InputError, match=said.get(there, "not empty, and a new run needs a folder of its own")):
        Run.create(folder, RECIPE, KEPT, DATA)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_noted_of_a_run_is_there_when_it_is_opened(run: Run) -> None:
    run.note(ended="done", diverged=3)
    run.note(diverged=None)
    assert Run.open(run.folder).facts == run.facts == FACTS | {"ended": "done"}


def test_a_run_that_diverged_says_so_when_it_is_used(run: Run) -> None:
    run.note(diverged=1234)
    with pytest.raises(
        InputError, match=r"diverged at step 1,234 before anything good was saved; train a new one with a"
    ):
        run.for_use(Nobody())
    save(run, 1000)
    heard = Heard()
    assert Run.open(run.folder).for_use(heard).step == 1000
    assert heard.said == [f"{run.folder}: this run diverged at step 1,234; what answers is step 1,000"]


def test_scores_are_kept_one_for_each_data_and_way(run: Run) -> None:
    assert run.scores() == []
    assert run.keep_scores({"bleu": 1.0}, step=3)
    assert run.keep_scores({"bleu": 2.0}, step=3, on="mine", how=["decoding.beam_size=1"])
    assert run.keep_scores({"bleu": 3.0}, step=3)
    assert [(one["on"], one["scores"]) for one in Run.open(run.folder).scores()] == [
        ("", {"bleu": 3.0}),
        ("mine", {"bleu": 2.0}),
    ]
    (run.folder / "evaluation.json").write_text("{")
    assert run.scores() == []
    assert run.keep_scores({"bleu": 4.0}, step=3, split="valid")
    assert [(one["split"], one["step"]) for one in run.scores()] == [("valid", 3)]


def test_scores_that_cannot_be_kept_are_no_reason_to_fail(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", refusing(OSError(errno.EROFS, "Read-only file system"), 0))
    assert not run.keep_scores({"bleu": 1.0}, step=3)


def test_files_of_a_run_have_the_mode_that_the_user_asks_for(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        made = Run.create(tmp_path / "run", RECIPE, KEPT, DATA)
        save(made, 1)
        made.point("best", "step-1")
        made.log({"step": 1})
    finally:
        os.umask(before)
    files = [path for path in made.folder.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in files} == {path.name: "0o640" for path in files}


def test_a_tilde_is_the_home_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(run.folder.parent))
    assert Run.open(Path("~") / "one").folder == run.folder
    with pytest.raises(InputError, match="~nobody-of-that-name/x: "):
        Run.open(Path("~nobody-of-that-name/x"))


def test_what_was_saved_comes_back(run: Run) -> None:
    saved = save(run, 3)
    assert saved.folder == run.folder / "checkpoints" / "step-3"
    assert whole(saved)
    assert saved.shapes() == {"w": [2, 3], "b": [3]}
    assert (run.folder / "last").read_text() == "step-3"
    assert sorted(path.name for path in saved.folder.iterdir()) == sorted(ALL)
    assert list(run.folder.rglob("*.part")) == []


def test_everything_is_synced_before_it_gets_its_name_and_its_folder_after(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut leaves a name with nothing behind it."""
    done: list[tuple[str, str]] = []
    rename, replace = os.rename, os.replace

    def named(path: Any) -> str:
        return str(Path(path).relative_to(run.folder))

    def renamed(old: Any, new: Any) -> None:
        done.append(("named", named(new)))
        (replace if Path(new).is_file() else rename)(old, new)

    monkeypatch.setattr(
        os, "fsync", lambda handle: done.append(("synced", named(os.readlink(f"/proc/self/fd/{handle}"))))
    )
    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(os, "replace", renamed)
    save(run, 5)
    part = "checkpoints/step-5.part"
    assert done == [
        ("synced", f"{part}/weights.safetensors"),
        ("synced", f"{part}/state.safetensors"),
        ("synced", f"{part}/manifest.json.part"),
        ("named", f"{part}/manifest.json"),
        ("synced", part),
        ("synced", part),
        ("named", "checkpoints/step-5"),
        ("synced", "checkpoints"),
        ("synced", "last.part"),
        ("named", "last"),
        ("synced", "."),
    ]


def test_a_view_into_a_larger_tensor_is_saved_as_what_it_shows(run: Run) -> None:
    large = torch.arange(12.0).view(3, 4)
    saved = run.save(1, {"turned": large.T}, {"row": torch.arange(5.0)[1:3]}, {}, 1)
    assert torch.equal(saved.weights()["turned"], large.T)
    assert torch.equal(saved.state()["row"], torch.tensor([1.0, 2.0]))


def test_more_can_be_known_about_a_checkpoint_later(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    saved, before = save(run, 3), (run.folder / "checkpoints" / "step-3" / "manifest.json").read_bytes()
    with monkeypatch.context() as patch, pytest.raises(FailedError, match="the disk is full"):
        patch.setattr(os, "fsync", refusing(FULL, 0))
        run.amend(3, {"step": 3, "best": 2.0})
    assert (saved.folder / "manifest.json").read_bytes() == before
    run.amend(3, {"step": 3, "best": 2.0})
    assert saved.progress() == {"step": 3, "best": 2.0}
    assert run.newest(Nobody()) == saved
    flipped(saved.folder / FILES[0])
    with pytest.raises(InputError, match="damaged"):
        run.amend(3, progress(3))  # what is damaged is not made to look whole


def test_the_newest_is_the_one_of_the_highest_step(run: Run) -> None:
    for step in (9, 10, 100, 11):
        save(run, step)
    (run.folder / "checkpoints" / "step-x").mkdir()
    (run.folder / "checkpoints" / "step-200.part").mkdir()
    assert steps(run) == [100, 11, 10, 9]
    newest = run.newest(Nobody())
    assert newest is not None
    assert newest.step == 100


def missing(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"}")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = [missing, empty, truncated, flipped, lengthened, a_folder]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_falls_back_to_the_one_before_and_says_so(
    run: Run, name: str, damage: Callable[[Path], None]
) -> None:
    for step in (1, 2, 3):
        save(run, step)
    damage(run.folder / "checkpoints" / "step-3" / name)
    heard = Heard()
    newest = run.newest(heard, to_resume=True)
    assert newest is not None
    assert newest.step == 2
    assert whole(newest)
    assert len(heard.said) == 1
    assert "step-3/" in heard.said[0]
    assert name in heard.said[0] or (name, damage) == ("manifest.json", flipped)  # a wrong hash blames its file
    assert heard.said[0].endswith("falling back to the checkpoint before it")


@settings(deadline=None, max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(ALL), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_changes_what_training_would_go_on_with(run: Run, name: str, place: float, bit: int) -> None:
    if not run.checkpoints():
        save(run, 1), save(run, 2)
    path = run.folder / "checkpoints" / "step-2" / name
    before = path.read_bytes()
    content = bytearray(before)
    content[int(place * len(content))] ^= 1 << bit
    path.write_bytes(content)
    try:
        newest = run.newest(SILENT, to_resume=True)
        assert newest is not None
        assert newest.step in ((1,) if name in FILES else (1, 2))
        assert whole(newest)
    finally:
        path.write_bytes(before)


def test_a_disk_that_cannot_be_read_counts_as_damage(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    save(run, 1), save(run, 2)
    plain = checkpoint.checksum

    def hashed(path: Path, **how: int) -> str:
        if "step-2" in str(path):
            raise OSError(errno.EIO, "Input/output error")
        return plain(path, **how)

    monkeypatch.setattr(checkpoint, "checksum", hashed)
    heard = Heard()
    assert run.for_use(heard).step == 1
    assert "Input/output error" in heard.said[0]


def test_when_all_are_damaged_there_is_nothing_to_use_and_that_is_said(run: Run) -> None:
    for step in (1, 2):
        flipped(save(run, step).folder / FILES[0])
    run.point("best", "step-2")
    heard = Heard()
    assert run.newest(heard) is None
    assert len(heard.said) == 2
    with pytest.raises(InputError, match="no whole checkpoint in it"):
        run.for_use(heard)


def test_for_use_is_the_best_and_else_the_newest(run: Run) -> None:
    for step in (1, 2, 3):
        save(run, step)
    assert run.for_use(Nobody()).step == 3
    run.point("best", "step-2")
    assert run.for_use(Nobody()).step == 2
    shutil.rmtree(run.folder / "checkpoints" / "step-2")
    heard = Heard()
    assert run.for_use(heard).step == 3
    assert heard.said == [f"{run.folder}: its best checkpoint is gone; falling back to the newest"]


def test_a_damaged_best_falls_back_to_the_newest_and_says_so(run: Run) -> None:
    for step in (1, 2, 3):
        save(run, step)
    run.point("best", "step-2")
    flipped(run.folder / "checkpoints" / "step-2" / WEIGHTS)
    heard = Heard()
    assert run.for_use(heard).step == 3
    assert len(heard.said) == 1
    assert "falling back to the newest" in heard.said[0]


def outside(run: Run) -> Path:
    """A whole checkpoint that is none of this run's."""
    other = Run.create(run.folder.parent / "other", RECIPE, KEPT, DATA)
    save(other, 7)
    shutil.copytree(other.folder / "checkpoints" / "step-7", run.folder.parent / "step-7")
    return other.folder


HOSTILE = [
    "../../step-7",
    "../../other/checkpoints/step-7",
    "step-1/../../../other/checkpoints/step-7",
    "step-2/",
    "./step-2",
    "",
    "step-2\0",
    "step-２",
    "step-" + "9" * 5_000_000,
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_no_pointer_leads_out_of_the_folder(run: Run, content: str) -> None:
    other = outside(run)
    for step in (1, 2, 3):
        save(run, step)
    (run.folder / "best").write_text(content)
    (run.folder / "last").write_text(content)
    heard = Heard()
    assert run.for_use(heard).folder == run.folder / "checkpoints" / "step-3"
    assert heard.said == [f"{run.folder}: its best checkpoint is gone; falling back to the newest"]
    save(run, 4, keep=1)
    assert steps(run) == [4]
    assert whole(Checkpoint(other / "checkpoints" / "step-7"))
    assert whole(Checkpoint(run.folder.parent / "step-7"))


def as_link(path: Path) -> None:
    (path.parent.parent / "named").write_text("step-2")
    path.symlink_to(path.parent.parent / "named")


def as_rubbish(path: Path) -> None:
    path.write_bytes(b"step-\xff\xfe")


def as_endless(path: Path) -> None:
    path.touch()
    os.truncate(path, LARGEST + 1)  # a hole: nothing is written


@pytest.mark.parametrize("name", ["best", "log.jsonl", "tokenizer.json", "recipe.toml", "run.json"])
@pytest.mark.parametrize("plant", [as_link, as_rubbish, as_endless])
def test_links_rubbish_and_endless_files_are_refused(run: Run, name: str, plant: Callable[[Path], None]) -> None:
    save(run, 2)
    (run.folder / name).unlink(missing_ok=True)
    plant(run.folder / name)
    read: dict[str, Callable[[], Any]] = {
        "best": lambda: run.for_use(Nobody()),
        "log.jsonl": lambda: run.rewind(0),
        "tokenizer.json": lambda: Run.open(run.folder).files,
    }
    if plant is as_rubbish and name in ("tokenizer.json", "log.jsonl"):
        return  # bytes like any others: what they mean is for the task to say; lines that are none are passed over
    with pytest.raises(InputError, match=name):
        read.get(name, lambda: Run.open(run.folder))()


def test_a_lock_that_links_elsewhere_leaves_that_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (run.folder / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(FailedError), run.hold():
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_log_is_read_back(run: Run) -> None:
    entries: list[dict[str, Any]] = [{"step": 1, "loss": 0.1 + 0.2}, {"step": 2, "valid": {"loss": 1e-30}}]
    for entry in entries:
        run.log(entry)
    assert run.history() == entries


@pytest.mark.parametrize("torn", ['{"step": 3, "lo', "\0\0\0\0", '"step"', "[3]", "[" * 100_000])
def test_a_torn_line_of_the_log_is_passed_over_and_mended(run: Run, torn: str) -> None:
    run.log({"step": 1})
    with (run.folder / "log.jsonl").open("a") as file:
        file.write(torn)
    assert run.history() == [{"step": 1}]
    run.rewind(2)
    run.log({"step": 2})
    assert list(map(json.loads, (run.folder / "log.jsonl").read_text().splitlines())) == [{"step": 1}, {"step": 2}]


def test_rewinding_forgets_what_will_happen_again(run: Run) -> None:
    run.rewind(0)
    assert run.history() == []
    for step in range(1, 8):
        run.log({"step": step, "loss": step / 3})
    run.rewind(4)
    assert run.history() == [{"step": step, "loss": step / 3} for step in (1, 2, 3, 4)]
    run.rewind(0)
    assert run.history() == []


def test_leftovers_are_swept_and_nothing_else(run: Run, tmp_path: Path) -> None:
    kept = save(run, 1)
    (run.folder / "note.txt").write_text("mine")
    (run.folder / "log.jsonl.part").write_text("{")
    for name in ("step-2.part", "step-1.old.part"):
        shutil.copytree(kept.folder, run.folder / "checkpoints" / name)
    (tmp_path / "precious").mkdir()
    (run.folder / "checkpoints" / "step-3.part").symlink_to(tmp_path / "precious")
    with run.hold():
        assert list(run.folder.rglob("*.part")) == []
    assert (tmp_path / "precious").is_dir()
    assert (run.folder / "note.txt").read_text() == "mine"
    assert whole(kept)


@pytest.fixture
def holder(run: Run) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the run until a line is sent to it."""
    command = [sys.executable, "-c", HOLDER, str(run.folder / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def test_two_processes_never_hold_one_run(run: Run, holder: subprocess.Popen[str]) -> None:
    (run.folder / "checkpoints" / "step-1.part").mkdir()
    assert holder_of(run.folder) == {}
    with pytest.raises(InputError, match="another process is training in it"), run.hold():
        pass
    assert (run.folder / "checkpoints" / "step-1.part").is_dir()  # it is the other's, who is writing it
    holder.kill()
    holder.wait()
    with run.hold():
        assert not (run.folder / "checkpoints" / "step-1.part").exists()


def test_a_held_run_is_let_go_of_whatever_happens(run: Run) -> None:
    with (run.folder / "lock").open("a") as lock:
        with pytest.raises(KeyboardInterrupt), run.hold():
            with pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            who = rf"another process \({os.getpid()}, since 20\d\d-\d\d-\d\d \d\d:\d\d\) is training in it; wait"
            with pytest.raises(InputError, match=who), Run.open(run.folder).hold():
                pass
            assert (holder_of(run.folder) or {})["process"] == os.getpid()
            raise KeyboardInterrupt
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert holder_of(run.folder) is None


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_keep_stay_and_the_best(run: Run, keep: int) -> None:
    for step in range(1, 8):
        save(run, step, keep)
        if step == 3:
            run.point("best", "step-3")
    newest = list(range(7, 7 - keep, -1))
    assert steps(run) == [*newest, 3]
    assert all(whole(checkpoint) for checkpoint in run.checkpoints())
    run.point("best", "step-7")
    save(run, 8, keep)
    assert steps(run) == list(range(8, 8 - keep, -1)) + ([7] if keep == 1 else [])


FULL = OSError(errno.ENOSPC, "No space left on device")
# what the library says on a real full disk, where the number of the error is only in the text
HIDDEN = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


def refusing(what: Exception, place: int) -> Callable[..., Any]:
    """Raises at one call, the `place`-th; all others pass."""
    calls = iter(range(1_000_000))

    def refuse(*_: Any, **__: Any) -> None:
        if next(calls) == place:
            raise what

    return refuse


@pytest.mark.parametrize("place", range(3))
def test_a_full_disk_is_said_in_a_line_and_loses_nothing(run: Run, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    save(run, 1), save(run, 2)
    with monkeypatch.context() as patch, pytest.raises(FailedError, match=r"the disk is full; .*--resume$") as caught:
        patch.setattr(os, "fsync", refusing(FULL, place))
        save(run, 3)
    assert "\n" not in str(caught.value)
    assert steps(run) == [2, 1]
    assert all(whole(checkpoint) for checkpoint in run.checkpoints())
    assert (run.folder / "last").read_text() == "step-2"
    with run.hold():
        assert whole(save(run, 3))


@pytest.mark.parametrize("error", [FULL, HIDDEN], ids=["plain", "hidden"])
def test_a_disk_that_fills_up_inside_the_library_is_told_alike(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    save(run, 1)
    monkeypatch.setattr(disk_tensors, "save_file", refusing(error, 0))
    with pytest.raises(FailedError, match="the disk is full"):
        save(run, 2)
    assert whole(run.for_use(Nobody()))
    assert steps(run) == [1]


@pytest.mark.parametrize("act", ["log", "rewind", "point", "create", "hold"])
@pytest.mark.parametrize(
    ("number", "said"), [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "the disk is full"), (errno.EROFS, "Read-")]
)
def test_every_write_says_what_the_disk_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, act: str, number: int, said: str
) -> None:
    run.log({"step": 1})
    acts: dict[str, Callable[[], Any]] = {
        "log": lambda: run.log({"step": 2}),
        "rewind": lambda: run.rewind(0),
        "point": lambda: run.point("best", "step-1"),
        "create": lambda: Run.create(run.folder.parent / "new", RECIPE, KEPT, DATA),
        "hold": lambda: run.hold().__enter__(),
    }

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch, pytest.raises(FailedError, match=said):
        where, name = {"hold": (os, "open"), "log": (os, "open")}.get(act, (os, "fsync"))
        patch.setattr(where, name, refuse)
        acts[act]()
    assert run.history() == [{"step": 1}]


class Killed(BaseException):
    """Ends everything at once, as kill -9 does."""


TOUCHING = [(os, "fsync"), (os, "replace"), (os, "rename"), (os, "unlink"), (os, "rmdir"), (os, "mkdir"), (os, "open")]


@pytest.mark.parametrize("again", [False, True], ids=["new", "written over"])
def test_killed_at_any_touch_of_the_disk_every_checkpoint_is_whole_or_not_there(
    run: Run, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """Both when step 3 is new and when a step 3 is there already, with old ones to be let go of."""
    survived = 0
    for moment in range(1_000):
        shutil.rmtree(run.folder)
        here = Run.create(run.folder, RECIPE, KEPT, DATA)
        for step in (1, 2, 3) if again else (1, 2):
            save(here, step)
        here.point("best", "step-1")
        killed = False
        with monkeypatch.context() as patch:
            count = iter(range(1_000_000))
            for where, name in TOUCHING:
                patch.setattr(where, name, _deadly(getattr(where, name), count, moment))
            try:
                save(here, 3, keep=1)
            except Killed:
                killed = True
        after = Run.open(run.folder)
        assert set(steps(after)) <= {1, 2, 3}
        assert all(whole(checkpoint) for checkpoint in after.checkpoints())
        newest = after.newest(Nobody())
        assert newest is not None
        assert newest.step >= 2
        assert 1 in steps(after)  # the best stays
        if not killed:
            assert steps(after) == [3, 1]
            break
        survived += 1
        with after.hold():
            assert list(run.folder.rglob("*.part")) == []
            save(after, 3, keep=1)
        assert steps(after) == [3, 1]
    assert survived > 15


def _deadly(plain: Callable[..., Any], count: Iterator[int], moment: int) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        if next(count) >= moment:
            raise Killed
        return plain(*given, **named)

    return call


@pytest.mark.parametrize("there", ["nothing", "a file", "an empty folder", "a folder of something else"])
def test_what_is_not_a_run_is_refused(tmp_path: Path, there: str) -> None:
    folder = tmp_path / "it"
    if there == "a file":
        folder.write_text("recipe.toml")
    elif there != "nothing":
        folder.mkdir()
    if there == "a folder of something else":
        (folder / "recipe.toml").mkdir()
    with pytest.raises(InputError, match=r"it: not a run folder \(no recipe.toml in it\)"):
        Run.open(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("recipe.toml", "name = "),
        ("run.json", "{"),
        ("run.json", "[]"),
        ("run.json", "[" * 100_000),
        ("run.json", ""),
    ],
)
def test_damaged_texts_are_named(run: Run, name: str, content: str) -> None:
    (run.folder / name).write_text(content)
    with pytest.raises(InputError, match=f"{name}: damaged"):
        Run.open(run.folder)


class Trap:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["pickle", "torch"])
def test_a_pickle_in_disguise_is_refused_and_never_opened(run: Run, tmp_path: Path, name: str, kind: str) -> None:
    """Its hash is right: who can write the file can write the manifest."""
    sprung = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Trap(sprung)))
    assert sprung.exists()  # the trap is a good one
    sprung.unlink()
    checkpoint = save(run, 1)
    if kind == "pickle":
        (checkpoint.folder / name).write_bytes(pickle.dumps(Trap(sprung)))
    else:
        torch.save(Trap(sprung), checkpoint.folder / name)
    manifest = json.loads((checkpoint.folder / "manifest.json").read_text())
    manifest["sha256"][name] = checksum(checkpoint.folder / name)
    (checkpoint.folder / "manifest.json").write_text(json.dumps(manifest))
    assert run.newest(Heard(), to_resume=True) is None  # passed over already
    with pytest.raises(InputError, match=f"{name}: not a safetensors file"):
        checkpoint.weights() if name == WEIGHTS else checkpoint.state()
    if name == FILES[0]:
        with pytest.raises(InputError, match="not a safetensors file"):
            checkpoint.shapes()
    assert not sprung.exists()


def test_a_manifest_of_another_form_is_damage(run: Run) -> None:
    checkpoint = save(run, 1)
    hashes = json.loads((checkpoint.folder / "manifest.json").read_text())["sha256"]
    forms = [{}, {"sha256": []}, {"sha256": hashes}, {"sha256": {}, "progress": progress(1)}, {"progress": progress(1)}]
    for form in forms:
        (checkpoint.folder / "manifest.json").write_text(json.dumps(form))
        with pytest.raises(InputError, match="damaged: not what was written"):
            checkpoint.check()


def test_weights_are_used_without_the_state_of_training(run: Run) -> None:
    """A run to hand on needs no more than its weights; to go on with it is another matter."""
    save(run, 1)
    (run.folder / "checkpoints" / "step-1" / STATE).unlink()
    assert run.for_use(Nobody()).weights().keys() == {"w", "b"}
    heard = Heard()
    assert run.newest(heard, to_resume=True) is None
    assert f"{STATE}: missing" in heard.said[0]


def test_runs_of_another_format_are_refused_with_what_to_do(run: Run) -> None:
    facts = run.folder / "run.json"
    facts.write_text(facts.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(InputError, match=r"a run of format 99, and this Regard knows 1; use it with the Regard that"):
        Run.open(run.folder)
    facts.unlink()
    with pytest.raises(InputError, match=r"from before runs had a format number .* or train it again"):
        Run.open(run.folder)


@pytest.mark.parametrize(
    "names", ['["../other/run.json"]', '["/etc/hostname"]', '[".."]', '[""]', "[1]", '"x"', "null"]
)
def test_no_listed_file_lies_outside(run: Run, names: str) -> None:
    outside(run)
    (run.folder / "run.json").write_text(f'{{"format": 1, "data": "", "files": {names}}}')
    with pytest.raises(InputError, match="names of files that are none"):
        Run.open(run.folder).files  # noqa: B018
