"""Every file is opened at one door: nobody opens one elsewhere, and what the door refuses is never waited for."""

import ast
import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save

from regard.disk import opened, read_bytes, writing
from regard.disk.header import head_size
from regard.disk.parsing import json_value, parse_toml
from regard.disk.tensors import parse_tensors, read_shapes, read_tensors
from regard.errors import InputError

SOURCE = Path(__file__).parents[2] / "src" / "regard"
OPENING = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "load_file", "safe_open", "fromfile"}
OWN = {"Run", "Facts", "TokenizerPair", "Tokenizer", "Shortlist", "Report", "cls", "archive", "webbrowser"}
ALLOWED = {
    "allocator.py": "what the system says of its memory",
    "processor.py": "what the system says of its processor and its load",
    "training/memory.py": "what the system says of its memory",
    "commands/asked.py": "a pipe that the user named, read once",
    "commands/streams.py": "what stands in for a closed stream",
    "commands/bench.py": "a document where the user wants it",
    "datasets/encode.py": "new files in a passing folder of its own",
    "datasets/get.py": "a new file in a passing folder of its own",
    "datasets/images/pixels.py": "new files in a passing folder of its own",
    "datasets/registry.py": "new files in a passing folder of its own",
    "importing/packages.py": "a new file in a passing folder of its own",
}


def openings(path: Path) -> list[int]:
    """The lines on which a module opens a file by itself."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in {"open", "load_file", "safe_open", "ZipFile"}:
            whose = node.args[0]
            found += [] if isinstance(whose, ast.Name) and whose.id == "file" else [node.lineno]
        elif isinstance(called, ast.Attribute) and called.attr in OPENING:
            whose = called.value
            own = isinstance(whose, ast.Name) and whose.id in OWN
            own = own or any(word.arg == "fileobj" for word in node.keywords)  # it is open already
            own = own or (bool(node.args) and ast.unparse(node.args[0]).startswith("BytesIO("))  # no file at all
            found += [] if own else [node.lineno]
    return found


def test_nobody_opens_files_but_the_door() -> None:
    """Who needs a file asks `regard.disk`: what is read there is plain, bounded and never waited for."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if not name.startswith("disk/") and name not in ALLOWED:
            assert not openings(path), f"{name}, lines {openings(path)}: open files with regard.disk"
    assert all(openings(SOURCE / name) for name in ALLOWED), "one that opens no file any more needs no leave"


def test_no_folder_on_the_way_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints" / "step-1").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for folder in ("run/checkpoints/step-1", "other"):
        (tmp_path / folder / "file").write_text("here")
    (tmp_path / "run" / "checkpoints" / "step-2").symlink_to(tmp_path / "other")
    (tmp_path / "linked").symlink_to(tmp_path / "run")
    assert read_bytes(tmp_path / "linked" / "checkpoints" / "step-1" / "file", deep=2) == b"here"  # named by the user
    for deep in (1, 2):
        with pytest.raises(InputError, match="step-2: a link"):
            read_bytes(tmp_path / "run" / "checkpoints" / "step-2" / "file", deep=deep)


def test_what_is_written_on_is_plain(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="symbolic"), writing(tmp_path / "link", "a") as file:
        file.write("more")
    with pytest.raises(InputError, match="not a plain file"), writing(tmp_path / "pipe", "a"):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


def test_what_is_behind_a_link_of_the_users_own_is_plain_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path in (tmp_path / "link", Path("/dev/zero"), Path("/dev/null"), tmp_path):
        with pytest.raises(InputError, match="no plain file"), opened(path, links=True):
            pass


