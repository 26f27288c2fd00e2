"""A short text is trained on, then a long one within what the short one took and so much more.

`python within.py FOLDER MEBIBYTES KIND [on]` in a process of its own: what it may take is set once and for all. The
long text is made here, ten times larger than the memory that is left for it. `on` goes on from the short run, with its
vocabulary, else another is learnt.
"""

import resource
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

from regard.training.events import Ended, Step
from regard.training.train import training

TIMES, SHORT = 10, 3 << 19
LETTERS = "abcdefghijklmnopqrstuvwxyzäß한"


def main(folder: Path, more: float, kind: str, on: bool) -> None:
    threading.stack_size(1 << 18)  # room for every thread is counted, whatever of it is used
    room, lines = int(more * 2**20), text(kind)
    for name, size in (("valid", 1), ("first", SHORT // 2), ("short", SHORT), ("long", TIMES * room)):
        with (folder / f"{name}.txt").open("w", encoding="utf-8") as file:
            while file.tell() < size:
                file.write(lines)
    steps = learnt(folder, "first", recipe(kind))
    said = {"from": str(folder / "first")} if on else recipe(kind)
    steps += learnt(folder, "short", said)
    taken = data()
    resource.setrlimit(resource.RLIMIT_DATA, (taken + room, taken + room))
    steps += learnt(folder, "long", said)
    size = (folder / "long.txt").stat().st_size
    print(f"{steps} steps; {size} bytes of text; {data() - taken} of {room} bytes more memory")


def text(kind: str) -> str:
    """A few lines of Zipf's law. Whole words are encoded fastest when they are long."""
    chance, long = Random(1), kind == "words"
    lengths = [chance.randint(100, 200) if long else chance.randint(1, 9) for _ in range(60 if long else 3000)]
    words = ["".join(chance.choices(LETTERS, k=length)) for length in lengths]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return "".join(" ".join(chance.choices(words, weights, k=12)) + "\n" for _ in range(10 if long else 300))


def learnt(folder: Path, name: str, said: dict[str, Any]) -> int:
    """How many steps were taken."""
    files = {"train": str(folder / f"{name}.txt"), "valid": str(folder / "valid.txt")}
    events = list(training(said | {"data": files}, out=folder / name))
    assert isinstance(events[-1], Ended)
    return sum(isinstance(event, Step) for event in events)


def recipe(kind: str) -> dict[str, Any]:
    decoder = {"kind": "transformer", "layers": 1, "attention": {"heads": 2}}
    return {
        "task": {"kind": "language", "context": 16, "batch_tokens": 64},
        "tokenizer": {"kind": kind},
        "model": {"kind": "language_model", "width": 8, "decoder": decoder},
        "training": {"steps": 4, "checkpoints": {"validate_every": 2}},
    }


def data() -> int:
    """Bytes of this process that are no file's, as the limit counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3], "on" in sys.argv)
