"""Both sides' tokenizers: shared or not, kept and opened to the same ids, with marks of any maker."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from regard.datasets.data import Split
from regard.datasets.pairs import Pair, Pairs
from regard.datasets.tokenizer import Bpe, Characters, TokenizerTrainer, Unigram, Words
from regard.datasets.tokenizer.trainer import BOS, EOS, PAD
from regard.errors import InputError, RecipeError
from regard.tasks.translation import tokenizers as module
from regard.tasks.translation.tokenizers import SpecialIds, TokenizerPair

PAIRS: list[Pair] = [(f"der Hund {n} läuft", f"the dog {n} runs") for n in range(30)]


class Told(Pairs):
    """Pairs from a list; only the training split may be learnt from."""

    source, target = "de", "en"

    def read(self, split: Split) -> Iterator[Pair]:
        assert split == "train"
        return iter(PAIRS)

    def identity(self) -> list[object]:
        return [PAIRS]


@pytest.mark.parametrize("kind", [Bpe, Unigram, Words, Characters])
@pytest.mark.parametrize("joint", [True, False])
def test_what_is_kept_opens_to_the_same_ids(kind: type[TokenizerTrainer], joint: bool) -> None:
    made = TokenizerPair.train(Told(), kind(joint=joint))
    files = made.files()
    assert set(files) == ({"tokenizer.json"} if joint else {"source-tokenizer.json", "target-tokenizer.json"})
    opened = TokenizerPair.open(files)
    assert opened.files() == files
    assert (opened.source is opened.target) == joint
    for side, tokenizer, other in ((0, made.source, opened.source), (1, made.target, opened.target)):
        texts = [pair[side] for pair in PAIRS] + ["neu 😀"]
        assert other.encode(texts) == tokenizer.encode(texts)
        assert other.decode(other.encode(texts)) == texts


def test_each_side_learns_from_its_own_texts_and_a_joint_one_from_both() -> None:
    both = TokenizerPair.train(Told(), Words())
    assert both.source is both.target
    assert len(both.source.encode(["Hund dog"])[0]) == 2
    apart = TokenizerPair.train(Told(), Words(joint=False))
    assert [len(apart.source.encode([word])[0]) > 1 for word in ("Hund", "dog")] == [False, True]
    assert [len(apart.target.encode([word])[0]) > 1 for word in ("Hund", "dog")] == [True, False]


def test_no_more_is_read_than_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 2)
    made = TokenizerPair.train(Told(), Words())
    assert [len(made.source.encode([word])[0]) for word in ("Hund", "1", "29")] == [
        1,
        1,
        3,
    ]  # spelt in bytes, with the space


def test_marks_of_our_own() -> None:
    ids = TokenizerPair.train(Told(), Words()).ids
    assert ids == SpecialIds(PAD, EOS, PAD, BOS, EOS, (PAD, BOS))


def test_a_foreign_tokenizer_without_a_beginning_begins_with_the_end() -> None:
    """As Marian and GPT-2 do; then that token may be written, for it ends the text."""
    ours = TokenizerPair.train(Told(), Words()).source
    foreign = replace(ours, bos=None, pad=None)
    ids = TokenizerPair(foreign, foreign).ids
    assert (ids.bos, ids.eos, ids.pad) == (EOS, EOS, 0)
    assert ids.never_written == ()  # what fills up is a word like any other


def test_a_tokenizer_that_cannot_end_a_text_is_refused() -> None:
    ours = TokenizerPair.train(Told(), Words()).source
    endless = replace(ours, eos=None)
    for both in (TokenizerPair(ours, endless), TokenizerPair(endless, ours)):
        with pytest.raises(
            RecipeError, match=r"^tokenizer\.eos: the tokenizer has no token that ends a text; name one$"
        ):
            both.checked()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokenizer.json": b"\xff"}, "tokenizer.json: tokenizer.json: damaged: not a JSON table"),
        ({"tokenizer.json": b"{}"}, "tokenizer.json: not a tokenizer: wanted the tables Regard writes"),
        ({"tokenizer.json": None}, "source-tokenizer.json: missing in the run"),
        ({"eos": 10**6}, "tokenizer.json: not a tokenizer: 1000000 is no id of its"),
        ({"pad": -1}, "tokenizer.json: not a tokenizer: -1 is no id of its"),
        ({"tokenizer": {"model": "none"}}, "tokenizer.json: not a tokenizer: "),
    ],
)
def test_damaged_files_are_refused_by_name(change: dict[str, object], said: str) -> None:
    files = TokenizerPair.train(Told(), Words()).files()
    if "tokenizer.json" in change:
        files = {name: content for name, content in (files | change).items() if content is not None}
    else:
        files["tokenizer.json"] = json.dumps(json.loads(files["tokenizer.json"]) | change).encode()
    with pytest.raises(InputError, match=f"^{said}"):
        TokenizerPair.open(files)
