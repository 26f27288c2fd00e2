"""docs/adding-an-attention.md, followed to the letter on a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adding-an-attention.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the page's one file added and its lines put into the menu."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("src", "recipes", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    place, code = re.search(r"`(src/\S+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL).groups()
    assert not (copy / place).exists()
    (copy / place).write_text(code, encoding="utf-8")
    menu = copy / "src/regard/model/menu.py"
    text = menu.read_text(encoding="utf-8")
    added = 0
    for patch in re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL):
        kept = "".join(line[1:] + "\n" for line in patch.splitlines() if line[0] == " ")
        whole = "".join(line[1:] + "\n" for line in patch.splitlines())
        assert text.count(kept) == 1
        text = text.replace(kept, whole)
        added += sum(line[0] == "+" for line in patch.splitlines())
    assert added == 2  # one import and one entry
    menu.write_text(text, encoding="utf-8")
    return copy


def run(copy: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "NO_COLOR": "1", "COLUMNS": "80"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_it_is_on_the_menu_with_its_options(copy: Path) -> None:
    shown = run(copy, "-m", "regard", "menu", "attention")
    assert "cosine" in shown
    assert "sharpness" in shown
    assert "Only the direction counts" in shown


def test_a_recipe_can_choose_it(copy: Path) -> None:
    shown = run(copy, "-m", "regard", "describe", "gpt-char", "model.decoder.attention.kind=cosine", "--length", "16")
    assert "Cosine" in shown


MEASURE = """
import torch
from regard.model.build import build
for layers in (1, 4):
    torch.manual_seed(1)
    model = build("gpt-char", "model.decoder.attention.kind=cosine", f"model.decoder.layers={layers}")
    attention = model.decoder.layers[0].attention
    print(float(attention.output.weight.std() / attention.compare.weight.std()))
"""


def test_its_output_begins_the_smaller_the_deeper_the_model(copy: Path) -> None:
    """1/√(2·layers) of what it would be alone, as for every attention that names its ends."""
    shares = [float(line) for line in run(copy, "-c", MEASURE).split()]
    assert shares == pytest.approx([2**-0.5, 8**-0.5], rel=0.02)


def test_the_contracts_hold_it_to_account(copy: Path) -> None:
    said = run(
        copy,
        "-m",
        "pytest",
        *(f"tests/contracts/test_{name}.py" for name in ("future", "watched", "padding", "learning", "pairs")),
        "-k",
        "cosine or test_pairs",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    )
    passed = int(re.search(r"(\d+) passed", said).group(1))
    assert passed >= 10
