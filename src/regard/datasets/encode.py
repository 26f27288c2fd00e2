"""Text as numbers: encoded once, kept on disk under a fingerprint, and mapped into memory."""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from regard.apart import apart
from regard.datasets.data import Data, Report, Split, short_hash
from regard.datasets.rows import Numbers, Rows
from regard.datasets.tokenizer import Tokenizer
from regard.disk.cache import bound, cache, used, workshop
from regard.errors import InputError
from regard.listener import SILENT, Listener

FORMAT = 2
TOGETHER = 8192

Numbered = TypeVar("Numbered")
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
        report = Report(int(kept.sum()), {name: list(held) for name, held in self.report.left_out.items()})
        for number in self.numbers[~kept].tolist():
            report.leave(why, number)
        return Encoded(tuple(side.chosen(kept) for side in self.sides), self.numbers[kept], report)


def encode(data: Data[Texts], split: Split, tokenizers: Sequence[Tokenizer], listener: Listener = SILENT) -> Encoded:
    """A split as numbers, a tokenizer for each side; every side comes from the cache if nothing has changed."""
    shared = (FORMAT, data.fingerprint(), split, len(tokenizers))
    names = [short_hash(*shared, side, tokenizer.table()) for side, tokenizer in enumerate(tokenizers)]
    home = cache("encoded")
    for folder in (home / name for name in names):
        used(folder)
    missing = [side for side, name in enumerate(names) if not _whole(home / name)]
    if missing:
        listener.at(f"encoding the {split} data")
        _write(home, data, split, {side: (names[side], tokenizers[side]) for side in missing}, listener)
        bound(home, keep=names)
    return _opened([home / name for name in names])


def _write(
    home: Path, data: Data[Texts], split: Split, sides: dict[int, tuple[str, Tokenizer]], listener: Listener
) -> None:
    """Whole or not at all: a folder gets its name only when everything is in it."""
    report, numbers = Report(), list[int]()
    lengths: dict[int, list[int]] = {side: [] for side in sides}
    kinds = {side: np.uint16 if len(tokenizer) < 2**16 else np.uint32 for side, (_, tokenizer) in sides.items()}
    try:
        with workshop(home) as parts, ExitStack() as open_files:
            for name, _ in sides.values():
                (parts / name).mkdir()
            files = {
                side: open_files.enter_context((parts / name / "ids").open("wb")) for side, (name, _) in sides.items()
            }
            for some in _batched(data.numbered(split, report)):
                numbers += [number for number, _ in some]
                for side, (_, tokenizer) in sides.items():
                    rows = apart(partial(tokenizer.encode, [texts[side] for _, texts in some]))
                    files[side].write(np.array([token for row in rows for token in row], kinds[side]).tobytes())
                    lengths[side] += map(len, rows)
                listener.at(f"encoding the {split} data", len(numbers))
            open_files.close()
            if not data.unchanged():  # else other rows would be kept under the name of these
                raise InputError("the data changed while they were read; begin again")
            for side, (name, _) in sides.items():
                np.save(parts / name / "lengths.npy", np.array(lengths[side], np.int64))
                np.save(parts / name / "numbers.npy", np.array(numbers, np.int64))
                facts = {"kind": np.dtype(kinds[side]).name, "report": asdict(report)}
                (parts / name / "facts.json").write_text(json.dumps(facts))
                _settle(parts / name, home / name)
    except OSError as error:
        raise InputError(f"{home}: {error.strerror or error}; REGARD_CACHE names another place") from error


def _settle(made: Path, folder: Path) -> None:
    """Give a folder its name, in place of what somebody may have half removed."""
    try:
        made.rename(folder)
    except OSError:
        if not _whole(folder):  # else another process was first
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)


def _batched(rows: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    rows = iter(rows)
    while batch := list(islice(rows, TOGETHER)):
        yield batch


def _whole(folder: Path) -> bool:
    return (folder / "facts.json").is_file()


def _opened(folders: list[Path]) -> Encoded:
    try:
        facts: dict[str, Any] = json.loads((folders[0] / "facts.json").read_text())
        numbers = np.load(folders[0] / "numbers.npy", allow_pickle=False)
        sides = tuple(map(_side, folders))
        if {len(numbers), *map(len, sides)} != {len(numbers)}:
            raise ValueError("the sides have not the same rows")
        return Encoded(sides, numbers, Report(**facts["report"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{folders[0].parent}: damaged ({error}); `regard data clean` empties it") from error


def _side(folder: Path) -> Rows:
    kind = np.dtype(json.loads((folder / "facts.json").read_text())["kind"])
    lengths = np.load(folder / "lengths.npy", allow_pickle=False)
    file = folder / "ids"
    ids = np.memmap(file, kind, "r") if file.stat().st_size else np.zeros(0, kind)
    if len(ids) != lengths.sum():
        raise ValueError(f"{file} is not whole")
    return Rows.one_after_another(ids, lengths)
