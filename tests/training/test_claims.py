"""One folder, two trainers: whoever comes second is refused, wherever the first is."""

import fcntl
from pathlib import Path

import pytest
from toyruns import fingerprint, recipe, whole

from regard.errors import InputError
from regard.run import create, lock
from regard.training.events import Ended
from regard.training.train import training


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_of_two_that_begin_the_same_run_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the run's files are written, the other neither joins in nor clears away."""
    refused, inner = [], create.write

    def write(path: Path, content: bytes) -> None:
        inner(path, content)
        with pytest.raises(InputError) as caught:
            whole(recipe(), tmp_path / "run")
        refused.append(str(caught.value))

    with monkeypatch.context() as patch:
        patch.setattr(create, "write", write)
        events = training(recipe(), out=tmp_path / "run")
        seen = [next(events), next(events)]
    assert len(refused) >= 3
    assert all("is training in it" in said for said in refused[:-1])
    assert "there is a run already" in refused[-1]
    seen += events
    assert seen[-1] == Ended(6, "done")
    whole(recipe(), tmp_path / "calm")
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "calm")


def test_a_claim_that_comes_to_nothing_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    with pytest.raises(KeyboardInterrupt), create.claimed(folder):
        with pytest.raises(InputError, match="is training in it"), create.claimed(folder):
            pass
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with create.claimed(tmp_path / "mine"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_lock_that_was_taken_away_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening and locking it, another process may have removed the run with its lock."""
    inner = fcntl.flock

    def flock(file: object, how: int) -> None:
        inner(file, how)  # type: ignore[call-overload]
        (tmp_path / "lock").unlink()

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with pytest.raises(InputError, match="another process has just taken it away"), lock.held(tmp_path):
        pass
