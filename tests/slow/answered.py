"""How soon a trainer with much data answers ^C and SIGTERM, whatever it is at.

    python tests/slow/answered.py [--times 30] [--pairs 300000] [--megabytes 60]

A translator and a language model begin again and again, each with a new cache, and are interrupted at moments spread
evenly over reading, learning a vocabulary, encoding, training and validating. Prints how long each took to end. Run it
on a machine that does nothing else.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from threading import Thread

WORDS = 30_000
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST = 5.0
TRAIN = ["tokenizer.vocab_size=8000", "training.steps=40", "training.checkpoints.validate_every=20"]
TRANSLATOR = ["transformer-tiny", "data.source=de", "data.target=en", *TRAIN]
WRITER = ["gpt-window", "task.kind=language", "data.kind=text", "tokenizer.kind=bpe", *TRAIN]


def texts(place: Path, pairs: int, megabytes: int) -> tuple[list[str], list[str]]:
    """Much made-up text, and the commands that learn from it."""
    chance = Random(1)
    words = ["".join(chance.choice("abcdefghijklmnopqrstuvwxyzäöü") for _ in range(chance.randint(2, 12)))]
    words += ["".join(chance.choice("etaoinshrdlu") for _ in range(chance.randint(2, 9))) for _ in range(WORDS)]
    for name in ("de", "en"):
        with (place / f"c.{name}").open("w") as file:
            file.writelines(f"{' '.join(chance.choices(words, k=chance.randint(5, 25)))}.\n" for _ in range(pairs))
    with (place / "text.txt").open("w") as file:
        while file.tell() < megabytes << 20:
            file.write(f"{' '.join(chance.choices(words, k=200))}.\n\n")
    return [*TRANSLATOR, f"data.train={place / 'c'}"], [*WRITER, f"data.train={place / 'text.txt'}"]


def begun(place: Path, words: list[str]) -> "tuple[subprocess.Popen[bytes], list[str]]":
    """A trainer in a fresh folder, and the lines it has said so far."""
    environment = os.environ | {"REGARD_CACHE": str(place / "cache")}
    command = [sys.executable, "-m", "regard", "train", *words, "--out", str(place / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    said: list[str] = []

    def heard() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.decode())  # as it comes

    Thread(target=heard, daemon=True).start()
    return process, said


def answered(words: list[str], moment: float, number: signal.Signals) -> tuple[str, float, int]:
    """The last line before a signal, how long it took to end after it, and its code."""
    with tempfile.TemporaryDirectory() as folder:
        process, said = begun(Path(folder), words)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            before = said[-1].strip() if said else "nothing said"
            process.send_signal(number)
            sent = time.monotonic()
            code = process.wait(120)
            return before, time.monotonic() - sent, code
        return "ended", 0.0, process.returncode


def span(words: list[str]) -> float:
    """How long it takes when nobody interrupts."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        process, said = begun(Path(folder), words)
        assert process.wait() == 0, "".join(said)
        return time.monotonic() - began


def main(times: int, pairs: int, megabytes: int) -> int:
    late = 0
    with tempfile.TemporaryDirectory() as folder:
        for words in texts(Path(folder), pairs, megabytes):
            whole = span(words)
            print(f"{words[0]}: {whole:.0f} s when nobody interrupts", flush=True)
            for turn in range(times):
                number = SIGNALS[turn % 2]
                before, seconds, code = answered(words, whole * (turn + 0.5) / times, number)
                late += seconds > LONGEST or code not in (0, 128 + number)
                print(f"{seconds:5.1f} s, {number.name}, code {code}: {before[:100]}", flush=True)
    print(f"{late} were late or ended with another code")
    return int(late > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=300_000)
    parser.add_argument("--megabytes", type=int, default=60)
    told = parser.parse_args()
    sys.exit(main(told.times, told.pairs, told.megabytes))
