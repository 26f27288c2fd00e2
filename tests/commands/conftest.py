"""A small run, trained once by the command, and copies of it that may be spoilt."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from spoken import WORDS, Done, regard
from started import Zygote, corpus


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Shape checks off where many steps are taken."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    steps = ["training.steps=60", "training.checkpoints.validate_every=20"]
    return folder, regard("train", *WORDS, *steps, "--out", str(folder))


@pytest.fixture
def run(trained: tuple[Path, Done], tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return Path(shutil.copytree(trained[0], tmp_path / "run"))


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Becomes commands: real processes that need not import torch."""
    process = Zygote()
    yield process
    process.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with data to train on."""
    return corpus(tmp_path)
