"""What a run keeps of its images: opened as written, and refused where a stranger spoilt it."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from regard.errors import InputError
from regard.tasks.classification.facts import FILE, Facts

FACTS = Facts(("a", "b c"), (8, 12), 3, "pad", (0.1, 0.2, 0.3), (0.5, 0.5, 1.0), (3, 0))


def test_what_is_written_is_opened() -> None:
    assert Facts.open({FILE: FACTS.file()}) == FACTS
    assert FACTS.size == [8, 12]
    assert Facts(("a",), (8, 8), 1, "crop", (0.0,), (1.0,)).size == 8


def test_old_files_without_counts_or_an_order_are_opened() -> None:
    table = json.loads(FACTS.file())
    del table["counts"], table["shuffled"]
    found = Facts.open({FILE: json.dumps(table).encode()})
    assert (found.counts, found.shuffled) == ((), 0)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("classes", [], "no names of classes"),
        ("classes", "ab", "no names of classes"),
        ("classes", ["a", 1], "no names of classes"),
        ("classes", ["a", "a"], "no two classes"),
        ("classes", ["", "b"], "no two classes"),
        ("classes", ["x" * 1001, "b"], "no two classes"),
        ("classes", ["\ud800", "b"], "no text"),
        ("classes", [str(n) for n in range(2**16 + 1)], "no names of classes"),
        ("shape", [8], "no shape"),
        ("shape", [0, 8], "no shape"),
        ("shape", [8, 4097], "no shape"),
        ("shape", [8.0, 8], "no shape"),
        ("shape", [True, 8], "no shape"),
        ("shape", None, "no shape"),
        ("channels", 2, "2 channels"),
        ("channels", "3", "'3' channels"),
        ("channels", True, "True channels"),
        ("fit", "stretch", "no way to fit"),
        ("fit", ["crop"], "no way to fit"),
        ("mean", [0.1], "wanted 3 numbers"),
        ("mean", [0.1, "x", 0.2], "wanted 3 numbers"),
        ("mean", [1e9, 0.0, 0.0], "none of pixels"),
        ("mean", [float("nan"), 0.0, 0.0], "none of pixels"),
        ("std", [0.0, 1.0, 1.0], "divided by 0"),
        ("std", [-1.0, 1.0, 1.0], "divided by -1"),
        ("std", [float("inf"), 1.0, 1.0], "none of pixels"),
        ("counts", [1], "not those of 2 classes"),
        ("counts", [1, -1], "not those of 2 classes"),
        ("counts", {"a": 1}, "not those of 2 classes"),
        ("shuffled", -1, "no order"),
        ("shuffled", 2**31, "no order"),
        ("shuffled", "1", "no order"),
        ("shuffled", True, "no order"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(key: str, value: Any, said: str) -> None:
    table = json.loads(FACTS.file()) | {key: value}
    with pytest.raises(InputError, match="^classification.json: damaged") as error:
        Facts.open({FILE: json.dumps(table).encode()})
    assert said in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"{}"])
def test_no_table_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="classification.json: damaged"):
        Facts.open({FILE: content})


def test_pixels_are_scaled_by_channel() -> None:
    images = torch.tensor([0, 255], dtype=torch.uint8).view(1, 1, 1, 2).expand(1, 3, 1, 2)
    found = FACTS.normalised(images)
    torch.testing.assert_close(found[0, :, 0, 0], torch.tensor([-0.2, -0.4, -0.3]))
    torch.testing.assert_close(found[0, :, 0, 1], torch.tensor([1.8, 1.6, 0.7]))


def test_shuffled_pixels_are_the_same_ones_in_one_order_for_all() -> None:
    facts = replace(FACTS, shuffled=5)
    assert Facts.open({FILE: facts.file()}) == facts
    images = torch.randint(256, (4, 3, 8, 12), dtype=torch.uint8)
    found = facts.normalised(images)
    plain = FACTS.normalised(images)
    assert not torch.equal(found, plain)
    places = facts.arranged(torch.arange(96).view(8, 12)).flatten()
    assert sorted(places.tolist()) == list(range(96))
    assert torch.equal(found.flatten(2), plain.flatten(2)[:, :, places])
    assert torch.equal(replace(FACTS, shuffled=5).normalised(images[2:]), found[2:])
    assert not torch.equal(replace(FACTS, shuffled=6).normalised(images), found)
