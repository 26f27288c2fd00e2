"""Images from the user's own files."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from annotated_doc import Doc

from regard.datasets.data import SPLITS, Report, Split
from regard.datasets.files.named import FileNames, TestFiles, TestShare, ValidFiles, ValidShare, list_of
from regard.datasets.images.album import Album
from regard.datasets.images.deal import HELD, NO_CLASS, Dealer
from regard.datasets.images.find import find
from regard.datasets.images.images import ANY, Images, some
from regard.datasets.images.picture import Picture, UnreadError, open_picture
from regard.datasets.images.sources import Entry
from regard.errors import InputError
from regard.listener import SILENT, Listener
from regard.recipe import Number

VERSION = 1  # of how images are dealt to splits


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
        self._dealer = Dealer(self._album, self.named, self.keys, self.shares, limit, seed)

    # --- what a split has -------------------------------------------------------------------------------------------

    @cached_property
    def _classes(self) -> list[str]:
        return sorted({entry.label for entry in self._dealer.kept("train")})

    @property
    def classes(self) -> list[str]:
        return self._classes

    def read(self, split: Split) -> Iterator[Picture]:
        return (picture for _, picture in self.numbered(split, Report()))

    def numbered(self, split: Split, report: Report) -> Iterator[tuple[int, Picture]]:
        album, fates = self._album(split), self._dealer.fates(split)
        report.files, report.rows_before, report.unit = self.files(split), list(album.before), "image"
        report.out_of = "train" if self._dealer.is_held_out(split) else ""
        wanted = [entry for entry, why in fates if not why]
        for entry, why in fates:
            if why == HELD:
                report.hold()
            elif why:
                self._leave(entry.number, why, report, album.called(entry))
        for entry, content in album.contents(wanted):
            try:
                if isinstance(content, UnreadError):
                    raise content
                pixels = open_picture(content, album.called(entry))
            except UnreadError as error:
                self._leave(entry.number, error.why, report, album.called(entry), str(error))
            else:
                report.keep()
                yield entry.number, Picture(pixels, entry.label, album.called(entry))
        report.notes += self._notes(split)
        if not report.kept and (split == "train" or self.named[split]):
            raise InputError(f"{', '.join(self.named[split])}: no image in it that can be read: {report}")

    def _leave(self, number: int, why: str, report: Report, called: str, said: str = "") -> None:
        if self.broken == "refuse" and not self._dealer.is_harmless(why):
            raise InputError(f"{said or f'{called}: {why}'}\ndata.broken=skip leaves such images out and counts them")
        report.drop(why, number, called)

    # --- the files themselves ---------------------------------------------------------------------------------------

    def has(self, split: Split) -> bool:
        return bool(self.named[split] or self.named["train"]) and super().has(split)

    def look(self, listener: Listener) -> None:
        for split in SPLITS:
            self._album(split, listener)

    def survey(self, listener: Listener) -> None:
        """All images once, so that what is wrong with any is said before anything is learnt."""
        self.look(listener)
        for split in SPLITS:
            if (split == "train" or self.named[split]) and not self._dealer.kept(split):
                raise InputError(self._nothing(split))
        if self.labelled and len(self.classes) < 2:
            raise InputError(
                f"{', '.join(self.named['train'])}: all images are of one class ({self.classes[0]!r})\n"
                "wanted are two classes or more, each in a folder of its own"
            )

    def _nothing(self, split: Split) -> str:
        named, fates = ", ".join(self.named[split]), self._dealer.fates(split)
        if not fates:
            wanted = "; wanted are folders of images, one for each class" if self.labelled else ""
            return f"{named}: no {split} images in it{wanted}"
        if all(why == NO_CLASS for _, why in fates):
            return f"{named}: no class folders in it; put the images of each class into a folder of its own"
        report, album = Report(files=self.files(split)), self._album(split)
        for entry, why in fates:
            report.drop(why, entry.number, album.called(entry))
        return f"{named}: no image is left: {report}"

    def count(self, split: Split) -> int:
        return len(self._dealer.kept(split)) if self._albums else 0

    def files(self, split: Split) -> list[str]:
        return [source.path.name for source in self._album(split).sources]

    def origins(self, split: Split) -> set[str]:
        album = self._album(split)
        return {album.source(entry).origin(entry) for entry in self._dealer.kept(split)}

    def trains_on(self, origins: set[str]) -> bool | None:
        # Which images are held out is known only once all have been read: not worth it for images from elsewhere.
        sources = [source for key, names in self.named.items() for source in find(names, *self.columns, self.keys[key])]
        roots = tuple(os.path.join(os.path.realpath(source.root), "") for source in sources)
        if not any(origin.startswith(roots) for origin in origins):
            return None
        return super().trains_on(origins)

    def identity(self) -> list[Any]:
        contents = [self._album(split).identity for split in SPLITS]
        named = [bool(self.named[split]) for split in SPLITS]
        return [contents, named, self.shares, self.seed, self.limit, self.broken, VERSION]

    def unchanged(self) -> bool:
        return all(album.unchanged() for album in self._albums.values())

    def _album(self, split: Split, listener: Listener = SILENT) -> Album:
        """The images of the names that a split has, or else of those of train."""
        key = split if self.named[split] else "train"
        names = tuple(self.named[key])
        if not names:
            raise InputError("data.train: no images to learn from; name a folder: data.train=FOLDER")
        if names not in self._albums:
            self._albums[names] = album = Album(find(names, *self.columns, self.keys[key]), listener)
            for entry in [] if self.labelled else album.entries:
                entry.label = ANY
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
            *_ambiguous(album, self._dealer.kept(split)),
            *album.notes(),
        ]


def _ambiguous(album: Album, entries: Sequence[Entry]) -> list[str]:
    """Images that stand in more than one class: no model can be right about all of them."""
    labels: dict[bytes, set[str]] = defaultdict(set)
    for entry in entries:
        labels[entry.digest].add(entry.label)
    several = [digest for digest, shows in labels.items() if len(shows) > 1]
    if not several:
        return []
    first = next(entry for entry in entries if entry.digest == several[0])
    if len(several) == 1:
        return [f"1 image is in more than one class ({album.called(first)})"]
    return [f"{len(several):,} images are in more than one class ({album.called(first)}, …)"]
