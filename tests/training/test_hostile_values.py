"""What hostile runs asked for (tests/attack), a small test each."""

import json
import os
from pathlib import Path

import pytest
from toyruns import recipe, whole

from regard.datasets.toys import Toys
from regard.disk import names_inside
from regard.errors import InputError, RecipeError
from regard.pictures import plain
from regard.run import Run
from regard.run.checkpoint import MANIFEST, WEIGHTS, table_hash


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_errors_and_pictures_give_no_orders() -> None:
    error = InputError("a\x1b[31m\nb\x9b", call="c\x07", flag="d\r")
    assert (str(error), error.on_command_line) == ("a [31m\nb c ", "a [31m\nb d ")
    assert plain("a\x1b$b") == r"a \$b"


def test_no_toy_is_longer_than_can_be_counted() -> None:
    with pytest.raises(ValueError, match=r"max_length: 1,000,000,000 is more than 1,000"):
        Toys(max_length=10**9)
    with pytest.raises(ValueError, match="test_max_length: 1,001 is more"):
        Toys(test_max_length=1001)


def test_a_step_that_would_never_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"training.accumulate: given 1,001 batches a step, and all data make \d+$"):
        whole(recipe(accumulate=1001), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_manifest_without_progress_is_damage(tmp_path: Path) -> None:
    whole(recipe(steps=1), tmp_path / "run")
    newest = Run.open(tmp_path / "run").checkpoints()[0]
    table = json.loads((newest.folder / MANIFEST).read_text())
    del table["progress"]
    table["sha256"]["progress"] = table_hash(None)
    (newest.folder / MANIFEST).write_text(json.dumps(table))
    with pytest.raises(InputError, match="damaged: no progress in it"):
        newest.progress()


def test_tensors_longer_than_they_say_are_not_read_to_their_end(tmp_path: Path) -> None:
    whole(recipe(steps=1), tmp_path / "run")
    newest = Run.open(tmp_path / "run").checkpoints()[0]
    os.truncate(newest.folder / WEIGHTS, 1 << 42)  # a hole, which it would take hours to add up
    with pytest.raises(InputError, match="damaged: not what was written"):
        newest.check()


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(InputError, match="names of files that are none"):
        names_inside(["x\0y"], "run.json")
