"""An old key is answered with its new name, and the new name is there."""

import pytest
from walk import check, exists

from regard.datasets.menu import SLOTS as DATA
from regard.model.menu import MENU as MODEL
from regard.recipe import Menu
from regard.recipe.renamed import KEYS, renamed_key, renamed_kind

MENU = Menu(*DATA, *MODEL)
SECTIONS = {"data": "pairs", "tokenizer": "tokenizer", "model": "model"}
HERE = [key for key, new in KEYS.items() if new.partition(".")[0] in SECTIONS]


@pytest.mark.parametrize("key", HERE)
def test_old_keys_of_data_and_models_are_answered(key: str) -> None:
    check(MENU, key, SECTIONS)


def test_the_walk_can_fail() -> None:
    assert len(HERE) >= 12
    assert exists(MENU, "model.decoder.norm.eps", SECTIONS)
    assert not exists(MENU, "model.decoder.norm.epsilon", SECTIONS)
    assert not exists(MENU, "model.decoders.norm.eps", SECTIONS)


def test_other_keys_and_kinds_have_no_answer() -> None:
    assert renamed_key("model.width") == renamed_kind("schedule", "cosine") == renamed_kind("norm", ["x"]) == ""
    assert renamed_key("training.precision") == "; it is called training.machine.precision now"
    assert renamed_kind("schedule", "inverse_root") == "; it is called 'inverse_sqrt' now"
