"""Texts from the user's own files."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any

from annotated_doc import Doc

from regard.datasets.data import SPLITS, Report, Split, all_held_out, dice
from regard.datasets.documents import Documents, Text, pieces
from regard.datasets.files.named import FileNames, TestFiles, TestShare, ValidFiles, ValidShare, list_of
from regard.datasets.lines import PACKED
from regard.datasets.texts.find import find
from regard.datasets.texts.sources import Document, Source, Unit, Whole, read_blocks
from regard.disk import checksum
from regard.errors import InputError
from regard.listener import Listener
from regard.recipe import Number

MANY = 20  # files: of so many some are held out whole, of fewer the end of each
VERSION = 1  # of how documents are dealt to splits
READING = "reading the data"


class TextFiles(Documents):
    """Your own texts: plain files, .jsonl (both also as .gz or .xz) or .parquet of documents, whole folders of them.

    Without `valid` or `test` a share of `train` is held out: of a few plain files their ends, else whole documents,
    chosen by the text itself, so that equal ones never part. What `valid` or `test` has is not learnt.
    """

    more_held_out = "raise data.valid_share or name a file in data.valid"
    more_tested = "data.test names a file or data.test_share holds some of train out"

    def __init__(
        self,
        *,
        train: Annotated[
            FileNames,
            Doc("What to learn from: files, folders or patterns; several with commas or as a list."),
        ],
        valid: ValidFiles = "",
        test: TestFiles = "",
        text: Annotated[
            str, Doc("The key of a .jsonl line, or the column of a .parquet file, that is the text.")
        ] = "text",
        documents: Annotated[
            Unit, Doc("What a document is in a plain file: all of it, a line, or a paragraph between empty lines.")
        ] = "file",
        valid_share: ValidShare = 0.05,
        test_share: TestShare = 0.0,
        seed: Annotated[Number, Doc("Which documents are held out: another number holds out others.")] = 1,
    ) -> None:
        if valid_share + test_share >= 1:
            raise ValueError("valid_share and test_share leave nothing to train on")
        self.named: dict[Split, list[str]] = {"train": list_of(train), "valid": list_of(valid), "test": list_of(test)}
        self.text, self.unit, self.seed = text, documents, seed
        self.shares = (0.0 if valid else valid_share, 0.0 if test else test_share)
        self.keys = {split: f"data.{split}" for split in SPLITS}
        self._found: dict[Split, list[Source]] = {}
        self._counts: dict[Split, int] = {}
        self._characters: dict[Split, int] = {}
        self._size = lru_cache(MANY)(_size)

    # --- what a split has -------------------------------------------------------------------------------------------

    def read(self, split: Split) -> Iterator[Text]:
        return (piece for _, piece in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Text]]:
        if split == "train" and not self.named["train"]:
            raise InputError("data.train: no texts to learn from; name files: data.train=FILE")
        for number, document, held in self._documents(split, report):
            empty = True
            for piece in pieces(_part(document.blocks(), *held)):
                if empty:
                    report.keep()
                    empty = False
                yield number, (piece,)
            if empty and split == "train" and self._ends and document.file is not None and self._size(document.file):
                report.hold()
            elif empty:
                report.drop("empty", number)
        if not report.kept and (split == "train" or self.named[split]):
            named = ", ".join(self.named[split])
            if split == "train" and report.held_out:
                raise InputError(f"{named}: {all_held_out(report)}")
            empty = report.dropped == report.count("empty")
            raise InputError(f"{named}: no text in it{'; it is empty' if empty else f': {report}'}")

    def _documents(self, split: Split, report: Report) -> Iterator[tuple[int, Document, tuple[int, int | None]]]:
        """Those of a split, with the part of each that is meant; what is left out goes into the report."""
        given = bool(self.named[split])
        if not given and split != "train" and not self.shares[split == "test"]:
            return
        if not self.named["train"] and not given:
            return
        sources, elsewhere = self._sources(split if given else "train"), self._elsewhere(split)
        report.files, report.unit = [str(source.file) for source in sources], sources[0].unit
        report.out_of = "" if given else "train"
        before = 0
        for source in sources:
            report.rows_before.append(before)
            last = 0
            for document in source.documents():
                last, number = document.number, before + document.number
                why = document.bad or self._seen(document, elsewhere)
                if why:
                    if given:
                        report.drop(why, number)
                    continue
                if self._ends or (given and split != "train"):
                    yield number, document, self._bounds(document, split) if self._ends else (0, None)
                elif self._side(document) == split:
                    yield number, document, (0, None)
                elif given:
                    report.hold()
            before += last

    @cached_property
    def _ends(self) -> bool:
        """Whether the ends of files are held out, and not whole documents."""
        sources = self._sources("train")
        return any(self.shares) and len(sources) < MANY and all(isinstance(source, Whole) for source in sources)

    def _bounds(self, document: Document, split: Split) -> tuple[int, int | None]:
        """From which character to which a file belongs to a split."""
        if self.named[split] and split != "train":
            return 0, None
        assert document.file is not None
        size, (valid, test) = self._size(document.file), self.shares
        learnt, validated = int(size * (1 - valid - test)), int(size * (1 - test))
        return {"train": (0, learnt), "valid": (learnt, validated), "test": (validated, None)}[split]

    def _side(self, document: Document) -> Split:
        valid, test = self.shares
        if valid + test == 0:
            return "train"
        digest = document.digest()
        return self._chosen.get(digest) or self._drawn(digest)

    def _drawn(self, digest: bytes) -> Split:
        valid, test = self.shares
        drawn = dice(self.seed, digest.hex())
        return "valid" if drawn < valid else "test" if drawn < valid + test else "train"

    @cached_property
    def _chosen(self) -> dict[bytes, Split]:
        """Documents that are held out because chance would hold out none: of a few there is one for each split."""
        wanted = {split for split, share in zip(SPLITS[1:], self.shares, strict=True) if share}
        free = dict[bytes, float]()
        for source in self._sources("train"):
            for document in source.documents():
                if not wanted:
                    return {}
                if not document.bad and any(map(str.strip, document.blocks())):
                    digest = document.digest()
                    wanted.discard(self._drawn(digest))
                    free[digest] = dice(self.seed, digest.hex())
        learnt = sorted((digest for digest in free if self._drawn(digest) == "train"), key=free.__getitem__)
        return dict(zip(learnt[:-1], sorted(wanted, reverse=True), strict=False))

    def _elsewhere(self, split: Split) -> dict[str, frozenset[bytes]]:
        """What this split must not have: the documents of the files of validation and test."""
        others: dict[Split, tuple[Split, ...]] = {"train": ("valid", "test"), "valid": ("test",), "test": ()}
        return {self.keys[other]: self._digests[other] for other in others[split] if other in self._digests}

    @cached_property
    def _digests(self) -> dict[Split, frozenset[bytes]]:
        named: list[Split] = [split for split in SPLITS[1:] if self.named[split]]
        return {split: frozenset(_digests(self._sources(split))) for split in named}

    def _seen(self, document: Document, elsewhere: dict[str, frozenset[bytes]]) -> str:
        if not elsewhere:
            return ""
        digest = document.digest()
        return next((f"also in {key}" for key, digests in elsewhere.items() if digest in digests), "")

    # --- the files themselves ---------------------------------------------------------------------------------------

    def survey(self, listener: Listener) -> None:
        """All files once, so that what is wrong with any is said before a vocabulary is learnt from them."""
        self.fingerprint()  # before they are read, so that `unchanged` is about what was read
        files = [source.file for split in SPLITS if self.named[split] for source in self._sources(split)]
        packed = any(file.suffix in (*PACKED, ".parquet") for file in files)
        total, done = 0 if packed else sum(file.stat().st_size for file in files), 0
        counts, characters = Counter[Split](), Counter[Split]()
        for split in SPLITS:
            for _, (piece,) in self.numbered(split, Report()):
                counts[split] += 1
                characters[split] += len(piece)
                done += len(piece)
                listener.at(READING, done, max(done, total) if total else 0)
        self._counts, self._characters = dict(counts), dict(characters)

    def count(self, split: Split) -> int:
        return self._counts.get(split, 0)

    def characters(self, split: Split) -> int:
        return self._characters.get(split, 0)

    def files(self, split: Split) -> list[str]:
        """Those of the training files, where a split is held out of them."""
        chosen: Split = split if self.named[split] else "train"
        return [str(source.file) for source in self._sources(chosen)] if self.named[chosen] else []

    def origins(self, split: Split) -> set[str]:
        return set(map(os.path.realpath, self.files(split)))

    def trains_on(self, origins: set[str]) -> bool | None:
        if not self.named["train"]:
            return None
        mine = (source for source in self._sources("train") if os.path.realpath(source.file) in origins)
        documents = (one for source in mine for one in source.documents() if not one.bad)
        if any(self._ends or self._side(one) == "train" for one in documents):
            return True
        # Files of this kind name the training files as those of a split that is held out of them.
        return False if origins <= self.origins("train") else self._held_out(origins)

    def identity(self) -> list[Any]:
        named = [split for split in SPLITS if self.named[split]]
        contents = [[checksum(source.file, links=True) for source in self._find(split)] for split in named]
        forms = [[type(source).__name__ for source in self._sources(split)] for split in named]
        chosen = [] if self._ends else sorted((digest.hex(), split) for digest, split in self._chosen.items())
        return [contents, forms, named, self.text, self.shares, self.seed, VERSION, *chosen]

    def _sources(self, split: Split) -> list[Source]:
        if split not in self._found:
            self._found[split] = self._find(split)
        return self._found[split]

    def _find(self, split: Split) -> list[Source]:
        return find(self.named[split], self.text, self.unit, self.keys[split])


def _part(blocks: Iterable[str], start: int, stop: int | None) -> Iterator[str]:
    """The characters from one place to another."""
    at = 0
    for block in blocks:
        low, high = max(0, start - at), len(block) if stop is None else min(len(block), stop - at)
        if low < high:
            yield block[low:high]
        at += len(block)
        if stop is not None and at >= stop:
            return


def _digests(sources: list[Source]) -> Iterator[bytes]:
    return (document.digest() for source in sources for document in source.documents() if not document.bad)


def _size(file: Path) -> int:
    return sum(map(len, read_blocks(file)))
