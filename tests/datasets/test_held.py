"""What is held while a text is encoded and looked up does not grow with the text."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from regard.datasets.encode import encode
from regard.datasets.stream import Marks, Stream
from regard.datasets.texts import TextFiles
from regard.datasets.tokenizer.whole import Bytes

LINE = "a few words\n"


def held(folder: Path, lines: int) -> int:
    """The most that Python and numpy held at once, for so many documents of a line."""
    text = folder / f"{lines}.txt"
    text.write_text(LINE * lines)
    data, trainer = TextFiles(train=str(text), documents="line", valid_share=0.0), Bytes()
    trainer.prefix = ""
    tokenizer = trainer.train(())
    tracemalloc.start()
    corpus = encode(data, "train", (tokenizer,))
    stream = Stream(corpus, Marks(2, 2))
    found = stream.ids(np.arange(len(stream) - 40, len(stream)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(corpus) == lines
    assert len(stream) == lines * len(LINE) + 1
    assert found[-1] == 2
    return most


def test_many_lines_take_no_more_than_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("regard.datasets.encode.TOGETHER", 256)
    held(tmp_path, 300)  # what is imported and cached on the way
    few, many = held(tmp_path, 1_000), held(tmp_path, 25_000)
    assert many - few < 200_000  # bytes: less than one number a line
