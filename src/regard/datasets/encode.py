"""Text as numbers: encoded once, kept on disk under a fingerprint, and mapped into memory."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from regard.apart import apart
from regard.datasets.data import Data, Report, Split, short_hash
from regard.datasets.rows import Numbers, Rows
from regard.datasets.tokenizer import Tokenizer
from regard.disk import read_json
from regard.disk.cache import bound, cache, discard, used, workshop
from regard.disk.mapped import DAMAGE, FACTS, is_whole, mapped, settle, summed
from regard.errors import InputError
from regard.listener import SILENT, Listener

FORMAT, TRIES = 5, 2
TOGETHER, MUCH = 2048, 1 << 18  # rows, and characters: a token takes a hundred bytes while it is made
IDS, LENGTHS, NUMBERS = "ids", "lengths", "numbers"

Texts = TypeVar("Texts", bound=tuple[str, ...])


@dataclass(frozen=True)
class Encoded:
    """One split: the rows of every side, where each row stood, and what was left out."""

    sides: tuple[Rows, ...]
    numbers: Numbers
    report: Report

    def __len__(self) -> int:
        return len(self.numbers)

    def within(self, most: int, why: str) -> "Encoded":
        """Only the rows of which every side has at most `most` ids."""
        longest = np.max([side.lengths for side in self.sides], axis=0) if len(self) else np.zeros(0, np.int64)
        kept = longest <= most
        report = deepcopy(self.report)
        for number in self.numbers[~kept].tolist():
            report.drop_kept(why, number)
        return Encoded(tuple(side.chosen(kept) for side in self.sides), self.numbers[kept], report)


def encode(data: Data[Texts], split: Split, tokenizers: Sequence[Tokenizer], listener: Listener = SILENT) -> Encoded:
    """A split as numbers, a tokenizer for each side; every side comes from the cache if nothing has changed."""
    files = data.files(split)
    shared = (FORMAT, data.fingerprint(), split, len(tokenizers), files if len(files) > 1 else [])
    names = [short_hash(*shared, side, tokenizer.table()) for side, tokenizer in enumerate(tokenizers)]
    folders = [cache("encoded") / name for name in names]
    for folder in folders:
        used(folder)
    for _ in range(TRIES):  # what is damaged is made again, and so is what another process removed meanwhile
        missing = [side for side, folder in enumerate(folders) if not is_whole(folder)]
        if missing:
            _write(data, split, {side: (folders[side], tokenizers[side]) for side in missing}, listener)
            bound(cache("encoded"), keep=names)
        try:
            found = _opened(folders)
        except DAMAGE as error:
            trouble = str(error)
            listener.say(f"{folders[0].parent}: damaged ({trouble}); encoding again")
            for folder in folders:
                discard(folder)
        else:
            found.report.files = files  # the same content may have another name now
            return found
    raise InputError(f"{folders[0].parent}: damaged ({trouble}); REGARD_CACHE names another place")


def _write(data: Data[Texts], split: Split, sides: dict[int, tuple[Path, Tokenizer]], listener: Listener) -> None:
    """Whole or not at all: a folder gets its name only when everything is in it."""
    home = cache("encoded")
    try:
        with workshop(home) as parts:
            report, done = Report(), 0
            work, total = f"encoding the {split} data", data.count(split)
            listener.at(work, 0, total)
            with ExitStack() as files:
                made = {place: _Side(parts / folder.name, one, files) for place, (folder, one) in sides.items()}
                for some in _batched(data.numbered(split, report)):
                    numbers, done = [number for number, _ in some], done + len(some)
                    for place, side in made.items():
                        side.add(numbers, [texts[place] for _, texts in some])
                    listener.at(work, done, total)
            if not data.unchanged():  # else other rows would be kept under the name of these
                raise InputError("the data changed while they were read; begin again")
            for place, side in made.items():
                side.close(report)
                settle(side.folder, sides[place][0])
    except OSError as error:
        raise InputError(f"{home}: {error.strerror or error}; REGARD_CACHE names another place") from error


class _Side:
    """One side of the data, as it is written: nothing of it is held, however much there is."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, files: ExitStack) -> None:
        folder.mkdir()
        self.folder, self.tokenizer = folder, tokenizer
        self.kind = np.dtype(np.uint16 if len(tokenizer) < 2**16 else np.uint32)
        self.files = {name: files.enter_context((folder / name).open("wb")) for name in (IDS, LENGTHS, NUMBERS)}

    def add(self, numbers: list[int], texts: list[str]) -> None:
        rows = apart(partial(self.tokenizer.encode, texts))
        for row in rows:
            self.files[IDS].write(np.array(row, self.kind).tobytes())
        self.files[LENGTHS].write(np.array(list(map(len, rows)), np.int64).tobytes())
        self.files[NUMBERS].write(np.array(numbers, np.int64).tobytes())

    def close(self, report: Report) -> None:
        sums = {name: summed(self.folder / name) for name in self.files}
        facts = {"kind": self.kind.name, "report": asdict(report), "sums": sums}
        (self.folder / FACTS).write_text(json.dumps(facts))


def _batched(rows: Iterable[tuple[int, Texts]]) -> Iterator[list[tuple[int, Texts]]]:
    """Rows to be encoded together: many short ones, or a few that are long, for tokens take far more room than text."""
    batch, size = list[tuple[int, Texts]](), 0
    for row in rows:
        batch.append(row)
        size += sum(map(len, row[1]))
        if len(batch) == TOGETHER or size >= MUCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _opened(folders: list[Path]) -> Encoded:
    facts = [read_json(folder / FACTS) for folder in folders]
    for folder, each in zip(folders, facts, strict=True):
        for name in (IDS, LENGTHS, NUMBERS):
            if each["sums"][name] != summed(folder / name):
                raise ValueError(f"{folder.name}/{name} is not what was written")
    numbers = mapped(folders[0] / NUMBERS, np.dtype(np.int64))
    sides = tuple(_side(folder, np.dtype(each["kind"])) for folder, each in zip(folders, facts, strict=True))
    if {len(numbers), *map(len, sides)} != {len(numbers)}:
        raise ValueError("the sides have not the same rows")
    return Encoded(sides, numbers, Report.open(facts[0]["report"]))


def _side(folder: Path, kind: np.dtype[Any]) -> Rows:
    return Rows(mapped(folder / IDS, kind), mapped(folder / LENGTHS, np.dtype(np.int64)))
