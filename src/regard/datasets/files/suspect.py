"""What a file that cannot be read as text may be, and what would make it text."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from json import JSONDecoder
from pathlib import Path

from regard.datasets.lines import PACKED, bare_name, head
from regard.disk import json_value
from regard.errors import InputError

LOOK = 1 << 16
USUAL, MOST_STRANGE = {9, 10, 12, 13, 27}, 0.05
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip (a spreadsheet is one too)",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PAR1": "parquet",
}
OF_ENDING = {"gzip": ".gz", "xz": ".xz"}


def refuse_no_text(path: Path) -> None:
    """Refuse at once what can be known by its first bytes: packed, UTF-16, line ends that are none."""
    first = head(path, LOOK)
    for magic, kind in MAGIC.items():
        if first.startswith(magic):
            ending = OF_ENDING.get(kind, "")
            does = f"call it {path.name}{ending}" if ending else "unpack it or save it as .tsv"
            raise InputError(f"{path}: not text but packed as {kind}; {does}")
    encoding = _utf16(first)
    if encoding:
        raise InputError(f"{path}: not UTF-8; it looks like {encoding.upper()}: {convert(path, encoding)}")
    if b"\r" in first.rstrip(b"\r") and b"\n" not in first:
        raise InputError(f"{path}: its lines end in CR alone; write it anew: tr '\\r' '\\n' < {path.name} > NEW")
    strange = sum(byte < 32 and byte not in USUAL for byte in first)
    if strange > MOST_STRANGE * len(first) and strange > 16:
        raise InputError(f"{path}: not text: there are bytes in it that no text has")


def refuse_array(path: Path) -> None:
    """Refuse a JSON array, and of a .json file also tables that stand a line each: as plain text they mean nothing."""
    first = head(path, LOOK).decode("utf-8-sig", "replace").lstrip()
    named = bare_name(path)
    lines = first.split("\n", 2)
    if named.suffix.lower() == ".json" and len(lines) > 1 and isinstance(json_value(lines[0]), dict):
        packed = path.suffix if named != path else ""
        raise InputError(f"{path}: JSON tables, one a line; call it {named.stem}.jsonl{packed}")
    kind = _array_of(first)
    if kind is not None:
        raise is_array(path, "" if kind is dict else " | {text: .}")


def is_array(path: Path, more: str = "") -> InputError:
    """What is said of a JSON array; `more` makes tables of what is in it."""
    made = f"{path.stem}.jsonl"
    if made == path.name:  # which the shell would empty before it is read
        made = f"{path.stem}-lines.jsonl"
    return InputError(f"{path}: a JSON array; wanted is a table a line: `jq -c '.[]{more}' {path.name} > {made}`")


def _array_of(first: str) -> type | None:
    """Of what kind the first thing in a JSON array is; None for a text, which may begin with a bracket too."""
    if not first.startswith("["):
        return None
    inside = first[1:].lstrip()
    try:
        value, end = JSONDecoder().raw_decode(inside)
    except (ValueError, RecursionError):
        return dict if len(first) > LOOK // 2 and re.match(r'\{\s*"', inside) else None  # larger than what was read
    behind = inside[end:].lstrip()
    whole = behind.startswith(",") or (behind.startswith("]") and not behind[1:].strip())
    return type(value) if whole and isinstance(value, dict | str) else None


def looks_like(path: Path) -> str:
    """What to do about a file of which many lines are not UTF-8."""
    return f"it looks like latin-1: {convert(path, 'latin1')}"


def convert(path: Path, encoding: str) -> str:
    """The command that makes UTF-8 of a file."""
    unpack = {".gz": "zcat", ".xz": "xzcat"}.get(path.suffix)
    name = path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name
    if unpack:
        return f"convert it with `{unpack} {path.name} | iconv -f {encoding} -t utf-8 > utf8-{name}`"
    return f"convert it with `iconv -f {encoding} -t utf-8 {name} > utf8-{name}`"


def _utf16(first: bytes) -> str:
    """With its mark, or with every other byte a zero; and nothing in it that is no text."""
    even, odd = first[::2].count(0), first[1::2].count(0)
    most = 0.3 * len(first) / 2
    named = "utf-16le" if odd > most > even else "utf-16be" if even > most > odd else ""
    if first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        named = "utf-16"
    text = first.decode(named, "replace") if named else ""
    strange = sum(letter == "�" or (letter < " " and ord(letter) not in USUAL) for letter in text)
    return named if strange <= MOST_STRANGE * len(text) else ""
