"""The one door to the disk: files that are whole or not there, and that are read as data only."""

from regard.disk.door import opened, writing
from regard.disk.files import checksum, names_inside, place, read_bytes, read_json, read_text, read_toml
from regard.disk.parsing import json_value, parse_json, parse_toml
from regard.disk.write import check_place, remove, room, sync, write

__all__ = [
    "check_place",
    "checksum",
    "json_value",
    "names_inside",
    "opened",
    "parse_json",
    "parse_toml",
    "place",
    "read_bytes",
    "read_json",
    "read_text",
    "read_toml",
    "remove",
    "room",
    "sync",
    "write",
    "writing",
]
