"""Every tokenizer learns from texts that are one long word, one long line or next to nothing, of any data."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from regard.datasets.data import Data
from regard.datasets.files import Files
from regard.datasets.menu import SLOTS
from regard.datasets.texts import TextFiles
from regard.datasets.tokenizer import Bpe, Tokenizer, TokenizerTrainer, Unigram, Words
from regard.datasets.tokenizer.trainer import LEAST, LONG, LONG_WORD, LongWords
from regard.recipe import Menu
from regard.tasks.translation.tokenizers import TokenizerPair

DRAWN = Random(1)
CHINESE = "".join(chr(0x4E00 + int(DRAWN.paretovariate(1)) % 300) for _ in range(6_000))
CORPORA = {
    "Chinese in long lines": "\n".join(CHINESE[start : start + 3_000] for start in (0, 3_000)),
    "Chinese in one line": CHINESE,
    "DNA": "".join(DRAWN.choices("ACGT", k=6_000)),
    "digits": "".join(DRAWN.choices("0123456789", k=6_000)),
    "emoji": "".join(chr(0x1F600 + DRAWN.randrange(60)) for _ in range(3_000)),
    "a long word": f"a few words before {'xyz' * 3_000} and behind it",
    "one class": "1 22 333 " * 500,
    "one character, again and again": "1" * 6_000,
    "one character": "a",
    "marks": "_-" * 2_000,
    "lines of one letter": "a\nb\n" * 50,
    "one long line": "ein Hund und noch ein Hund, " * 200,
}
MENU = Menu(*SLOTS)
KINDS: dict[str, Callable[[], TokenizerTrainer]] = {
    kind: part.entry for kind, part in sorted(MENU.parts["tokenizer"].items()) if kind != "pretrained"
}


def read(kind: str, text: str, folder: Path) -> tuple[Data[tuple[str, ...]], list[str]]:
    """The data that a file of this text is, and all texts in it."""
    (folder / "data.txt").write_text(text)
    (folder / "data.tsv").write_text("".join(f"{line}\t{line}\n" for line in text.split("\n") if line))
    named = str(folder / ("data.txt" if kind == "texts" else "data.tsv"))
    data = (TextFiles if kind == "texts" else Files)(train=named, valid_share=0.0)
    return data, [one for row in data.read("train") for one in row]


@pytest.mark.parametrize("data_kind", ["texts", "pairs"])
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_learnt_from_and_comes_back(kind: str, corpus: str, data_kind: str, tmp_path: Path) -> None:
    data, texts = read(data_kind, CORPORA[corpus], tmp_path)
    trainer = KINDS[kind]()
    tokenizer: Tokenizer
    if isinstance(data, Files):
        tokenizer = TokenizerPair.train(data, trainer).source
    else:
        trainer.prefix = ""
        tokenizer = trainer.train(texts)
    assert tokenizer.decode(tokenizer.encode(texts)) == texts
    long = any(LONG_WORD.search(text) for text in texts)
    assert bool(trainer.note) == (long and kind == "words")
    if long and kind in ("bpe", "unigram"):
        assert len(tokenizer.encode(texts[:1])[0]) < 0.7 * len(texts[0].encode())


def test_long_words_are_learnt_from_in_pieces_and_a_sample_of_many() -> None:
    texts = [f"a {'x' * 600}, {'-' * LONG}", "7" * 700, " " * 300 + "b", "y" * LONG]
    assert "".join(LongWords(texts, 10**6)) == f"a , {'-' * LONG}b{'y' * LONG}{'x' * 600}{'7' * 700}{' ' * 300}"
    assert max(map(len, LongWords(texts, 10**6))) < LONG + 5
    many = LongWords((f"{number:0{LONG}}z" for number in range(100)), 10 * LONG)
    assert [int(piece) for piece in many if len(piece) == LONG] == list(range(0, 100, 16))
    assert many.note == (
        "the vocabulary is learnt from 1,792 of the 25,700 characters in words of over 256, evenly chosen"
    )


def test_what_no_vocabulary_holds_is_said() -> None:
    trainer = Words()
    assert len(trainer.train(["ab " * 50, "x" * 5_000])) == LEAST + 1
    long = "the 5,000 characters in words of over 256"
    assert trainer.note == f"the vocabulary has none of {long}: they are spelt in bytes"


def test_a_text_without_any_piece_is_spelt_in_bytes() -> None:
    for texts in ([], [" " * 50]):
        assert len(Unigram().train(texts)) == len(Bpe(vocab_size=LEAST).train(texts)) == LEAST
