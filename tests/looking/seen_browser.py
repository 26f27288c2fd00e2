"""A real browser for the page: the Chromium that is installed, and all it complains of."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
QUIET += ("--disable-component-update", "--disable-sync")
HOW = "no Chromium: the page is not tested in a browser; install one, such as by `apt-get install chromium`"


def program() -> str:
    """Where it is. Whoever says CI=true must have one; others see that these tests are left out, and how to mend it."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(HOW)
    if found is None:
        pytest.skip(HOW)
    return found


@contextmanager
def started() -> Iterator[Any]:
    """One browser, with a profile of its own that is empty."""
    path = program()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        browser.close()


class Tab:
    """One page that is open: what it asked for, and everything it complained of."""

    def __init__(self, browser: Any, **how: Any) -> None:
        self.context = browser.new_context(viewport=how.pop("viewport", {"width": 1280, "height": 900}), **how)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address: str, at: str = "") -> Any:
        """Another address; the view is drawn when this comes back."""
        self.page.goto("about:blank")
        self.page.goto(f"{address}#{at}")
        self.drawn()
        return self.page

    def drawn(self, view: str = "") -> None:
        self.page.wait_for_selector(f'#view[data-view="{view}"]' if view else "#view[data-drawn]")

    def does(self, selector: str) -> None:
        """Click, and wait until all is drawn anew."""
        before = self.page.get_attribute("#view", "data-drawn")
        self.page.locator(selector).first.click()
        self.page.wait_for_selector(f'#view:not([data-drawn="{before}"])')

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())


def at_home(tab: Tab, home: str) -> bool:
    """Whether nothing was asked of anybody but the page's own."""
    return all(address.startswith((home, "about:", "data:", "blob:")) for address in tab.asked)
