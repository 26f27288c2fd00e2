"""Many trainings of one thread each, some side by side, whose results are kept: what is done is not done again."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from regard.errors import FailedError

CALIBRATION = 60  # steps to measure a speed with
Row = dict[str, Any]


class Results:
    """The lines of OUT/results.jsonl, each with what names it and what came of it."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.file = out / "results.jsonl"
        self._lock = threading.Lock()

    def rows(self) -> list[Row]:
        """All that is done."""
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.is_file() else []

    def work(self, wanted: Iterable[Row], do: Callable[[Row], Row], abreast: int) -> None:
        """Do each of what is wanted that is not done yet, in this order, so many at a time."""
        done, waiting, failed = self.rows(), SimpleQueue[Row](), list[Exception]()
        for row in wanted:
            if not any(row.items() <= other.items() for other in done):
                waiting.put(row)

        def worker() -> None:
            while not failed:
                try:
                    row = waiting.get_nowait()
                    made = do(row)
                    with self._lock, self.file.open("a") as file:
                        file.write(json.dumps(row | made) + "\n")
                except Empty:
                    return
                except Exception as error:  # the others end what they are at, and it is told then
                    failed.append(error)

        workers = [threading.Thread(target=worker) for _ in range(abreast)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        if failed:
            raise failed[0]

    def speeds(self, recipes: Mapping[str, list[str]]) -> dict[str, float]:
        """Steps per second of each, measured once and one after the other."""
        folder = self.file.parent
        self.work(
            [{"speed of": name} for name in recipes],
            lambda row: {"steps a second": speed(recipes[row["speed of"]], folder / f"speed-{row['speed of']}")},
            abreast=1,
        )
        return {row["speed of"]: row["steps a second"] for row in self.rows() if "speed of" in row}


def regard(*words: str) -> str:
    """What a command says; all it does is done on one thread."""
    command = [sys.executable, "-P", "-m", "regard", *words]
    alone = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"regard {' '.join(words)}: {done.stderr[-600:]}")
    return done.stdout


def log(folder: Path) -> list[Row]:
    """The lines of a run's log."""
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def train(words: list[str], folder: Path) -> None:
    """A run in a folder; one that was cut short is gone on with."""
    if (folder / "recipe.toml").is_file():
        regard("train", str(folder), "--resume", "--quiet")
    else:
        regard("train", *words, "--out", str(folder), "--quiet")


def speed(words: list[str], folder: Path) -> float:
    """Steps per second of a recipe, by a few that are made in a folder of their own."""
    shutil.rmtree(folder, ignore_errors=True)  # of a measurement that was cut short
    often = f"training.checkpoints.validate_every={CALIBRATION}"
    train([*words, f"training.steps={CALIBRATION}", often], folder)
    first, *_, last = (line for line in log(folder) if "loss" in line)
    return float((last["step"] - first["step"]) / (last["seconds"] - first["seconds"]))
