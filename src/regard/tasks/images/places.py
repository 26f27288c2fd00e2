"""Where pictures go that are made of images: one by its own name, or many into a folder under names like theirs."""

from pathlib import Path

from regard.datasets.images.picture import endings as known
from regard.disk import place
from regard.errors import InputError
from regard.pictures import ENDINGS

LONGEST = 180  # bytes of a name


class Places:
    """A place for each of some pictures, no two the same."""

    def __init__(self, out: str | Path, endings: tuple[str, ...] = ENDINGS, overwrite: bool = False) -> None:
        """Files that are there already may be the very images: they are kept unless `overwrite` is said."""
        self.out, self.overwrite = place(out), overwrite
        ending = self.out.suffix.lower()
        self.single = ending in endings
        if ending in known() and not self.single and not self.out.is_dir():
            raise InputError(f"{out}: pictures are written as {', '.join(endings)}; name one, or a folder")
        self.given: list[Path] = []
        self._names = set[str]()

    def check(self, several: bool) -> None:
        """Refuse several images for one picture, and a picture that is there."""
        if self.single and several:
            raise InputError(f"{self.out}: one picture, and there are several images; name a folder")
        if self.single:
            self._check_free(self.out)

    def next(self, name: str) -> Path:
        """That of one more image, by its name."""
        self.check(several=bool(self.given))
        path = self.out if self.single else self.out / f"{self._free(name)}.png"
        self._check_free(path)
        self.given.append(path)
        return path

    @property
    def told(self) -> str:
        """What there is, in a few words."""
        return str(self.given[0]) if len(self.given) == 1 else f"{len(self.given):,} pictures in {self.out}"

    def _check_free(self, path: Path) -> None:
        if not self.overwrite and (path.exists() or path.is_symlink()):
            said = f"{path}: there already; name another place, or say that it may be overwritten: "
            raise InputError(said, call="overwrite=True", flag="--overwrite")

    def _free(self, name: str) -> str:
        stem = Path(name).stem.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore") or "image"
        made, number = stem, 1
        while made.casefold() in self._names:
            number += 1
            made = f"{stem}-{number}"
        self._names.add(made.casefold())
        return made
