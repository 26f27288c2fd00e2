"""What a live page shows and changes: looks, one for every run, and what they were before somebody branched off."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from threading import Lock
from typing import Any

from regard.datasets.images.picture import open_picture
from regard.errors import InputError
from regard.looking.look import Look, gather
from regard.looking.page.contents import about, heads_facts, overview_bytes, table_bytes, written_facts
from regard.looking.page.images import all_heads_bytes, image_bytes, looked_at_bytes
from regard.looking.page.reckoning import reckon

BRANCHES = 32  # looks that are kept to go back to
MOST_TOKENS = 100  # written behind a branch
MOST_HEADS = 2000  # switched off at once
LONGEST = 200  # letters of an image's name


class Live:
    """Everything that can be asked of the page. What lets a model read again is done one at a time."""

    def __init__(self, looks: Sequence[Look]) -> None:
        self._looks = [[look] for look in looks]
        self._lock = Lock()

    @property
    def looks(self) -> list[Look]:
        """Those that are shown now."""
        return [branches[-1] for branches in self._looks]

    def numbers(self, look: int, what: str, name: str, part: Mapping[str, str]) -> bytes:
        """Bytes by name: a table or a window of it, thumbnails of a kind, vectors of a head."""
        held = self._at(look)[-1]
        if what == "overview" and name in held.kinds:
            return overview_bytes(held, name)
        if what == "vectors":
            return reckon(held, name).content()
        if held.scene.image is not None and (what == "looks" or (what, name) == ("image", "pixels")):
            return _in_image(held, what, name, part)
        if what != "table":
            raise InputError(f"{what}/{name}: nothing here has this name")
        panel = held.panel(name)
        tall, wide = panel.shape(False)
        rows, columns = _window(part.get("rows"), tall), _window(part.get("columns"), wide)
        with (
            self._lock if name.startswith("influence") else nullcontext()
        ):  # what was watched is there, and needs no pass
            return table_bytes(panel, rows, columns)

    def facts(self, look: int, what: str) -> Any:
        """What JSON can hold: candidates of every step, numbers about heads."""
        with self._lock:
            held = self._at(look)[-1]
            if what == "written_steps":
                return written_facts(held)
            if what == "heads":
                return heads_facts(held)
        raise InputError(f"{what}: nothing here has this name")

    def act(self, look: int, what: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Write another token at a step, look at another image or for another class, go back, or switch heads off."""
        with self._lock:
            branches = self._at(look)
            if what == "without":
                return asdict(branches[-1].without(*_names(given)))
            if what in CHANGES:
                branches.append(CHANGES[what](branches[-1], given))
                del branches[1 : max(1, len(branches) - BRANCHES)]
            elif what == "undo":
                del branches[max(1, len(branches) - 1) :]
            else:
                raise InputError(f"{what}: nothing here has this name")
            return about(branches[-1])

    def _at(self, look: int) -> list[Look]:
        if not 0 <= look < len(self._looks):
            raise InputError(f"{look}: there are {len(self._looks)} runs here, counted from 0")
        return self._looks[look]


def _forced(look: Look, given: Mapping[str, Any]) -> Look:
    """The same up to a step, another token there, and what the model writes behind it."""
    scene = look.scene
    if scene.retold is None:
        raise InputError("a text in several pieces cannot be written otherwise; look at one of its sentences")
    (piece,) = scene.pieces
    words = int(scene.model.head.out_features)
    step = _whole(given, "step", piece.sizes["inputs"] - 1)
    token = _whole(given, "id", words - 1)
    tokens = _whole(given, "tokens", MOST_TOKENS)
    begun = piece.inputs[-1][0, : step + 1].tolist()
    before = begun[1:] if "source" in piece.sizes else begun  # a translation begins behind its first token
    return gather(scene.retold([*before, token], tokens), look.about)


def _pictured(look: Look, given: Mapping[str, Any]) -> Look:
    """Another image, of which somebody sent the file."""
    image, content = look.scene.image, given.get("content")
    if image is None or not isinstance(content, bytes):
        raise InputError("this run reads no images")
    name = str(given.get("name", ""))[:LONGEST] or "the image"
    return gather(image.other(open_picture(content, name), name, None), look.about)


def _classed(look: Look, given: Mapping[str, Any]) -> Look:
    """The same image as if another class had been said."""
    image = look.scene.image
    if image is None:
        raise InputError("this run says no class")
    chosen = _whole(given, "id", int(look.scene.model.head.out_features) - 1)
    return gather(image.other(None, look.scene.read, chosen), look.about)


CHANGES = {"force": _forced, "picture": _pictured, "class": _classed}


def _in_image(look: Look, what: str, name: str, part: Mapping[str, str]) -> bytes:
    if what == "image":
        return image_bytes(look)
    if name not in look.kinds:
        raise InputError(f"{what}/{name}: nothing here has this name")
    size = len(look.scene.lines["source"])
    if "columns" in part:
        return looked_at_bytes(look, name, _window(part["columns"], size))
    return all_heads_bytes(look, name, _window(part["rows"], size) if "rows" in part else None)


def _whole(given: Mapping[str, Any], name: str, most: int) -> int:
    value = given.get(name, 0)
    if type(value) is not int or not 0 <= value <= most:
        raise InputError(f"{name}: wanted a whole number from 0 to {most:,}")
    return value


def _names(given: Mapping[str, Any]) -> list[str]:
    names = given.get("heads")
    if (
        not isinstance(names, list)
        or not 0 < len(names) <= MOST_HEADS
        or not all(isinstance(one, str) for one in names)
    ):
        raise InputError("heads: wanted names such as cross.0.3")
    return names


def _window(said: str | None, size: int) -> tuple[int, int]:
    """START:STOP of a side, or all of it."""
    if said is None:
        return 0, size
    first, _, last = said.partition(":")
    if not (first.isdecimal() and last.isdecimal() and len(said) < 20):
        raise InputError("wanted START:STOP, such as 0:50")
    start, stop = int(first), min(int(last), size)
    if start >= stop:
        raise InputError(f"{said}: none of {size:,} tokens")
    return start, stop
