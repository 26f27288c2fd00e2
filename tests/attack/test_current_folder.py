"""Nothing is imported from the folder a user stands in, whatever its files are called."""

import os
import subprocess
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from regard import process

ALL_STARTS = """
import os
from functools import partial
from pathlib import Path

from regard.datasets.chat import render
from regard.decoding.compiled.machine_code import begun
from regard.disk.cache import cache, claim
from regard.measuring.memory import peak
from regard.measuring.workers import ProcessWorker, take_turns

if __name__ == "__main__":
    assert render("{{ messages[0].content }}", [{"role": "user", "content": "hello"}]) == "hello"
    assert peak(partial, (int,), (int,)) >= 0
    assert len(take_turns([ProcessWorker("one", partial, (int,))], 1, print)[0].seconds) == 1
    folder = cache("compiled")
    folder.mkdir(parents=True)
    maker = begun(folder / "step-of-another-source.code", claim(folder))
    assert maker.wait() == 0
"""


@cache
def pythons_own() -> set[str]:
    """What `python -m` imports from the current folder before the first line of a module is run."""
    code = "import runpy, sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which every module that could be imported has a namesake, which leaves its name in a file."""
    folder = tmp_path / "folder"
    folder.mkdir()
    mark = f"import sys\nopen({str(tmp_path / 'mark')!r}, 'a').write(__name__ + ' ')\n"
    for name in (sys.stdlib_module_names | packages_distributions().keys()) - {"regard"} - pythons_own():
        (folder / f"{name}.py").write_text(mark)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv(process.SAFE_PATH, raising=False)
    return folder


def test_every_start_of_a_process_passes_by_the_current_folder(planted: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ALL_STARTS)
    done = subprocess.run([sys.executable, script], cwd=planted, capture_output=True, text=True, check=False)
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()
    assert done.returncode == 0, done.stderr


def test_neither_python_m_regard_nor_pip_imports_from_the_current_folder(planted: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "regard", "data", "get", "mnist", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=planted, capture_output=True, text=True, check=False)
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()
    assert "pip could not fetch it" in done.stderr or "pip is missing" in done.stderr


@pytest.mark.parametrize("options", [["-mregard"], ["-Bmregard"], ["-B", "-m", "regard"], ["-bmregard.__main__"]])
def test_every_spelling_of_python_m_regard_passes_by_the_current_folder(
    planted: Path, tmp_path: Path, options: list[str]
) -> None:
    command = [sys.executable, *options, "--version"]
    done = subprocess.run(command, cwd=planted, capture_output=True, text=True, check=False)
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()
    assert done.returncode == 0, done.stderr


def test_a_module_of_the_current_folder_that_uses_regard_keeps_its_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import regard, beside")
    (tmp_path / "mine" / "__main__.py").write_text("import beside; print(beside.__name__)")
    (tmp_path / "beside.py").touch()
    command = [sys.executable, "-mmine", "-m", "regard"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "beside\n", done.stderr


def test_a_planted_module_would_be_seen(planted: Path, tmp_path: Path) -> None:
    """A check that cannot fail would find nothing either."""
    subprocess.run([sys.executable, "-c", "import tokenize"], cwd=planted, check=False)
    assert "tokenize" in (tmp_path / "mark").read_text()


def test_a_relative_pythonpath_keeps_its_meaning_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "of_mine.py").write_text("print('here')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["modules", "", "/nowhere"]))
    done = process.run_python(["-c", "import sys, of_mine; print(sys.path[:2])"], Path("/"))
    assert done.stdout == f"here\n{[str(tmp_path / 'modules'), '/nowhere']}\n"
