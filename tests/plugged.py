"""A menu as it comes with Regard, whatever a test puts on it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from regard.recipe import plugins
from regard.training.menu import MENU


@contextmanager
def bare_menu() -> Iterator[None]:
    """What is added meanwhile goes again; as in a new process, no plugin is loaded at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "_STATE", plugins._State())
        patch.delenv(plugins.VARIABLE, raising=False)
        patch.setattr(MENU, "_slots", dict(MENU._slots))
        patch.setattr(MENU, "_named", dict(MENU._named))
        take_off()
        try:
            yield
        finally:
            take_off()


def take_off() -> None:
    """All that was added, and the memory of it."""
    plugins._STATE.files.clear()
    plugins._STATE.installed = False
    for slot in MENU.written:
        for kind in list(slot.added):
            slot.drop(kind)
