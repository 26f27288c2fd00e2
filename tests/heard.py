"""A listener that remembers."""

from regard.listener import Listener


class Heard(Listener):
    """What was said, and the works that were under way."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.works: list[tuple[str, int, int]] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def at(self, work: str, done: int = 0, total: int = 0) -> None:
        self.works.append((work, done, total))
