"""Lines of any file: plain or packed, whatever mark it begins with and however its lines end."""

import gzip
import io
import lzma
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.datasets.lines import LONGEST, OVERLONG, as_text, bare_lines, packed_or_plain, raw_lines
from regard.errors import InputError

PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", BOM])
@pytest.mark.parametrize("last", [b"", b"end"])
def test_lines_are_bare(packed: str, end: bytes, mark: bytes, last: bytes, tmp_path: Path) -> None:
    file = tmp_path / f"text{packed}"
    lines = ["Männer".encode(), b"", b"  two  ", "a\u2028b\x85c".encode()]
    file.write_bytes(PACK[packed](mark + b"".join(line + end for line in lines) + last))
    assert list(raw_lines(file)) == [*lines, *([last] if last else [])]


def test_only_the_first_line_has_a_mark() -> None:
    assert list(bare_lines(io.BytesIO(BOM + BOM + b"a\n" + BOM + b"b\n"))) == [BOM + b"a", BOM + b"b"]
    assert list(bare_lines(io.BytesIO(b""))) == []


def test_lines_come_as_they_are_written() -> None:
    """From a pipe, before it ends."""

    class Pipe(io.BytesIO):
        taken = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            self.taken += 1
            return super().readline(size)

    pipe = Pipe(b"a\nb\nc\n")
    lines = bare_lines(pipe)
    assert (next(lines), pipe.taken) == (b"a", 1)
    assert (next(lines), pipe.taken) == (b"b", 2)


@pytest.mark.parametrize("packed", PACK)
def test_an_overlong_line_is_passed_over_without_being_held(packed: str, tmp_path: Path) -> None:
    fits, long = b"x" * LONGEST, b"x" * (40 * LONGEST)
    file = tmp_path / f"text{packed}"
    file.write_bytes(PACK[packed](b"\n".join([b"a", long, fits, b"b", fits + b"y", long])))
    tracemalloc.start()
    read = [line if line is OVERLONG else line[:2] for line in raw_lines(file)]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read == [b"a", OVERLONG, b"xx", b"b", OVERLONG, OVERLONG]
    assert most < 20 * LONGEST  # xz keeps eight of its own
    assert as_text(OVERLONG) is None


@pytest.mark.parametrize("packed", [".gz", ".xz"])
@pytest.mark.parametrize("damage", ["cut", "changed", "plain", "empty head"])
def test_a_broken_package_is_said(packed: str, damage: str, tmp_path: Path) -> None:
    whole = PACK[packed]("".join(f"{n * n} {n**3}\n" for n in range(2_000)).encode())
    middle = bytes(byte ^ 0x5A for byte in whole[200:400])
    damaged = {
        "cut": whole[:-300],
        "changed": whole[:200] + middle + whole[400:],
        "plain": b"a\n",
        "empty head": whole[:4],
    }[damage]
    (tmp_path / f"text{packed}").write_bytes(damaged)
    with pytest.raises(InputError, match=rf"text{packed}: cannot be read: ."):
        list(raw_lines(tmp_path / f"text{packed}"))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file"):
        list(raw_lines(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="a folder, no plain file"):
        list(raw_lines(tmp_path))


def test_a_file_may_be_named_through_a_link_and_a_pipe_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\n")
    (tmp_path / "link").symlink_to(tmp_path / "text")
    os.mkfifo(tmp_path / "pipe")
    assert list(raw_lines(tmp_path / "link")) == [b"a"]
    with pytest.raises(InputError, match="pipe: a pipe, no plain file; write it to a file first"):
        list(raw_lines(tmp_path / "pipe"))


def test_what_is_no_text_is_none() -> None:
    assert as_text("한 😀".encode()) == "한 😀"
    assert as_text(b"") == ""
    assert as_text(b"a\xff") is as_text(b"a\0b") is as_text("한".encode()[:2]) is None


def test_a_file_is_found_plain_before_packed(tmp_path: Path) -> None:
    name = str(tmp_path / "train.de")
    assert packed_or_plain(name) is None
    for ending in (".xz", ".gz", ""):
        Path(name + ending).touch()
        assert packed_or_plain(name) == Path(name + ending)
