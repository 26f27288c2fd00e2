"""Images from the user's own files."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from annotated_doc import Doc

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.files.named import FileNames, TestFiles, TestShare, ValidFiles, ValidShare, list_of
from regard.datasets.images.album import Album
from regard.datasets.images.deal import fewer, held_out
from regard.datasets.images.find import find
from regard.datasets.images.images import Images, some
from regard.datasets.images.picture import Picture, UnreadError, open_picture
from regard.datasets.images.sources import Entry, shown
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.recipe import Number

VERSION = 1  # of how images are dealt to splits
NO_CLASS, OTHER = "in no class folder", "in no folder of a split"
HELD, OVER = "held out", "over data.limit"

Fate = tuple[Entry, str]
"""An image, and why it is left out, if it is."""


class ImageFolder(Images):
    """Your own images: a folder for each class, such folders in a .zip or .tar, a .parquet or a .csv; one or many.

    Folders `train`, `val` and `test` around those of the classes are the splits; without, a share of every class is
    held out. Equal images never part: what validation or test has is not learnt.
    """

    more_held_out = "raise data.valid_share or name images in data.valid"
    more_tested = "data.test names images or data.test_share holds some of train out"

    def __init__(
        self,
        *,
        train: Annotated[
            FileNames,
            Doc("What to learn from: a folder, archive or table of images, or a pattern; several with commas."),
        ],
        valid: ValidFiles = "",
        test: TestFiles = "",
        image: Annotated[
            str, Doc('The column of a .csv that names the image, or of a .parquet that holds it; "" is the usual.')
        ] = "",
        label: Annotated[str, Doc('The column of a .csv or .parquet that says what it shows; "" is the usual.')] = "",
        broken: Annotated[
            Literal["skip", "refuse"],
            Doc("What becomes of images that are broken, empty or huge: left out and counted, or a reason to stop."),
        ] = "skip",
        limit: Annotated[
            Number, Doc("Learn from so many images at most, of every class in proportion; 0 is all of them.")
        ] = 0,
        valid_share: ValidShare = 0.1,
        test_share: TestShare = 0.0,
        seed: Annotated[Number, Doc("Which images are held out: another number holds out others.")] = 1,
    ) -> None:
        if valid_share + test_share >= 1:
            raise ValueError("valid_share and test_share leave nothing to train on")
        self.named: dict[Split, list[str]] = {"train": list_of(train), "valid": list_of(valid), "test": list_of(test)}
        self.columns, self.broken, self.limit, self.seed = (image, label), broken, limit, seed
        self.shares = valid_share, test_share
        self.keys = {split: f"data.{split}" for split in SPLITS}
        self._albums: dict[tuple[str, ...], Album] = {}
        self._owned: dict[Split, list[Entry]] = {}
        self._fates: dict[Split, list[Fate]] = {}

    # --- what a split has -------------------------------------------------------------------------------------------

    @cached_property
    def _classes(self) -> list[str]:
        return sorted({entry.label for entry in self._kept("train")})

    @property
    def classes(self) -> list[str]:
        return self._classes

    def read(self, split: Split) -> Iterator[Picture]:
        return (picture for _, picture in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Picture]]:
        album, fates = self._album(split), self._fate(split)
        report.files, report.rows_before, report.unit = self.files(split), album.before, "image"
        report.out_of = "train" if self._is_held_out(split) else ""
        wanted = [entry for entry, why in fates if not why]
        for entry, why in fates:
            if why == HELD:
                report.hold()
            elif why:
                self._leave(entry, why, report)
        for entry, content in album.contents(wanted):
            try:
                if isinstance(content, UnreadError):
                    raise content
                pixels = open_picture(content, shown(entry.name))
            except UnreadError as error:
                self._leave(entry, error.why, report, str(error))
            else:
                report.keep()
                yield entry.number, Picture(pixels, entry.label, shown(entry.name))
        report.notes += self._notes(split)
        if not report.kept and (split == "train" or self.named[split]):
            raise InputError(f"{', '.join(self.named[split])}: no image in it that can be read: {report}")

    def _leave(self, entry: Entry, why: str, report: Report, said: str = "") -> None:
        if self.broken == "refuse" and why not in (NO_CLASS, OTHER, OVER, *self._also):
            said = said or f"{shown(entry.name)}: {why}"
            raise InputError(f"{said}\ndata.broken=skip leaves such images out and counts them")
        report.drop(why, entry.number, shown(entry.name))

    @cached_property
    def _also(self) -> dict[str, Split]:
        """Why images are left out that other splits have."""
        return {f"also in {self.keys[split] if self.named[split] else split}": split for split in SPLITS[1:]}

    def _fate(self, split: Split) -> list[Fate]:
        if split not in self._fates:
            self._fates[split] = list(self._decided(split))
        return self._fates[split]

    def _kept(self, split: Split) -> list[Entry]:
        return [entry for entry, why in self._fate(split) if not why]

    def _decided(self, split: Split) -> Iterator[Fate]:
        """What becomes of every image that a split might have."""
        if self._is_held_out(split):
            held = self._held
            yield from ((entry, "") for entry in self._alone("train") if held.get(entry.digest) == split)
            return
        elsewhere = {why: self._digests(other) for why, other in self._also.items() if self._before(split, other)}
        alone = {entry.number for entry in self._alone(split)}
        held = self._held if split == "train" else {}
        left = [entry for entry in self._alone(split) if entry.digest not in held]
        chosen = fewer(left, self.limit, self.seed) if split == "train" and 0 < self.limit < len(left) else None
        for entry in self._own(split):
            why = entry.bad or (OTHER if entry.split == "other" else "" if self._is_placed(entry) else NO_CLASS)
            if not why and entry.number not in alone:
                why = next(why for why, digests in elsewhere.items() if entry.digest in digests)
            why = why or (HELD if entry.digest in held else "")
            yield entry, why or (OVER if chosen is not None and entry.number not in chosen else "")

    def _alone(self, split: Split) -> list[Entry]:
        """Those that can be read and that no split behind this one has."""
        elsewhere = set[bytes]().union(*(self._digests(other) for other in SPLITS[1:] if self._before(split, other)))
        good = (entry for entry in self._own(split) if self._is_good(entry))
        return [entry for entry in good if entry.digest not in elsewhere]

    def _before(self, split: Split, other: Split) -> bool:
        """Whether what `other` has must not be in `split`."""
        return SPLITS.index(split) < SPLITS.index(other) and not self._is_held_out(other)

    def _digests(self, split: Split) -> set[bytes]:
        return {entry.digest for entry in self._own(split) if self._is_good(entry)}

    def _is_good(self, entry: Entry) -> bool:
        return self._is_placed(entry) and not entry.bad and entry.split != "other"

    def _is_placed(self, entry: Entry) -> bool:
        return bool(entry.label) or not self.labelled

    @cached_property
    def _held(self) -> dict[bytes, Split]:
        """What is held out of the training images, by content."""
        valid, test = (
            share if self._is_held_out(split) else 0.0 for split, share in zip(SPLITS[1:], self.shares, strict=True)
        )
        return held_out(self._alone("train"), (valid, test), self.seed) if valid or test else {}

    def _is_held_out(self, split: Split) -> bool:
        """Whether a split has no images of its own, neither named nor in a folder of its name."""
        return split != "train" and not self.named[split] and not self._own(split)

    def _own(self, split: Split) -> list[Entry]:
        """All that is said to belong to a split; of what no folder says that, all is of the split that was named."""
        if split not in self._owned:
            here = (split, "", "other") if self.named[split] or split == "train" else (split,)
            self._owned[split] = [entry for entry in self._album(split).entries if entry.split in here]
        return self._owned[split]

    # --- the files themselves ---------------------------------------------------------------------------------------

    def look(self, listener: Listener) -> None:
        for split in SPLITS:
            self._album(split, listener)

    def survey(self, listener: Listener) -> None:
        """All images once, so that what is wrong with any is said before anything is learnt."""
        self.look(listener)
        for split in SPLITS:
            if (split == "train" or self.named[split]) and not self._kept(split):
                raise InputError(self._nothing(split))
        if self.labelled and len(self.classes) < 2:
            raise InputError(
                f"{', '.join(self.named['train'])}: all images are of one class ({self.classes[0]!r})\n"
                "wanted are two classes or more, each in a folder of its own"
            )

    def _nothing(self, split: Split) -> str:
        named, fates = ", ".join(self.named[split]), self._fate(split)
        why = Counter(why for _, why in fates)
        if not fates:
            wanted = "; wanted are folders of images, one for each class" if self.labelled else ""
            return f"{named}: no {split} images in it{wanted}"
        if why[NO_CLASS] == len(fates):
            return f"{named}: no class folders in it; put the images of each class into a folder of its own"
        first = next(entry for entry, each in fates if each == why.most_common(1)[0][0])
        return f"{named}: none of its {len(fates):,} images is left: {', '.join(why)} ({shown(first.name)}, …)"

    def count(self, split: Split) -> int:
        return len(self._kept(split)) if self._albums else 0

    def files(self, split: Split) -> list[str]:
        return [source.path.name for source in self._album(split).sources]

    def identity(self) -> list[Any]:
        contents = [self._album(split).identity for split in SPLITS]
        named = [bool(self.named[split]) for split in SPLITS]
        made = [contents, named, self.shares, self.seed, self.limit, self.broken, VERSION]
        return made if self.labelled else [*made, "unlabelled"]

    def unchanged(self) -> bool:
        return all(album.unchanged() for album in self._albums.values())

    def _album(self, split: Split, listener: Listener = SILENT) -> Album:
        """The images of the names that a split has, or else of those of train."""
        key = split if self.named[split] else "train"
        names = tuple(self.named[key])
        if not names:
            raise InputError("data.train: no images to learn from; name a folder: data.train=FOLDER")
        if names not in self._albums:
            self._albums[names] = Album(find(names, *self.columns, self.keys[key]), listener)
        return self._albums[names]

    def _notes(self, split: Split) -> list[str]:
        """What is worth a second thought about the training images."""
        if split != "train":
            return []
        album = self._album(split)
        if not self.labelled:
            return album.notes()
        empty = [label for each in ("", "train") for label in album.empty.get(each, [])]
        return [
            *([f"no images in the class {'folder' if len(empty) == 1 else 'folders'} {some(empty)}"] if empty else []),
            *_ambiguous(self._kept(split)),
            *album.notes(),
        ]


def _ambiguous(entries: Sequence[Entry]) -> list[str]:
    """Images that stand in more than one class: no model can be right about all of them."""
    labels: dict[bytes, set[str]] = defaultdict(set)
    for entry in entries:
        labels[entry.digest].add(entry.label)
    several = [digest for digest, shows in labels.items() if len(shows) > 1]
    if not several:
        return []
    first = next(entry for entry in entries if entry.digest == several[0])
    return [f"{len(several):,} images are in more than one class ({shown(first.name)}, …)"]
