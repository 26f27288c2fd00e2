"""Heads of GGUF files that lie: every count, length, type and place is held against the file before it is used."""

import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack.imports import file_of, text, value_of

from regard.errors import InputError
from regard.importing import read_model
from regard.importing.gguf.head import read_head

VALUES: dict[str, Any] = {"general.architecture": "llama", "a": 1, "b": [1.5, 2.5], "c": ["x", "y"], "d": True, "e": -1}
TENSORS = {"w": [0, [3, 2], bytes(24)], "q": [8, [2, 32], bytes(68)], "one": [0, [1], bytes(4)]}
HONEST = file_of(VALUES, TENSORS)


def built(values: bytes = b"", tensors: bytes = b"", counts: tuple[int, int] = (0, 0), numbers: bytes = b"") -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, *counts) + values + tensors
    return head + bytes(-len(head) % 32) + numbers


def valued(kind: int, content: bytes) -> bytes:
    return built(text("a") + struct.pack("<I", kind) + content, counts=(0, 1))


def tensor(shape: list[int], kind: int = 0, offset: int = 0, name: str = "w", numbers: bytes = bytes(32)) -> bytes:
    info = text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", one) for one in shape)
    return built(tensors=info + struct.pack("<IQ", kind, offset), counts=(1, 0), numbers=numbers)


def two(first: int, second: int) -> bytes:
    infos = b""
    for name, offset in (("v", first), ("w", second)):
        infos += text(name) + struct.pack("<IQIQ", 1, 8, 0, offset)
    return built(tensors=infos, counts=(2, 0), numbers=bytes(64))


LONG = struct.pack("<Q", 2**63)
STRANGE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "other": (b"GGML" + bytes(100), "does not begin with GGUF"),
    "old": (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "of version 1"),
    "other way round": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "of version 50331648"),
    "cut": (HONEST[:60], "cut off"),
    "many tensors": (built(counts=(2**62, 0)), "more than it can hold"),
    "many values": (built(counts=(0, 2**40)), "more than it can hold"),
    "a long name": (built(LONG, counts=(0, 1)), "a text of 9,223"),
    "a name that is none": (built(text("a")[:8] + b"\xff" + bytes(12), counts=(0, 1)), "utf-8"),
    "a long text": (valued(8, LONG), "a text of"),
    "an unknown kind": (valued(99, bytes(8)), "a value of kind 99"),
    "a long list": (valued(9, struct.pack("<I", 4) + LONG), "a list of"),
    "a list longer than the file": (valued(9, struct.pack("<IQ", 4, 2**21)), "cut off"),
    "a list of texts longer than the file": (valued(9, struct.pack("<IQ", 8, 2**21)), "cut off|a text of"),
    "lists in lists": (valued(9, struct.pack("<IQ", 9, 1) + struct.pack("<IQI", 4, 1, 1)), "lists of lists"),
    "a half truth": (valued(7, b"\x02"), "neither true nor false"),
    "said twice": (built((text("a") + value_of(1)) * 2, counts=(0, 2)), "said twice"),
    "odd alignment": (file_of({"general.alignment": 7}, {}), "general.alignment is none"),
    "alignment of zero": (file_of({"general.alignment": 0}, {}), "general.alignment is none"),
    "a long alignment": (file_of({"general.alignment": 2**31}, {}), "general.alignment is none"),
    "no axis": (tensor([]), "has 0 axes"),
    "many axes": (tensor([1] * 5), "has 5 axes"),
    "an axis of zero": (tensor([4, 0]), "a shape that it cannot have"),
    "an overflow": (tensor([2**32, 2**32]), "a shape that it cannot have"),
    "a wrapped product": (tensor([2**63, 2, 2**2]), "a shape that it cannot have"),
    "half a block": (tensor([33], kind=8), "a shape that it cannot have"),
    "an unknown type": (tensor([8], kind=77), "is of type 77"),
    "a type that is not read": (tensor([256], kind=16), "is of type 16"),
    "longer than the file": (tensor([9]), "is longer than the file"),
    "far away": (tensor([8], offset=2**63), "does not stand behind"),
    "elsewhere": (tensor([4], offset=16), "does not stand behind"),
    "one over the other": (two(0, 0), "does not stand behind"),
    "half over the other": (two(0, 16), "does not stand behind"),
    "a hole": (two(0, 64), "does not stand behind"),
    "more behind": (tensor([8], numbers=bytes(64)), "more stands behind"),
    "the same twice": (
        built(tensors=(text("w") + struct.pack("<IQIQ", 1, 8, 0, 0)) * 2, counts=(2, 0), numbers=bytes(64)),
        "is there twice",
    ),
}


def test_an_honest_head_is_read() -> None:
    head = read_head(HONEST)
    assert head.values == VALUES
    assert {name: (one.kind.name, one.shape) for name, one in head.tensors.items()} == {
        "w": ("F32", (3, 2)),
        "q": ("Q8_0", (2, 32)),
        "one": ("F32", (1,)),
    }
    places = sorted((one.begin, one.end) for one in head.tensors.values())
    assert all(begin % 32 == 0 for begin, _ in places)
    assert [end - begin for begin, end in places] == [24, 68, 4]
    assert read_head(two(0, 32)).tensors.keys() == {"v", "w"}
    assert read_head(file_of({"eps": 1e-5}, {})).values == {"eps": 1e-5}  # as it was before it had 32 bits


def test_texts_in_lists_and_whole_heads_have_a_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the file is as long as it says: nobody has such a token, or such a head."""
    monkeypatch.setattr("regard.importing.gguf.head.LONGEST_TEXT", 20)
    listed = file_of({"c": ["x" * 20]}, {})
    assert read_head(listed).values == {"c": ["x" * 20]}
    with pytest.raises(ValueError, match="a text in it is longer than it can be"):
        read_head(file_of({"c": ["x" * 21]}, {}))
    monkeypatch.setattr("regard.importing.gguf.head.LONGEST_HEAD", len(listed) // 2)
    with pytest.raises(ValueError, match="longer than it can be"):
        read_head(listed)


@pytest.mark.parametrize("case", STRANGE)
def test_a_head_that_lies_is_refused(case: str, tmp_path: Path) -> None:
    content, said = STRANGE[case]
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"not a GGUF file: .*({said})"):
        read_model(path)


MAKERS: dict[str, Callable[[], bytes]] = {
    "texts": lambda: valued(9, struct.pack("<IQ", 8, 2**22) + bytes(2**21)),
    "numbers": lambda: valued(9, struct.pack("<IQ", 0, 2**22) + bytes(2**21)),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_made_of_a_head_is_bounded(maker: str) -> None:
    content = MAKERS[maker]()
    tracemalloc.start()
    began = time.process_time()  # of this process alone: others do not count
    with pytest.raises(ValueError, match="cut off"):
        read_head(content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**26
    assert time.process_time() - began < 20


@pytest.mark.parametrize("way", ["pipe", "folder", "link"])
def test_only_files_are_opened(way: str, tmp_path: Path) -> None:
    import os

    path = tmp_path / "a.gguf"
    if way == "pipe":
        os.mkfifo(path)
    elif way == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"no plain file|no config\.json"):
        read_model(path)
