"""Every verb into a pipe that closes, on a terminal that knows only ASCII, without colours, in few columns."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from screen import Screen
from spoken import Done, regard
from started import How, Zygote

from regard.commands import app
from regard.commands.rows import rows

LOOK = {
    "recipes": ["recipes"],
    "menu": ["menu"],
    "menu slot": ["menu", "attention"],
    "menu schema": ["menu", "--schema"],
    "describe": ["describe", "transformer-tiny"],
    "data": ["data", "list"],
    "help": ["train", "--help"],
}
USE = {
    "translate": ["translate", "RUN", "a b", "--attention"],
    "evaluate": ["evaluate", "RUN", "--out", "scores"],
    "runs": ["runs", "show", "RUN"],
    "bench": ["bench", "steps", "--positions", "5", "--repeats", "1"],
}
VERBS = LOOK | USE
ASCII = {"PYTHONIOENCODING": "ascii"}


def words(verb: str, trained: tuple[Path, Done]) -> list[str]:
    return [word.replace("RUN", str(trained[0])) for word in VERBS[verb]]


@pytest.mark.parametrize("verb", VERBS)
def test_whoever_reads_may_go_away(verb: str, zygote: Zygote, tmp_path: Path, trained: tuple[Path, Done]) -> None:
    gone = "import os; r, w = os.pipe(); os.close(r); os.dup2(w, 1)"
    with zygote.regard(tmp_path, *words(verb, trained), how=How(code=gone)) as process:
        assert process.end() == 141, process.said
        said = process.err.decode().splitlines()
    assert said == [] or verb == "bench"  # which tells on standard error how far it is
    assert not [line for line in said if line.startswith("regard:")]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_speaks_ascii(verb: str, zygote: Zygote, tmp_path: Path, trained: tuple[Path, Done]) -> None:
    with zygote.regard(tmp_path, *words(verb, trained), how=How(environment=ASCII)) as process:
        assert process.end() == 0, process.said
    assert process.out.isascii()
    assert process.err.isascii()
    assert process.out


def test_letters_that_ascii_has_not_are_owned_up_to(zygote: Zygote, tmp_path: Path) -> None:
    with zygote.regard(tmp_path, "menu", "pairs", how=How(environment=ASCII)) as process:
        assert process.end() == 0
    assert b"2026?" in process.out
    assert process.err.decode() == (
        "some letters are shown as ?: this terminal takes ascii; PYTHONIOENCODING=utf-8 shows all\n"
    )
    with zygote.regard(tmp_path, "menu", "schedule", how=How(environment=ASCII)) as process:
        assert process.end() == 0
    assert b"sqrt(warmup_steps / step)" in process.out
    assert process.err == b""


def test_a_real_ascii_locale_is_no_trouble(tmp_path: Path) -> None:
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "regard"]
    for more, code in ((["recipes"], 0), (["describe", "no-such-récipe"], 2)):
        done = subprocess.run([*command, *more], capture_output=True, env=environment, cwd=tmp_path, check=False)
        assert done.returncode == code, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("verb", [*LOOK, "runs", "translate", "evaluate"])
def test_no_verb_is_wider_than_a_terminal_nor_coloured_where_that_is_unwanted(
    verb: str, columns: int, zygote: Zygote, tmp_path: Path, trained: tuple[Path, Done]
) -> None:
    if columns == 40 and verb in ("menu schema", "translate", "evaluate", "runs"):
        pytest.skip("JSON, a picture in letters and paths are as wide as they are")
    how = How(columns=columns, environment={"NO_COLOR": "1"})
    with zygote.regard(tmp_path, *words(verb, trained), how=how) as process:
        assert process.end() == 0, process.said
    screen = Screen.of(bytes(process.out), columns)
    assert screen.colours == 0
    if verb not in ("menu schema", "runs", "evaluate"):
        plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", process.out.decode()).replace("\r\n", "\n")
        last = plain.split("\r")[-1]
        wide = [line for line in last.split("\n") if len(line) > columns and "  → " not in line]
        wide = [line for line in wide if not line.startswith("regard ")]  # a command to be copied stays whole
        assert wide == []


def _verbs(group: object, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    import typer

    command = typer.main.get_command(group) if isinstance(group, typer.Typer) else group
    found = [above]
    for name, one in getattr(command, "commands", {}).items():
        found += _verbs(one, (*above, name))
    return found


@pytest.mark.parametrize("verb", _verbs(app), ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_of_every_verb_fits_and_says_something_of_every_option(
    verb: tuple[str, ...], flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    done = regard(*verb, flag)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.lines)) <= 80
    assert "Usage: regard" in done.out


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_said(flag: str) -> None:
    from regard.version import __version__

    assert regard(flag) == Done(0, f"regard {__version__}\n", "")


def test_as_a_module_it_is_the_same_command_and_nothing_of_the_current_folder_is_run(tmp_path: Path) -> None:
    for name in ("typer", "difflib", "rich"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run from the current folder')")
    words = [sys.executable, "-m", "regard", "describe", "--lenght", "3"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = "regard: no such option: --lenght; did you mean --length?\nregard describe --help says what there is\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("width", [80, 40, 12])
def test_rows_end_between_words_and_keep_what_is_marked_whole(width: int) -> None:
    path = "runs/with a space/and-a-long-name"
    parts = ["Look at this, which is a sentence of some length: ", (path, "bold"), ". And more."]
    found = rows(parts, width)
    assert " ".join("".join(text for text, _ in row) for row in found) == f"{parts[0]}{path}. And more."
    for row in found:
        text = "".join(text for text, _ in row)
        assert len(text) <= width or path in text or " " not in text.strip()
    assert sum((path, "bold") in row for row in found) == 1
