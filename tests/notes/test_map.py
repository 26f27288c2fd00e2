"""The map of the notes and the tests of the notes say the same."""

import re
from pathlib import Path

import pytest

from regard.model.build import open_recipe
from regard.recipe import Recipe
from regard.training.menu import MENU

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MAP = (ROOT / "docs" / "notes-map.md").read_text(encoding="utf-8")
WORDS = re.findall(
    r"^\| (.+?) \| (.+?) \| `(.+?)` \| (.+?) \|$", (ROOT / "docs" / "words.md").read_text(encoding="utf-8"), re.M
)
ROWS = {int(number): row for number, row in re.findall(r"^\| (\d+) (\|.*)$", MAP, re.MULTILINE)}
TRAPS = {int(number): row for number, row in re.findall(r"^\| T(\d+) (\|.*)$", MAP, re.MULTILINE)}
TESTS = {
    file.name: re.findall(r"^def (test_\d{3}\w*)", file.read_text(encoding="utf-8"), re.MULTILINE)
    for file in sorted(HERE.glob("test_*.py"))
}


def named(row: str) -> list[tuple[str, str]]:
    """(file, beginning of a test's name) pairs in a row: a name belongs to the file before it."""
    pairs, file = [], ""
    for word in re.findall(r"`(test_\w+(?:\.py)?)`", row):
        if word.endswith(".py"):
            file = word
        else:
            pairs.append((file, word))
    return pairs


def beginning(test: str) -> str:
    """`test_053_054` of `test_053_054_claim`."""
    return re.match(r"test(_\d{3}(?!\d))+", test).group()


def test_every_item_and_every_trap_has_one_row():
    assert list(ROWS) == list(range(1, 165))
    assert list(TRAPS) == list(range(1, 17))
    assert len(re.findall(r"^\| \d+ \|", MAP, re.MULTILINE)) == 164


def shown(row: str) -> bool:
    """Whether the row's last cell names a test, and not what is to come."""
    last = row.rstrip("| ").rsplit("| ", 1)[-1]
    assert bool(named(last)) != last.startswith("later: ")
    return bool(named(last))


def test_the_numbers_at_the_top_are_those_of_the_rows():
    items, traps = ([shown(row) for row in rows.values()] for rows in (ROWS, TRAPS))
    in_part = [shown(row) and ("later: " in row or "in part: " in row) for row in ROWS.values()]
    stated = re.search(r"\*\*Of the (\d+) items (\d+) are.*?(\d+) of these.*?(\d+) are to come\. (.*)\*\*", MAP)
    assert [int(number) for number in stated.groups()[:4]] == [164, sum(items), sum(in_part), 164 - sum(items)]
    assert stated[5] == f"Of the 16 traps {sum(traps)} are shown now; {16 - sum(traps)} are to come."


@pytest.mark.parametrize("row", [*ROWS.values(), *TRAPS.values()], ids=[*ROWS, *(f"T{number}" for number in TRAPS)])
def test_what_a_row_names_exists(row: str):
    assert named(row) or "later: " in row
    for file, start in named(row):
        assert start in {beginning(test) for test in TESTS[file]}
    for page in re.findall(r"`(docs/[\w/.-]+)`", row):
        assert (ROOT / page).is_file()
    for recipe in re.findall(r"recipe `([\w-]+)`", row):
        assert (ROOT / "recipes" / f"{recipe}.toml").is_file()


def test_every_test_is_named_in_the_rows_of_its_items():
    for file, tests in TESTS.items():
        for test in tests:
            for number in re.findall(r"_(\d{3})", beginning(test)):
                assert (file, beginning(test)) in named(ROWS[int(number)]), f"{file}: {test}"


def test_a_row_names_only_tests_of_its_own_item():
    for number, row in ROWS.items():
        assert all(f"_{number:03}" in start for _, start in named(row)), number


@pytest.mark.parametrize("word", WORDS, ids=[word for word, *_ in WORDS])
def test_a_word_leads_to_a_recipe_an_option_and_points_of_the_notes(word: tuple[str, ...]):
    _, here, command, points = word
    options = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    for path, value in re.findall(r"`(?:[a-z_]+\.)+([a-z_]+)(?:=(\w+))?`", here):
        assert f"`{path}`" in options or path in MENU.slots or path == "kind"
        assert not value or f" {value}\n" in options or re.search(rf"`{path}` \| [^|]*\b{value}\b", options)
    verb, recipe, *overrides = [part for part in command.split()[1:] if part[0] not in "-'"]
    given = [one for one in overrides if "=" in one]
    if verb == "describe":
        open_recipe(recipe, given)
    elif verb == "train":
        Recipe.resolve(recipe, MENU, given)
    assert all(int(number) in ROWS for number in re.findall(r"\d+", points))
