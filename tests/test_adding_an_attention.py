"""docs/adding-an-attention.md, followed to the letter on a copy of the project."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from copied import CopiedProject

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adding-an-attention.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CopiedProject]:
    """The project with the page's one file added and its lines put into the menu."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src", "recipes", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    place, code = re.search(r"`(src/\S+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL).groups()
    assert not (folder / place).exists()
    (folder / place).write_text(code, encoding="utf-8")
    menu = folder / "src/regard/model/menu.py"
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
    project = CopiedProject(folder)
    yield project
    project.close()


def test_it_is_on_the_menu_with_its_options(copy: CopiedProject) -> None:
    shown = copy.run("menu", "attention")
    assert "cosine" in shown
    assert "sharpness" in shown
    assert "Only the direction counts" in shown


def test_a_recipe_can_choose_it(copy: CopiedProject) -> None:
    shown = copy.run("describe", "gpt-char", "model.decoder.attention.kind=cosine", "--length", "16")
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


def test_its_output_begins_the_smaller_the_deeper_the_model(copy: CopiedProject) -> None:
    """1/√(2·layers) of what it would be alone, as for every attention that names its ends."""
    shares = [float(line) for line in copy.start("-c", MEASURE).communicate(timeout=200)[0].split()]
    assert shares == pytest.approx([2**-0.5, 8**-0.5], rel=0.02)


def test_the_contracts_hold_it_to_account(copy: CopiedProject) -> None:
    process = copy.start(
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
    said, err = process.communicate(timeout=280)
    assert process.returncode == 0, said[-3000:] + err[-3000:]
    passed = int(re.search(r"(\d+) passed", said).group(1))
    assert passed >= 10
