"""Spoil runs at random, do with them what users do, and count what becomes of it.

    python -m attack.fuzz [--seed 1] [--minutes 20 | --cases 500] [--only N]        (make fuzz SEED=1 MINUTES=20)

Case N of a seed is the same whenever it is run: which run, which verb, what is changed. What is bad is shown with
its number; `--only N` does it again and shows all that was said. Ends with code 1 if anything was bad.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is there: a process with threads cannot be forked

from attack.judge import BAD, GOOD, SECONDS, Scene, Verdict, judged, ready
from attack.mutations import mutated
from attack.victims import verbs, victims

WEIGHTS = {
    "open": 4,
    "translate": 3,
    "generate": 3,
    "evaluate": 2,
    "resume": 8,
    "from": 2,
    "describe": 0.2,
    "plan": 0.5,
    "remove": 0.2,
}

PATIENCE = 200.0  # for an honest run, on a machine that has much else to do


@dataclass
class Fuzzer:
    """Cases of one seed, and what was found."""

    seed: int
    place: Path
    runs: dict[str, Path]
    before: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def prepared(cls, seed: int, place: Path, only: str = "") -> "Fuzzer":
        runs = victims(place / "runs", only)
        ready(next(iter(runs.values())))
        return cls(seed, place, runs)

    def case(self, number: int) -> tuple[str, Verdict]:
        """One case: what was done, and what became of it."""
        random = Random(f"{self.seed}:{number}")
        name = random.choice(list(self.runs))
        scene = self.scene(name, f"case-{number}")
        table = verbs(scene, name)
        verb = random.choices(list(table), [WEIGHTS.get(verb, 1.0) for verb in table])[0]
        self.counts[f"under {verb}"] += 1
        said = mutated(scene.run, random, kinds())
        return f"{verb} of {name}: {said}", self.judge(scene, name, verb)

    def judge(self, scene: Scene, name: str, verb: str) -> Verdict:
        """What a verb makes of a spoilt copy of a run."""
        try:
            honest = self.honest(name, verb)
            return judged(scene, verbs(scene, name)[verb], honest.memory, max(SECONDS, 10 * honest.seconds))
        finally:
            scene.clear()

    def scene(self, name: str, called: str) -> Scene:
        shutil.rmtree(self.place / called, ignore_errors=True)
        return Scene(self.place / called, self.runs[name])

    def honest(self, name: str, verb: str) -> Verdict:
        """What time and memory the honest run takes; it must work."""
        if (name, verb) not in self.before:
            scene = self.scene(name, "untouched")
            found = judged(scene, verbs(scene, name)[verb], seconds=PATIENCE)
            scene.clear()
            assert found.kind == "worked", f"{verb} of {name}, untouched: {found}"
            self.before[name, verb] = found
        return self.before[name, verb]

    def told(self, number: int, what: str, found: Verdict) -> None:
        self.counts[found.kind] += 1
        if not found.good:
            last = (found.said.strip().splitlines() or ["nothing said"])[-1]
            told = {"case": number, "seed": self.seed, "kind": found.kind, "what": what, "said": last[:300]}
            print(json.dumps(told), flush=True)

    def __str__(self) -> str:
        kinds = [f"{self.counts[kind]} {kind}" for kind in (*GOOD, *BAD) if self.counts[kind] or kind in GOOD]
        return f"seed {self.seed}: {self.cases} cases, {self.counts['under resume']} of them go on: {', '.join(kinds)}"

    @property
    def cases(self) -> int:
        return sum(self.counts[kind] for kind in (*GOOD, *BAD))


_kinds: list[str] = []


def kinds() -> list[str]:
    """All choices of the menu: a wrong one in the right place goes deeper than noise."""
    if not _kinds:
        from regard.training.menu import MENU

        _kinds.extend(sorted({kind for slot in MENU.parts.values() for kind in slot}))
    return _kinds


def main(seed: int, minutes: float, cases: int, only: int | None, first: int = 0, workers: int = 1) -> int:
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=base) as folder:
        fuzzer = Fuzzer.prepared(seed, Path(folder))
        if only is not None:
            what, found = fuzzer.case(only)
            print(f"{what}\n{found.said}\n{found.kind}, {found.seconds:.2f} s, {found.memory >> 20} MiB")
            return int(not found.good)
        began = time.monotonic()
        until = began + 60 * minutes if not cases else float("inf")
        last = first + cases if cases else sys.maxsize
        shares = [_forked(fuzzer, range(first + worker, last, workers), until, worker) for worker in range(workers)]
        for share in shares:
            with open(share) as told:
                fuzzer.counts.update(json.load(told))
        for _ in shares:
            os.wait()
        print(f"{fuzzer}; {fuzzer.cases / (time.monotonic() - began):.0f} a second")
        return int(any(fuzzer.counts[kind] for kind in BAD))


def _forked(fuzzer: Fuzzer, numbers: range, until: float, worker: int) -> int:
    """Some of the cases in a process of their own; where its counts can be read."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        return reading
    try:
        fuzzer.place /= f"worker-{worker}"
        for number in numbers:
            if time.monotonic() >= until:
                break
            fuzzer.told(number, *fuzzer.case(number))
            if fuzzer.cases % 500 == 0:
                print(f"worker {worker}: {fuzzer}", file=sys.stderr, flush=True)
        os.write(writing, json.dumps(fuzzer.counts).encode())
    except BaseException:
        traceback.print_exc()  # the one who waits finds no counts, and fails
    finally:
        os._exit(0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--cases", type=int, default=0, help="so many instead of minutes")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--only", type=int, default=None, help="this one alone, with all it says")
    parser.add_argument("--workers", type=int, default=1, help="so many cases at a time")
    asked = parser.parse_args()
    sys.exit(main(asked.seed, asked.minutes, asked.cases, asked.only, asked.first, asked.workers))
