"""The one door to the disk: files that are whole or not there, and that are read as data only."""

from regard.disk.files import checksum, names_inside, parse_json, place, read_bytes, read_json, read_text, read_toml
from regard.disk.write import remove, room, sync, write

__all__ = [
    "checksum",
    "names_inside",
    "parse_json",
    "place",
    "read_bytes",
    "read_json",
    "read_text",
    "read_toml",
    "remove",
    "room",
    "sync",
    "write",
]