@pytest.mark.parametrize("links", [True, False])
def test_a_name_that_is_too_long_is_refused_in_a_line(links: bool, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused, opened(tmp_path / ("x" * 100_000), links=links):
        pass
    assert str(refused.value).endswith("cannot be read: File name too long")
    assert len(str(refused.value)) < 1100


def test_values_are_bounded() -> None:
    assert json_value("[" * 100 + "]" * 100) is not None
    assert json_value("[" * 101 + "]" * 101) is None
    assert json_value("1" + "0" * 5000) is None
    assert json_value("[" + "{}," * 999 + "{}]", 2000) is not None
    for text in ("[" + "{}," * 1000 + "{}]", "[" * 90 + "1," * 2000 + "1" + "]" * 90):
        assert json_value(text, 2000) is None
        assert json_value(text.encode(), 2000) is None
    assert parse_toml('about = "a.b"\n[a.b.c]\nd = [[1], {e = 1.5}]\n')["a"]["b"]["c"]["d"] == [[1], {"e": 1.5}]
    for text in ("a." * 100_000 + "b = 1", "[" + "a." * 100_000 + "b]", "a = {" + "b." * 50 + "c = 1}"):
        with pytest.raises(ValueError, match="dots"):
            parse_toml(text)
    for text in ("a = " + "[" * 3000, "a = " + "{b = " * 200, "a = 1" + "0" * 5000):
        with pytest.raises(ValueError, match=r"nested|digits"):
            parse_toml(text)


WEIGHT = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def packed(table: Any, numbers: bytes = bytes(8)) -> bytes:
    head = json.dumps(table).encode()
    return struct.pack("<Q", len(head)) + head + numbers


STRANGE: dict[str, bytes] = {
    "empty": b"",
    "cut": b"\x08\0\0",
    "huge head": struct.pack("<Q", 2**63) + b"{}",
    "long head": struct.pack("<Q", 100) + b"{}",
    "no table": packed([1]),
    "no entry": packed({"a": 5}),
    "odd type": packed({"a": WEIGHT | {"dtype": "F8_E4M3", "shape": [8]}}),
    "no type": packed({"a": WEIGHT | {"dtype": ["F32"]}}),
    "overflow": packed({"a": WEIGHT | {"shape": [2**62, 2**62]}}),
    "to zero": packed({"a": WEIGHT | {"shape": [2**32, 2**32, 0]}}),
    "negative": packed({"a": WEIGHT | {"shape": [-2, -1]}}),
    "truth": packed({"a": WEIGHT | {"shape": [True, 2]}}),
    "words": packed({"a": WEIGHT | {"shape": "2"}}),
    "beyond": packed({"a": WEIGHT | {"shape": [4], "data_offsets": [0, 16]}}),
    "overlap": packed({"a": WEIGHT, "b": WEIGHT}),
    "hole": packed({"a": WEIGHT | {"data_offsets": [8, 16]}}, bytes(16)),
    "more": packed({"a": WEIGHT}, bytes(9)),
    "many axes": packed({"a": WEIGHT | {"shape": [1] * 30 + [2]}}),
    "long name": packed({"a" * 5000: WEIGHT}),
    "many": packed({str(n): WEIGHT | {"shape": [0], "data_offsets": [0, 0]} for n in range(100_001)}, b""),
}


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE)
def test_strange_tensors_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    for read in (read_tensors, read_shapes):
        with pytest.raises(InputError, match=r"w\.safetensors: not a safetensors file: "):
            read(path)
    with pytest.raises(InputError, match="^w: not a safetensors file: "):
        parse_tensors(content, "w")


def test_every_type_that_is_written_is_read(tmp_path: Path) -> None:
    kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8)
    held = {str(kind): torch.arange(6).to(kind).view(3, 2) for kind in (*kinds, torch.int16, torch.uint8, torch.bool)}
    held |= {"none": torch.empty(0, 3), "one": torch.tensor(5.0)}
    content = save(held, {"made": "elsewhere"})
    (tmp_path / "w").write_bytes(content)
    for found in (read_tensors(tmp_path / "w"), parse_tensors(content, "w")):
        assert found.keys() == held.keys()
        assert all(torch.equal(found[name], one) and found[name].dtype == one.dtype for name, one in held.items())
    assert read_shapes(tmp_path / "w") == {name: list(one.shape) for name, one in held.items()}


def test_the_head_of_a_file_has_a_bound_of_its_own() -> None:
    assert head_size(struct.pack("<Q", 2**25), 2**40) == 2**25
    with pytest.raises(ValueError, match="longer than it can be"):
        head_size(struct.pack("<Q", 2**25 + 1), 2**40)
