"""Whether the judge sees what is bad: every kind of harm, done on purpose.

python -m attack.seen
"""

import os
import pickle
import signal
import time
from collections.abc import Callable
from pathlib import Path

from attack.fuzz import Fuzzer
from attack.judge import SECRET, judged

TAKEN: list[bytearray] = []


def _raise() -> None:
    raise KeyError("nobody thought of it")


def _refuse() -> None:
    from regard.errors import InputError

    raise InputError("refused")


def harms(beside: Path) -> dict[str, tuple[str, Callable[[], object]]]:
    """What is done, and what it must be judged."""
    return {
        "nothing": ("worked", lambda: None),
        "refusing": ("refused", _refuse),
        "an error of Python's": ("trace", _raise),
        "sleeping": ("hang", lambda: time.sleep(60)),
        "dying": ("crash", lambda: os.kill(os.getpid(), signal.SIGSEGV)),
        "much memory": ("memory", lambda: TAKEN.append(bytearray(b"x") * (9 << 27))),
        "too much memory": ("memory", lambda: bytearray(1 << 40)),
        "reading beside": ("outside", (beside / "file.txt").read_text),
        "writing beside": ("outside", (beside / "new.txt").touch),
        "deleting beside": ("outside", (beside / "left.part").unlink),
        "telling a secret": ("outside", lambda: print(SECRET)),
        "reading a pickle": ("code", lambda: pickle.loads(pickle.dumps(Path("x")))),
        "starting a process": ("code", lambda: os.system("true")),
        "orders to a terminal": ("orders", lambda: print("\x1b[31m")),
    }


def unseen(fuzzer: Fuzzer) -> list[str]:
    """Harm that is judged otherwise than it should be."""
    wrong, before = [], fuzzer.honest("recurrent", "open").memory
    for name in harms(Path()):
        scene = fuzzer.scene("recurrent", "case")
        wanted, harm = harms(scene.beside)[name]
        found = judged(scene, lambda _, harm=harm: harm(), before, seconds=2.0 if wanted == "hang" else 20.0)
        scene.clear()
        wrong += [] if found.kind == wanted else [f"{name}: {found} instead of {wanted}"]
    return wrong
