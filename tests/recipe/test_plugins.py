"""Plugins: files and packages of the user's own that put parts on the menu; never anything from a run folder."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from commands.spoken import SMALL, TOY, regard
from plugged import bare_menu, take_off

import regard as library
from regard.recipe import plugins

ROOT = Path(__file__).parents[2]
OWN = ROOT / "docs" / "examples" / "own_attention.py"
PARTS = ROOT / "docs" / "examples" / "own_parts.py"
TRAIN = ["train", "gru-additive", *TOY, *SMALL, "model.decoder.attention.kind=cosine"]
FEW = ["training.steps=2", "training.checkpoints.validate_every=1"]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    with bare_menu():
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugged") / "run"
    with bare_menu(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(folder.parent / "cache"))
        done = regard(*TRAIN, *FEW, "--out", str(folder), "--plugin", str(OWN))
    assert done.code == 0, done.err
    return folder


def test_a_run_says_what_it_needs_and_brings_no_code(trained: Path) -> None:
    assert json.loads((trained / "run.json").read_text())["plugins"] == {"attention cosine": "own_attention.py"}
    assert not list(trained.rglob("*.py"))
    for verb in (["evaluate"], ["translate"], ["describe"], ["train", "--resume"]):
        words = [verb[0], str(trained), *verb[1:], *(["a b"] if verb == ["translate"] else [])]
        done = regard(*words)
        assert (done.code, done.out) == (3, "")
        needs = f"regard: {trained}: this run needs the attention 'cosine' of plugin own_attention.py; "
        assert done.err == f"{needs}give it with --plugin\n"
    with pytest.raises(library.InputError, match=r'load it first: regard\.plugin\("own_attention\.py"\)$'):
        library.open_run(trained)
    library.plugin(OWN)
    assert library.translate(trained, ["a b"])


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "RUN", "--json"],
        ["translate", "RUN", "a b"],
        ["describe", "RUN"],
        ["menu", "attention", "cosine"],
        ["menu", "--json"],
        ["menu", "--schema"],
        ["recipes"],
        ["runs", "list", "RUN"],
        ["runs", "show", "RUN"],
        ["pack", "RUN", "--out", "slim"],
        ["data", "list"],
        ["data", "clean"],
        ["bench", "steps", "--help"],
        ["train", "--help"],
        ["demo", "--help"],
    ],
    ids=" ".join,
)
def test_every_verb_takes_a_plugin(words: list[str], trained: Path, tmp_path: Path) -> None:
    run = shutil.copytree(trained, tmp_path / "run")
    done = regard(*(str(run) if word == "RUN" else word for word in words), "--plugin", str(OWN))
    assert done.code == 0, done.err
    assert "--plugin" in done.out or "--help" not in words
    if words[0] == "menu":
        assert "cosine" in done.out
        assert "How much the best stand out." in done.out
    if words[0] == "describe":
        assert "Cosine" in done.out


def test_the_environment_names_plugins(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_PLUGINS", os.pathsep.join([str(OWN), "", str(PARTS)]))
    assert regard("translate", str(trained), "a b").code == 0
    assert "Downhill, with momentum." in regard("menu", "optimizer").out
    assert "doubled" in regard("data", "list").out
    take_off()
    monkeypatch.setenv("REGARD_PLUGINS", "nowhere.py")
    done = regard("menu")
    assert (done.code, done.err) == (3, "regard: plugin nowhere.py: no such file\n")


@pytest.mark.parametrize("whole", [True, False])
def test_an_installed_package_needs_no_flag(whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point names a module that adds parts, or a function that does."""
    code = OWN.read_text(encoding="utf-8")
    if not whole:
        code = code.replace('regard.menu().add("attention"', 'def add() -> None:\n    regard.menu().add("attention"')
    (tmp_path / "my_package.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("mine", "my_package" if whole else "my_package:add", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry])
    try:
        assert "cosine" in library.menu().slots["attention"].entries
        assert library.menu().slots["attention"].added == {"cosine": "mine (my_package)"} or not whole
    finally:
        sys.modules.pop("my_package", None)


WRONG: dict[str, tuple[str, str]] = {
    "syntax": ("x = 1\nif x\n    pass\n", "line 2: SyntaxError: expected ':'"),
    "name": ("x = 1\n\ny = z\n", "line 3: NameError: name 'z' is not defined"),
    "inside": ("def f():\n    return {}['a']\n\nf()\n", "line 2: KeyError: 'a'"),
    "import": ("import nowhere_at_all\n", "line 1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "script": ("import sys\nsys.exit(3)\n", "line 2: it ends the program; is it a script?"),
    "class": (
        "import regard\n\nregard.menu().add('attention', 'mine', int)\n",
        "line 3: attention 'mine': int is no Attention; make it a subclass of",
    ),
    "slot": ("import regard\nregard.menu().add('atention', 'mine', int)\n", "line 2: atention: no such slot; did you"),
    "library": ("import json\njson.loads('{')\n", "line 2: JSONDecodeError: Expecting property name"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_in_a_plugin_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    code, said = WRONG[name]
    (tmp_path / "wrong.py").write_text(code, encoding="utf-8")
    done = regard("menu", "--plugin", "wrong.py")
    assert done.code in (2, 3)
    assert done.out == ""
    assert done.err.startswith(f"regard: plugin wrong.py, {said}")
    assert len(done.err.splitlines()) == 1
    with pytest.raises(library.RegardError, match="wrong.py, line"):
        library.plugin("wrong.py")


def test_an_error_while_a_part_works_is_told_with_the_users_line(tmp_path: Path, monkeypatch: Any) -> None:
    code = OWN.read_text(encoding="utf-8").replace("return attend(", "return None + attend(")
    (tmp_path / "wrong.py").write_text(code, encoding="utf-8")
    line = next(number for number, text in enumerate(code.splitlines(), 1) if "None + attend" in text)
    done = regard(*TRAIN, *FEW, "--out", "runs/a", "--plugin", "wrong.py")
    assert done.code == 1
    assert done.err.startswith(f"regard: plugin wrong.py, line {line}: TypeError: unsupported operand")
    assert "Traceback" not in done.err
    assert not Path("runs/a").exists()


NO_FILES = {
    "given NoneType": None,
    "given int": 5,
    "given bytes": b"x.py",
    ": no such file": "",
    "x.py: no such": "x.py",
}


@pytest.mark.parametrize("said", NO_FILES)
def test_what_is_no_plugin_is_refused(said: str) -> None:
    with pytest.raises(library.InputError, match=said):
        library.plugin(NO_FILES[said])  # type: ignore[arg-type]


def test_files_that_are_no_python_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x = 1\n")
    with pytest.raises(library.InputError, match="its name must end in .py"):
        library.plugin("notes.txt")


def test_no_code_is_run_from_a_run_folder(trained: Path, tmp_path: Path) -> None:
    """Neither by opening it, nor where its user names the file, nor through a link or a folder in it."""
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    mark = tmp_path / "ran"
    evil = f"from pathlib import Path\nPath({str(mark)!r}).touch()\n" + OWN.read_text(encoding="utf-8")
    for place in ("own_attention.py", "sitecustomize.py", "regard.py", "checkpoints/own_attention.py"):
        (run / place).write_text(evil, encoding="utf-8")
    facts = json.loads((run / "run.json").read_text())
    facts["plugins"] = {"attention cosine": str(run / "own_attention.py")}
    (run / "run.json").write_text(json.dumps(facts))
    assert regard("evaluate", str(run)).code == 3
    (tmp_path / "link.py").symlink_to(run / "own_attention.py")
    for file in (run / "own_attention.py", run / "checkpoints" / "own_attention.py", tmp_path / "link.py"):
        done = regard("evaluate", str(run), "--plugin", str(file))
        assert done.code == 3
        assert "lies in a run folder, and no code is run from one; copy it out first" in done.err
    assert not mark.exists()


def test_a_plugin_is_loaded_once_and_again_when_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN.read_text(encoding="utf-8"), encoding="utf-8")
    assert library.plugin(file) == library.plugin("mine.py") == file
    first = library.menu().slots["attention"].entries["cosine"]
    file.write_text(OWN.read_text(encoding="utf-8").replace("sharpened", "made sharp"), encoding="utf-8")
    library.plugin(file)
    second = library.menu().slots["attention"].entries["cosine"]
    assert first is not second
    assert "made sharp" in (second.__doc__ or "")
    other = tmp_path / "other.py"
    shutil.copy(file, other)
    with pytest.raises(library.RecipeError, match=r"other\.py, line \d+: attention 'cosine': was added by mine\.py"):
        library.plugin(other)


def adding(tmp_path: Path) -> list[str]:
    """The task of docs/adding-a-task.md, as a plugin."""
    page = (ROOT / "docs" / "adding-a-task.md").read_text(encoding="utf-8")
    code = page.split("`src/regard/tasks/adding.py`:\n\n```python\n")[1].split("```")[0]
    recipe = page.split("`adding.toml`:\n\n```toml\n")[1].split("```")[0]
    (tmp_path / "adding.py").write_text(f'{code}\n\nimport regard\n\nregard.menu().add("task", "adding", Adding)\n')
    (tmp_path / "adding.toml").write_text(recipe)
    return ["adding.toml", "--plugin", "adding.py"]


def parts(tmp_path: Path) -> list[str]:
    shutil.copy(PARTS, tmp_path)
    small = ["tokenizer.kind=words", "model.width=16", "data.train=40"]
    chosen = ["data.kind=doubled", "training.optimizer.kind=sgd"]
    return ["gru-additive", *small, *chosen, "--plugin", "own_parts.py"]


@pytest.mark.parametrize("made", [adding, parts])
def test_parts_of_a_file_are_trained_evaluated_and_gone_on_with_elsewhere(
    made: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    """A task; a data source and an optimizer: then in a new process, resumed to the same weights as without a stop."""
    words = made(tmp_path)
    plugin = words[-2:]
    for steps, out in (("2", "runs/cut"), ("3", "runs/whole")):
        done = regard("train", *words, "training.schedule.kind=constant", f"training.steps={steps}", "--out", out)
        assert done.code == 0, done.err
    take_off()
    environment = os.environ | {"PYTHONPATH": str(Path(library.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "regard", "train", "runs/cut", "--resume", "training.steps=3", *plugin]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    ends = [Path(run, "checkpoints/step-3/weights.safetensors").read_bytes() for run in ("runs/cut", "runs/whole")]
    assert ends[0] == ends[1]
    found = regard("evaluate", "runs/cut", "--json", *plugin)
    assert found.code == 0, found.err
    assert "loss" in json.loads(found.out)
    take_off()
    assert "this run needs the " in regard("evaluate", "runs/cut").err
