"""Sentence pairs from the user's own files: parallel ones, TSV, CSV or JSONL, plain or packed, one or many."""

import os
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any

from annotated_doc import Doc

from regard.datasets.data import SPLITS, Report, Split, all_held_out, dice
from regard.datasets.files.corpus import Corpus, identity
from regard.datasets.files.find import find
from regard.datasets.files.leaks import Seen, normal
from regard.datasets.files.named import (
    Column,
    FileNames,
    TestFiles,
    TestShare,
    ValidFiles,
    ValidShare,
    as_column,
    list_of,
)
from regard.datasets.lines import Meter
from regard.datasets.pairs import Pair, Pairs
from regard.errors import InputError
from regard.listener import Listener
from regard.recipe import Number

KEPT = 200_000  # held-out pairs that are remembered rather than read again
VERSION = 2  # of how rows are dealt to splits
READING = "reading the data"


class Files(Pairs):
    """Your own sentence pairs: `train` names `train.de` and `train.en`, or a .tsv, .csv or .jsonl file, or many.

    Each may be packed as .gz or .xz. Without `valid` or `test`, a share of `train` is held out, chosen by the source
    itself, so that equal sources never part. What `valid` or `test` has is not learnt, nor is `test` in `valid`;
    sources that differ in case or white space alone are equal.
    """

    more_held_out = "raise data.valid_share or name a file in data.valid"
    more_tested = "data.test names a file or data.test_share holds some of train out"

    def __init__(
        self,
        *,
        train: Annotated[
            FileNames,
            Doc(
                "What to learn from: NAME for NAME.de and NAME.en, or a .tsv, .csv or .jsonl (or packed: .gz, .xz); "
                "several with commas, as a list, or by a pattern."
            ),
        ],
        valid: ValidFiles = "",
        test: TestFiles = "",
        source: Annotated[
            Column,
            Doc(
                "The language to translate from: the ending of its file, the name of its column or key, "
                "or the number of its column, counted from 1."
            ),
        ] = "source",
        target: Annotated[
            Column, Doc("The language to translate into; its side is found as that of `source`.")
        ] = "target",
        valid_share: ValidShare = 0.02,
        test_share: TestShare = 0.0,
        seed: Annotated[Number, Doc("Which pairs are held out: another number holds out others.")] = 1,
    ) -> None:
        self.asked = as_column(source), as_column(target)
        self.source, self.target, self.seed = str(self.asked[0]), str(self.asked[1]), seed
        if self.source == self.target:
            raise ValueError(f"source and target are both {self.source!r}; say which language is which")
        if valid_share + test_share >= 1:
            raise ValueError("valid_share and test_share leave nothing to train on")
        self.named: dict[Split, list[str]] = {"train": list_of(train), "valid": list_of(valid), "test": list_of(test)}
        if not self.named["train"]:
            raise ValueError("train: wanted the name of a file, or a list of names, given ''")
        self.shares = (0.0 if valid else valid_share, 0.0 if test else test_share)
        self.keys = {split: f"data.{split}" for split in SPLITS}
        self._corpora: dict[Split, Corpus] = {}
        self._counts: dict[Split, int] = {}
        self._remembered: dict[Split, list[tuple[int, Pair]]] = {}
        self._rows_before: list[int] = []

    # --- what a split has -------------------------------------------------------------------------------------------

    def read(self, split: Split) -> Iterator[Pair]:
        return (pair for _, pair in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Pair]]:
        if split == "train" or self.named[split]:
            yield from self._learnt(report) if split == "train" else self._given(split, report)
            self._refuse_empty(split, report.kept, report)
            return
        report.out_of, report.unit = "train", "line"
        for number, pair in self._remembered.get(split) or self._held(split):
            report.keep()
            yield number, pair
        report.files, report.rows_before = self.files(split), self._rows_before

    def _learnt(self, report: Report) -> Iterator[tuple[int, Pair]]:
        equal = 0
        for split, number, pair in self._dealt(report):
            if split == "train":
                report.keep()
                equal += pair[0] == pair[1]
                yield number, pair
            else:
                report.hold()
        report.notes += [source.note for source in self._corpus("train").sources if source.note]
        if 2 * equal > report.kept:
            report.notes.append(f"in {equal:,} pairs source and target are the same")

    def _given(self, split: Split, report: Report, meter: Meter | None = None) -> Iterator[tuple[int, Pair]]:
        examined = self._tested if split == "valid" else None
        for number, pair in self._corpus(split).pairs(report, meter):
            if examined is not None and (why := examined.why(normal(pair[0]), pair[1])):
                report.drop(why, number)
                continue
            report.keep()
            yield number, pair

    def _held(self, split: Split) -> Iterator[tuple[int, Pair]]:
        report = Report()
        if any(self.shares):
            yield from ((number, pair) for side, number, pair in self._dealt(report) if side == split)
        self._rows_before = report.rows_before

    def _dealt(self, report: Report, meter: Meter | None = None) -> Iterator[tuple[Split, int, Pair]]:
        """All pairs of the training files that no other file has, each with the split it falls to."""
        elsewhere = self._elsewhere
        alone = not elsewhere and not any(self.shares)
        for number, pair in self._corpus("train").pairs(report, meter):
            source = "" if alone else normal(pair[0])
            if why := next(filter(None, (seen.why(source, pair[1]) for seen in elsewhere)), ""):
                report.drop(why, number)
            else:
                yield self._side(source), number, pair

    @cached_property
    def _tested(self) -> Seen | None:
        """What the test file has, if there is one."""
        return self._seen("test") if self.named["test"] else None

    @cached_property
    def _elsewhere(self) -> list[Seen]:
        """What the files of test and validation have."""
        tested = [self._tested] if self._tested is not None else []
        return [*tested, self._seen("valid")] if self.named["valid"] else tested

    def _seen(self, split: Split) -> Seen:
        return Seen(self.keys[split], (pair for _, pair in self._corpus(split).pairs(Report())))

    def _side(self, source: str) -> Split:
        valid, test = self.shares
        if valid + test == 0:
            return "train"
        drawn = dice(self.seed, source)
        return "valid" if drawn < valid else "test" if drawn < valid + test else "train"

    # --- the files themselves ---------------------------------------------------------------------------------------

    def survey(self, listener: Listener) -> None:
        """All files once, so that what is wrong with any is said before a vocabulary is learnt from them."""
        self.fingerprint()  # before they are read, so that `unchanged` is about what was read
        corpora = {split: self._corpus(split) for split in SPLITS if self.named[split]}
        meter = Meter(listener, READING, [file for corpus in corpora.values() for file in corpus.files])
        counts = Counter[Split]()
        held: dict[Split, list[tuple[int, Pair]]] = {"valid": [], "test": []}
        reports = {split: Report() for split in corpora}
        for split in corpora:
            if split != "train":
                counts[split] = sum(1 for _ in self._given(split, reports[split], meter))
        first, same = "", True
        for split, number, pair in self._dealt(reports["train"], meter):
            first = first or normal(pair[0])
            same = same and normal(pair[0]) == first
            counts[split] += 1
            if split != "train":
                reports["train"].hold()
                held[split].append((number, pair))
        if same:  # equal sources never part, whatever the share
            self.more_held_out = "all training sources are the same; name a file in data.valid"
        for split, report in reports.items():
            self._refuse_empty(split, counts[split], report)
        self._counts, self._rows_before = dict(counts), reports["train"].rows_before
        if sum(map(len, held.values())) <= KEPT:
            self._remembered = held

    def count(self, split: Split) -> int:
        return self._counts.get(split, 0)

    def files(self, split: Split) -> list[str]:
        """Those of the training files, where a split is held out of them."""
        return self._corpus(split if self.named[split] else "train").names

    def origins(self, split: Split) -> set[str]:
        return set(map(os.path.realpath, self._corpus(split if self.named[split] else "train").files))

    def identity(self) -> list[Any]:
        corpora = [self._find(split) for split in SPLITS if self.named[split]]
        contents, forms = identity(corpora, (self.source, self.target))
        return [contents, [bool(names) for names in self.named.values()], self.shares, self.seed, *forms, VERSION]

    def _corpus(self, split: Split) -> Corpus:
        if split not in self._corpora:
            self._corpora[split] = self._find(split)
        return self._corpora[split]

    def _find(self, split: Split) -> Corpus:
        return Corpus(find(self.named[split], self.asked, self.keys[split]))

    def _refuse_empty(self, split: Split, kept: int, report: Report) -> None:
        if not kept:
            named = ", ".join(self.named[split])
            if split == "train" and report.held_out:
                raise InputError(f"{named}: {all_held_out(report)}")
            raise InputError(f"{named}: no sentence pair in it{f': {report}' if report.read else '; it is empty'}")
