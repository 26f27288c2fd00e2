"""What is wrong with single lines: the first are named, the others counted; all are answered with a line."""

from collections import Counter

from regard.errors import InputError
from regard.listener import Listener

FIRST = 5
DAMAGED = "not UTF-8: what cannot be read is taken as \ufffd"
FOREIGN = "most of its characters are not in the vocabulary: expect little of the answer"
CUT_SHORT = "the translation was cut off at its length limit"


class Warned:
    """Lines of which something had to be said."""

    def __init__(
        self, listener: Listener, done: str = "translated", named: tuple[str, str] = ("text", "texts")
    ) -> None:
        self._listener, self._done, self._named = listener, done, named
        self._counts, self._refused = Counter[str](), 0

    def of(self, why: str, place: str) -> None:
        """One more of them."""
        self._counts[why] += 1
        if self._counts[why] <= FIRST:
            self._listener.say(f"{place}: {why}")

    @property
    def any(self) -> bool:
        """Whether there were such."""
        return bool(self._refused or self._counts)

    def refuse(self, said: str) -> None:
        """One that was refused, in words of its own that name it."""
        self._refused += 1
        if self._refused <= FIRST:
            self._listener.say(said)

    def sum_up(self) -> None:
        """How many there were beside those that were named; refused lines make it a failure in the end."""
        for why, count in self._counts.items():
            if count > FIRST:
                self._listener.say(f"{count - FIRST:,} more: {why}")
        if self._refused > FIRST:
            self._listener.say(f"{self._refused - FIRST:,} more that are not named here")
        number = self._refused + sum(
            count for why, count in self._counts.items() if why not in (DAMAGED, FOREIGN, CUT_SHORT)
        )
        if number:
            one, many = self._named
            raise InputError(f"{number:,} {f'{one} was' if number == 1 else f'{many} were'} not {self._done}")
