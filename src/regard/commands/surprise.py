"""Tokens coloured by their probability: the less likely one was, the hotter."""

from regard.commands.show import console

# −log₂ p below which a token has the colour: of 256, readable on light and dark, told apart without red and green.
STEPS = ((1.0, 244), (3.0, 39), (6.0, 178), (10.0, 208), (float("inf"), 199))
MARKS = "·░▒▓█"


class Inked:
    """Text with colours where they can be seen, else with a mark behind every token."""

    def __init__(self) -> None:
        self.colours = console.is_terminal and not console.no_color

    def __call__(self, text: str, log_prob: float) -> str:
        bits = -log_prob / 0.6931471805599453
        level = next(place for place, (most, _) in enumerate(STEPS) if bits < most or most == float("inf"))
        safe = "".join(
            letter if letter in "\n\t" or letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
        )
        if self.colours:
            return f"\x1b[38;5;{STEPS[level][1]}m{safe}\x1b[0m" if safe else ""
        return f"{safe}{MARKS[level]}" if safe else ""

    def legend(self) -> str:
        """What the colours mean."""
        least = 0.0
        parts = []
        for place, (most, _) in enumerate(STEPS):
            name = f"{least:g}–{most:g}" if most != float("inf") else f"over {least:g}"
            parts.append(self(name, -(least + 0.01) * 0.6931471805599453) if self.colours else f"{MARKS[place]} {name}")
            least = most
        return "−log₂ probability: " + "  ".join(parts) + "  (10: 1 in 1,024)"
