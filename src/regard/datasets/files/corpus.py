"""All files that were named together, read one after another."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.datasets.data import Report
from regard.datasets.files.sources import EMPTY, NOT_UTF8, TOO_LONG, JsonLines, Source
from regard.datasets.files.suspect import looks_like
from regard.datasets.lines import Meter
from regard.datasets.pairs import Pair
from regard.disk import checksum
from regard.errors import InputError

MOST_BAD = 0.1
FIT = (EMPTY, TOO_LONG, NOT_UTF8)  # reasons to drop a row that say nothing against the form of its file


class Corpus:
    """Pairs of several sources, numbered through."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources

    @property
    def files(self) -> list[Path]:
        """Every file of every source."""
        return [file for source in self.sources for file in source.files]

    @property
    def names(self) -> list[str]:
        """The sources as people know them."""
        return [source.name for source in self.sources]

    def pairs(self, report: Report, meter: Meter | None = None) -> Iterator[tuple[int, Pair]]:
        """All whole pairs; what is dropped goes into the report."""
        before, report.files, report.unit = 0, self.names, "line"
        for source in self.sources:
            report.rows_before.append(before)
            not_utf8, misfit, rows, line = 0, 0, 0, 0
            for rows, (line, found) in enumerate(source.rows(meter), 1):  # noqa: B007  (counted on behind the loop)
                if meter is not None:
                    meter.line()
                if isinstance(found, str):
                    not_utf8 += found == NOT_UTF8
                    misfit += found not in FIT
                    report.drop(found, before + line)
                    continue
                source_text, target_text = found[0].strip(), found[1].strip()
                if source_text and target_text:
                    yield before + line, (source_text, target_text)
                else:
                    report.drop(EMPTY, before + line)
            if not_utf8 + misfit > MOST_BAD * rows:
                raise _refusal(source, rows, not_utf8, misfit)
            before += line


def identity(corpora: Sequence[Corpus], keys: tuple[str, str]) -> tuple[list[Any], list[Any]]:
    """All that decides what is read: contents, and how they are read where that is not a matter of course."""
    sources = [source for corpus in corpora for source in corpus.sources]
    keyed = keys if any(isinstance(source, JsonLines) for source in sources) else ()  # there they choose the texts
    contents = [*(checksum(file, links=True) for source in sources for file in source.files), *keyed]
    several, layouts = [len(corpus.sources) for corpus in corpora], [source.layout() for source in sources]
    return contents, [several, layouts] if any(layouts) or max(several) > 1 else []


def _refusal(source: Source, rows: int, not_utf8: int, misfit: int) -> InputError:
    """So many rows are wrong that the file is not what it was taken for."""
    if not_utf8 >= misfit:
        file = source.culprit()
        return InputError(f"{file}: {not_utf8:,} of {rows:,} lines are not UTF-8; {looks_like(file)}")
    line = next(line for line, found in source.rows() if isinstance(found, str) and found not in FIT)
    return InputError(
        f"{source.files[0]}: {misfit:,} of {rows:,} lines are not {source.wanted}, line {line:,} among them"
    )
