"""Hostile and odd texts, seeded: every line must be answered with one line, or refused in one.

PYTHONPATH=tests python -m attack.texts RUN --count 1000      # prints how many were answered, and how fast
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

MIB = 1 << 20
PLAIN = ["Ein Hund läuft über die Wiese.", "Zwei Männer stehen dort!", "Warum?", "안녕하세요.", "你好。", "a b c"]
MARKUP = ["[bold red]x[/]", "[/x]", "</b>", "<eos> <pad>", "{{x}}", "%s %n", "\\x1b[2J", "$(reboot)", "[link=a]"]
JOINED = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇰🇷🇩", "👍🏽", "e" + "\u0301" * 50, "각" * 9, "\ufe0f", "क्षि"]
ZERO = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e"]
RIGHT = ["שלום עולם.", "مرحبا بالعالم؟", "\u202eabc\u202c", "\u2066x\u2069", "\u200f", "ab \u05d0 12"]
SPACES = [" ", "\t", "\u3000", "\xa0", "\u2003", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]


def _some(chance: Random, units: list[str], most: int = 40) -> bytes:
    return "".join(chance.choice(units) + chance.choice(["", " ", ""]) for _ in range(chance.randint(1, most))).encode()


def _bytes(chance: Random) -> bytes:
    return chance.randbytes(chance.randint(1, 300)).replace(b"\n", b"\r")


def _spoilt(chance: Random) -> bytes:
    text = bytearray(_some(chance, PLAIN))
    for _ in range(chance.randint(1, 9)):
        text[chance.randrange(len(text))] = chance.choice([0xFF, 0xC0, 0x80, 0xED, 0xF8, 0])
    return bytes(text)


def _unicode(chance: Random) -> bytes:
    points = (chance.randrange(0x110000) for _ in range(chance.randint(1, 200)))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000 and point != 10).encode()


def _long(chance: Random, size: int) -> bytes:
    unit = chance.choice(
        ["a", "한", "Ein Hund. ", ". ", "「あ。", "? ", "-", "\x00", "😀", " ", "Mr. ", "x\r"]
    ).encode()
    return unit * (size // len(unit))


KINDS: dict[str, Callable[[Random], bytes]] = {
    "plain": lambda chance: _some(chance, PLAIN),
    "bytes": _bytes,
    "spoilt UTF-8": _spoilt,
    "any Unicode": _unicode,
    "surrogates in UTF-8": lambda chance: b"\xed\xa0\x80" * chance.randint(1, 9),
    "UTF-16": lambda chance: "Ein Hund.".encode("utf-16") * chance.randint(1, 9),
    "control characters": lambda chance: bytes(chance.choice([*range(10), *range(11, 32), 127]) for _ in range(60)),
    "terminal orders": lambda chance: b"\x1b[31m" * chance.randint(1, 9) + b"\x1b]0;x\x07 \x9b2J",
    "NUL": lambda chance: b"\0" * chance.randint(1, 99) + _some(chance, PLAIN),
    "CR": lambda chance: _some(chance, PLAIN).replace(b" ", b"\r"),
    "line breaks that are none": lambda chance: _some(chance, [*SPACES, *PLAIN]),
    "white space": lambda chance: _some(chance, SPACES),
    "nothing": lambda chance: b"",
    "zero width": lambda chance: _some(chance, [*ZERO, *PLAIN[:1]]),
    "right to left": lambda chance: _some(chance, RIGHT),
    "markup": lambda chance: _some(chance, MARKUP),
    "emoji": lambda chance: _some(chance, JOINED),
    "marks": lambda chance: _some(chance, list(".!?…。！？;:,\"'„“()[]「」—-")),
    "many sentences": lambda chance: _some(chance, PLAIN, 120),
    "numbers": lambda chance: _some(chance, ["1. ", "3.5", "9" * 400, "0x1", "1e999", "-", "½", "Ⅻ"]),
    "bare marks of order": lambda chance: b"\xef\xbb\xbf" * chance.randint(1, 3) + _some(chance, PLAIN),
    "a long word or text": lambda chance: _long(chance, chance.choice([500, 5_000])),
}
HUGE: dict[str, Callable[[Random], bytes]] = {
    "100,000 spaces": lambda chance: b" " * 100_000 + b"a",
    "30 kB": lambda chance: _long(chance, 30_000),
    "10 MB": lambda chance: _long(chance, 10_000_000),
}


def lines(count: int, seed: int = 1, huge: bool = True) -> Iterator[tuple[str, bytes]]:
    """So many lines with their kinds, none with a line feed; some of them huge."""
    chance, kinds = Random(seed), list(KINDS)
    for number in range(count):
        if huge and number % 100 == 99:
            kind = [*HUGE][number // 100 % len(HUGE)]
            yield kind, HUGE[kind](chance)
        else:
            kind = kinds[number % len(kinds)]
            yield kind, KINDS[kind](chance)


def judged(given: list[tuple[str, bytes]], out: str, err: str, code: int) -> Counter[str]:
    """What became of every line; whatever is wrong raises."""
    rows = [json.loads(row) for row in out.split("\n")[:-1]]
    assert len(rows) == len(given), f"{len(given)} lines in, {len(rows)} out: {err[-500:]}"
    found = Counter[str]()
    for (kind, line), row in zip(given, rows, strict=True):
        (best,) = row["translations"]
        refused = len(line.rstrip(b"\r")) > MIB
        assert ("refused" in row) == refused, kind
        text = line.decode("utf-8", "replace")
        assert refused or best["text"] or not text.removeprefix("\ufeff").strip() or best["score"], kind
        found["refused" if refused else "answered" if best["text"] else "answered with an empty line"] += 1
        found["cut short at the length limit"] += row["cut_short"]
    assert "Traceback" not in err
    assert "bug in Regard" not in err
    assert code == (3 if found["refused"] else 0), err[-500:]
    return found


def asked(run: str, given: bytes, *words: str) -> tuple[str, str, int]:
    """The command in a process of its own, with a pipe."""
    command = [sys.executable, "-m", "regard", "translate", run, *words]
    done = subprocess.run(command, input=given, capture_output=True, env=os.environ, check=False)
    return done.stdout.decode(), done.stderr.decode(), done.returncode


def main() -> None:
    """All lines at once, then the time for a text that becomes longer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    given = list(lines(words.count, words.seed))
    start = time.perf_counter()
    said = asked(words.run, b"".join(line + b"\n" for _, line in given), "--json", "--beam", "1", "--quiet")
    for what, count in judged(given, *said).items():
        print(f"{count:6,} {what}", flush=True)
    print(f"{time.perf_counter() - start:6.1f} s for {sum(len(line) for _, line in given):,} bytes")
    for unit in ("a", "Ein Hund läuft. ", "「あ。", " "):
        times = []
        for size in (0, 10_000, 20_000, 40_000, 80_000):
            start = time.perf_counter()
            asked(words.run, (unit * (size // len(unit)) + "\n").encode(), "--beam", "1", "--quiet")
            times.append(time.perf_counter() - start)
        print(
            f"{unit!r}: " + ", ".join(f"{each - times[0]:.1f} s" for each in times[1:]) + " for 10k to 80k characters"
        )


if __name__ == "__main__":
    main()
