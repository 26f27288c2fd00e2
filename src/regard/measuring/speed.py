"""How fast this machine multiplies: measured in a moment, and the best of it kept."""

import json
import os
import time
from contextlib import suppress

from regard.disk import read_json, write
from regard.disk.cache import cache

SIZE, BEST_OF, LONGEST = 768, 12, 0.15  # rows of the matrices; tries; seconds for all of them
SHARE = 0.6  # of that speed which a training step reaches, by the figures in docs/results


def training_speed() -> float:
    """Floating-point operations per second that training may expect here: roughly, to say `about`."""
    return SHARE * machine_speed()


def machine_speed() -> float:
    """Operations per second of the best product of matrices that was ever seen here: others may be at work now."""
    file, cores, best = cache("machine") / "speed.json", os.cpu_count() or 1, 0.0
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = read_json(file, links=True)
        best = float(kept["speed"]) if kept["cores"] == cores else 0.0
    speed = _measured()
    if speed <= best:
        return best
    with suppress(OSError):  # then it is not remembered
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, json.dumps({"cores": cores, "speed": speed}).encode())
    return speed


def _measured() -> float:
    import numpy as np

    one = np.random.default_rng(1).random((SIZE, SIZE), np.float32)
    best, began = float("inf"), time.perf_counter()
    for number in range(BEST_OF):
        start = time.perf_counter()
        one @ one
        best = min(best, time.perf_counter() - start)
        if number and time.perf_counter() - began > LONGEST:
            break
    return 2 * SIZE**3 / best
