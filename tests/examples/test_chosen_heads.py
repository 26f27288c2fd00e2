"""A head is chosen for a role on some sentences, and judged on the others."""

from unittest.mock import Mock

import pytest
import torch

from regard.examples import classes
from regard.looking.look import Look


class Layer(str):
    heads = 2


def looked(*shares: float) -> Mock:
    """One sentence: the share of its weight that each head puts where the role wants it, an even head last."""
    look = Mock(spec=Look, shares=torch.tensor(shares))
    look.of.return_value = [Layer("first"), Layer("second")]
    return look


def test_the_best_head_of_half_the_sentences_is_judged_on_the_other_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is chosen the third of four seems best; on the others it does little, and the second is best."""
    monkeypatch.setattr(classes, "shares", lambda look, kind, wanted: look.shares)
    chosen_on = [looked(0.1, 0.3, 0.9, 0.2, 0.25), looked(0.3, 0.1, 0.7, 0.2, 0.35)]
    judged_on = [looked(0.1, 0.9, 0.4, 0.2, 0.15), looked(0.1, 0.7, 0.2, 0.2, 0.25)]
    looks = [chosen_on[0], judged_on[0], chosen_on[1], judged_on[1]]
    found = classes.find(looks, "self", classes.looks_at({"coffee"}))
    assert found.head == "second.0"
    assert (found.share, found.even) == (pytest.approx(0.3), pytest.approx(0.2))
    assert found.strength == pytest.approx((0.3 - 0.2) / (1 - 0.2))
