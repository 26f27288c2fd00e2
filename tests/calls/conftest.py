"""A small run, trained once by the call, and a menu without additions."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugged import bare_menu
from small_calls import SMALL

import regard


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def menu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As it comes with Regard; a folder of its own for every test."""
    monkeypatch.chdir(tmp_path)
    with bare_menu():
        yield


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator with attention, after six steps: not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    regard.train("gru-additive", SMALL, out=folder)
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> regard.Run:
    """A copy that may be spoilt."""
    return regard.Run.open(Path(shutil.copytree(trained, tmp_path / "run")))
