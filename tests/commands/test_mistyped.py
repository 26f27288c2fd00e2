"""An option that there is not, where a key of the recipe was meant, or one with a similar name."""

from pathlib import Path

import pytest
from spoken import refused

from regard.recipe import Recipe
from regard.run import Run
from regard.training.menu import MENU


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("train numbers-gru --steps 3", "training.steps=3"),
        ("train numbers-gru --lr=1e-3", "training.optimizer.learning_rate=1e-3"),
        ("describe gpt-char --layers 2", "model.decoder.layers=2"),
        ("train numbers-gru model.encoder.kind=transformer --heads 2", "model.encoder.attention.heads=2"),
        ("train gpt-char --batch-size", "task.batch_tokens=…"),
        ("train numbers-gru --quite", "--quiet"),
    ],
)
def test_an_option_that_is_a_key_is_answered_with_it(words: str, meant: str) -> None:
    refused(
        2,
        f"no such option: --{words.partition('--')[2].split('=')[0].split()[0]}; did you mean {meant}?",
        *words.split(),
    )


def test_for_a_run_only_what_can_be_set_is_suggested(tmp_path: Path) -> None:
    recipe = Recipe.resolve("numbers-gru", MENU, ["decoding.kind=beam"]).table()
    run = Run.create(tmp_path / "run", recipe, {}, "").folder
    refused(2, "did you mean --set decoding.beam_size=4?", "translate", str(run), "--num-beams", "4")
    refused(2, "no such option: --lr\n", "translate", str(run), "--lr", "4")


def test_where_no_recipe_is_named_the_option_alone_is_refused() -> None:
    refused(2, "no such option: --steps\n", "train", "nosuch", "--steps", "3")


def test_a_value_that_is_no_choice_is_told_plainly() -> None:
    refused(2, "invalid value for 'what': 'nosuch' is not one of 'translation', 'text', 'images'\n", "demo", "nosuch")
    said = "phrases.source: wanted one of en, de, fr, it, ko, given 'xx'\n"  # and no key of a recipe: there is none
    refused(2, said, "data", "get", "phrases", "--source", "xx")
