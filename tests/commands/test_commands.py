"""The command line as a newcomer meets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.recipe import recipes

ROOT = Path(__file__).parents[2]


def regard(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "regard", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd or ROOT, env=environment, check=False)


def test_help_names_every_verb_and_imports_no_torch() -> None:
    code = """
import sys, regard.commands
assert not {'torch', 'pydantic'} & set(sys.modules)
sys.argv = ['regard', 'menu']
try:
    regard.commands.main()
finally:
    assert 'torch' not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for word in ("attention", "multihead", "local_global", "rotary", "swiglu", "gru"):
        assert word in done.stdout
    shown = regard("--help").stdout
    for verb in ("recipes", "menu", "describe", "bench"):
        assert verb in shown


def test_what_other_data_may_be_is_said_for_every_task_in_a_narrow_terminal() -> None:
    shown = regard("evaluate", "-h").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    told = " ".join(shown.split("--on ")[1].split("--beam")[0].replace("│", " ").split())
    for said in ("NAME.de and NAME.en", "text files, folders, patterns", "a folder of images"):
        assert said in told


def test_recipes_lists_all_of_them() -> None:
    found = json.loads(regard("recipes", "--json").stdout)
    assert {name: one["about"] for name, one in found.items()} == recipes()
    shown = regard("recipes").stdout
    assert all(name in shown for name in recipes())


def test_describe_gives_figures_to_people_and_machines() -> None:
    shown = regard("describe", "transformer-tiny", "model.encoder.layers=2").stdout
    assert "layers 0…1" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80
    figures = json.loads(regard("describe", "transformer-tiny", "model.encoder.layers=2", "--json").stdout)
    assert figures["recipe"]["model"]["encoder"]["layers"] == 2
    assert figures["parameters"] == figures["tree"]["parameters"]


BAD = {
    "unknown recipe": (("describe", "transformer-tyni"), "did you mean 'transformer-tiny'?"),
    "unknown key": (
        ("describe", "gpt2", "model.decoder.attention.kv_head=2"),
        "did you mean model.decoder.attention.kv_heads?",
    ),
    "wrong type": (("describe", "gpt2", "model.width=wide"), "model.width: wanted a whole number ≥ 1, given 'wide'"),
    "heads": (("describe", "gpt2", "model.decoder.attention.heads=7"), "7 heads do not divide width 768"),
    "unknown slot": (("menu", "atention"), "did you mean 'attention'?"),
    "unknown verb": (("descibe", "gpt2"), "describe"),
    "lengths": (("bench", "attention", "--lengths", "many"), "wanted numbers such as 1024,2048"),
}


@pytest.mark.parametrize("fault", BAD)
def test_mistakes_are_told_in_two_lines_with_exit_code_2_and_nothing_written(fault: str, tmp_path: Path) -> None:
    words, told = BAD[fault]
    done = regard(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
    if fault != "unknown verb":  # the command-line library draws a box around that one
        assert len(done.stderr.splitlines()) <= 2
        assert done.stdout == ""


def test_a_file_that_is_not_toml_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("model = [")
    done = regard("describe", "bad.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "bad.toml: not TOML" in done.stderr


def test_bench_attention_writes_table_picture_and_figures(tmp_path: Path) -> None:
    done = regard(
        "bench", "attention", "--lengths", "16,32", "--kinds", "window,linear", "--repeats", "1", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "forward + backward, ms" in done.stdout
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["attention.json", "attention.png", "attention.svg"]
    figures = json.loads((tmp_path / "out" / "attention.json").read_text())
    assert [row["length"] for row in figures["cases"]["window"]] == [16, 32]
