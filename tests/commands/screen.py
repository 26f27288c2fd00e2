"""What a person sees: a small terminal that knows just what Regard writes to one."""

import re
from dataclasses import dataclass, field

from rich.cells import cell_len

ORDER = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
BAR = re.compile("[━─]+")


@dataclass
class Screen:
    """Rows of cells; a row that is full goes on in the next, as a terminal does it."""

    columns: int
    rows: list[str] = field(default_factory=lambda: [""])
    live: list[str] = field(default_factory=list)
    """Every state of a line that was written over."""
    colours: int = 0
    broken: int = 0
    """How many of the states took more than one row."""
    _at: int = 0
    _began: int = 0

    @classmethod
    def of(cls, written: bytes, columns: int) -> "Screen":
        screen, text = cls(columns), written.decode().replace("\r\n", "\n")
        place = 0
        while place < len(text):
            order = ORDER.match(text, place)
            if order:
                screen._order(order[1], order[2])
                place = order.end()
            else:
                screen._write(text[place])
                place += 1
        return screen

    def _order(self, numbers: str, letter: str) -> None:
        if letter == "K":
            assert numbers in ("", "0")
            self.rows[-1] = self.rows[-1][: self._at]
        elif letter == "m":
            self.colours += any(30 <= int(number) <= 107 for number in numbers.split(";") if number)
        else:
            raise AssertionError(f"an order that is not known here: {numbers}{letter}")

    def _write(self, letter: str) -> None:
        if letter == "\n":
            self.rows.append("")
            self._at, self._began = 0, len(self.rows) - 1
        elif letter == "\r":
            if self.rows[-1].strip() and self._at:
                self.live.append("".join(self.rows[self._began :]))
                self.broken += len(self.rows) - 1 > self._began
            self._at = 0
        else:
            assert letter.isprintable(), repr(letter)
            if self._at + cell_len(letter) > self.columns:
                self.rows.append("")
                self._at = 0
            row = self.rows[-1].ljust(self._at)
            self.rows[-1] = row[: self._at] + letter + row[self._at + 1 :]
            self._at += cell_len(letter)

    @property
    def text(self) -> str:
        """What is on the screen at the end."""
        return "\n".join(row.rstrip() for row in self.rows).rstrip("\n")

    def full_bars(self) -> list[str]:
        """States of the line whose bar stood at its end."""
        return [state for state in self.live for bar in BAR.findall(state) if "─" not in bar]
