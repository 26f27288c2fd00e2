"""Images and what each shows: the contract of all image data."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping

from regard.datasets.data import Data, Report, Split
from regard.datasets.files.leaks import normal
from regard.datasets.images.picture import Picture
from regard.listener import Listener

EVEN = 1.5  # classes that differ by less than this factor are alike enough
SHOWN = 3
ANY = "image"  # the one class of images that are not told apart


class Images(Data[Picture], ABC):
    """Images in three splits that share none, each of one class."""

    labelled: bool = True
    """Whether it matters what each shows; a task that does not ask takes images of no class, too."""

    @property
    @abstractmethod
    def classes(self) -> list[str]:
        """What the training images show: every class once, sorted."""

    def look(self, listener: Listener) -> None:
        """Find out which images there are, if that takes time, telling how far it has come; nothing is refused yet."""

    def survey(self, listener: Listener) -> None:
        self.look(listener)


def note_classes(report: Report, counts: Mapping[str, int], split: Split) -> None:
    """Say how many images each class has, and how unlike in size classes are."""
    there = {label: count for label, count in counts.items() if count}
    if not there:
        return
    few, many = min(there, key=lambda label: there[label]), max(there, key=lambda label: there[label])
    least, most = there[few], there[many]
    if least == most:
        report.notes.append(f"{len(there):,} {'class' if len(there) == 1 else 'classes'} of {most:,}")
    elif most < EVEN * least:
        report.notes.append(f"{len(there):,} classes of {least:,} to {most:,}")
    else:
        times = most / least
        factor = f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
        ends = f"the largest ({many!r}, {most:,}) is {factor} times the smallest ({few!r}, {least:,})"
        report.notes.append(f"{len(there):,} classes; {ends}")
    missing = [label for label, count in counts.items() if not count]
    if missing:
        report.notes.append(f"none of {some(missing)}")
    if split == "train":
        report.notes += note_alike(list(there))


def note_alike(labels: list[str]) -> list[str]:
    """What is said of classes whose names differ in case, white space or coding alone; letters are meant so."""
    alike: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        if len(label) > 1:
            alike[normal(label)].append(label)
    pairs = [" and ".join(map(repr, names)) for names in alike.values() if len(names) > 1]
    if not pairs:
        return []
    more = ", …" if len(pairs) > SHOWN else ""
    return [f"{', '.join(pairs[:SHOWN])}{more} differ in case, spacing or coding alone and are learnt as classes apart"]


def some(names: list[str]) -> str:
    """The first few of many names."""
    return ", ".join(map(repr, names[:SHOWN])) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")
