"""An option that would change nothing is refused, before anything is loaded."""

import pytest
from spoken import refused

import regard as package


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("look --examples --target x", 3, "--examples makes runs of its own"),
        ("look --examples --rows 0:2", 3, "--examples makes runs of its own"),
        ("look --examples --port 8000", 3, "--examples makes runs of its own"),
        ("look --examples --device cpu", 3, "--examples makes runs of its own"),
        ("look r text --port 8000 --out x.html", 3, "--port 8000: only the live page has an address; --live opens it"),
        ("look r text --port 8000", 3, "--port 8000: only the live page has an address; --live opens it"),
        ("look r text --heads --rows 0:2", 3, "--rows and --heads: the one is of a picture, the other gives numbers"),
        ("look r text --off cross.0 --subwords", 3, "--subwords and --off: the one is of a picture"),
        ("classify r cat.jpg --overwrite", 3, "--overwrite: nothing is written without --show"),
        ("bench decoding --test x", 2, "--test x: goes with --data"),
        ("data get mnist --source de", 3, "mnist: has no languages to choose; leave out --source and --target"),
        ("data get pydoc --target de", 3, "pydoc: has no languages to choose; leave out --source and --target"),
        ("describe mnist-vit --length 5", 3, "length: this model reads images, which have none; leave it out"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(words: str, code: int, said: str) -> None:
    refused(code, said, *words.split())


def test_images_are_described_without_a_length() -> None:
    with pytest.raises(package.InputError, match="this model reads images"):
        package.describe("mnist-vit", length=5)
    assert package.describe("mnist-vit").parameters
