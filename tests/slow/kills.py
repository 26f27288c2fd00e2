"""Kill -9 a training run again and again, go on with it each time, and see whether anything was lost.

    python tests/slow/kills.py [--kills 50] [--writes 15] [--pairs 5]

Every stack is trained undisturbed once, then killed at random moments, some of them inside a checkpoint write
(a `.part` folder is left behind, or it is not counted as one). After each kill every checkpoint that is there must
be whole, and none that was newest before may be gone without a newer one. At the end the weights and the optimiser's
state must be those of the undisturbed run, to the bit. Then the same with two processes under torchrun.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w

sys.path.append(str(Path(__file__).parents[1] / "training"))
from toyruns import STACKS, fingerprint, recipe

from regard.errors import InputError
from regard.run import Run

TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
STEPS, EVERY = 400, 5


@dataclass
class Counts:
    """What was done, and what went wrong."""

    kills: dict[str, int] = field(default_factory=dict)
    writes: int = 0
    damaged: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    ends: int = 0

    def __str__(self) -> str:
        each = ", ".join(f"{name} {count}" for name, count in self.kills.items())
        return (
            f"killed {sum(self.kills.values())} times ({each}), {self.writes} of them inside a checkpoint write: "
            f"{len(self.damaged)} damaged, {len(self.lost)} lost, "
            f"{self.ends - len(self.different)} of {self.ends} runs ended with the same bits as undisturbed"
        )


class Victim:
    """One run, trained by a process that may be killed at any moment."""

    def __init__(self, folder: Path, stack: str, processes: int, seed: int) -> None:
        self.folder, self.stack, self.processes = folder, stack, processes
        self.random = random.Random(seed)
        self.file = folder / f"{stack}.toml"
        folder.mkdir(parents=True)
        table = recipe(stack, dropout=0.1, steps=STEPS, save_every=EVERY, validate_every=4 * EVERY, ema=0.9, keep=2)
        self.file.write_text(tomli_w.dumps(table))

    def start(self, name: str) -> subprocess.Popen[bytes]:
        out = self.folder / name
        resume = ["--resume"] if (out / "recipe.toml").is_file() else []
        command = [sys.executable, *(TWO if self.processes > 1 else []), "-m", "regard", "train", str(self.file)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "REGARD_CACHE": str(self.folder / "cache")}
        with (self.folder / f"{name}.txt").open("ab") as said:
            return subprocess.Popen(
                [*command, "--out", str(out), *resume],
                stdout=said,
                stderr=said,
                env=environment,
                start_new_session=True,
            )

    def finish(self, name: str) -> dict[str, object]:
        """Train undisturbed, to the end; what the end is."""
        process = self.start(name)
        if process.wait() != 0:
            raise AssertionError((self.folder / f"{name}.txt").read_text()[-2000:])
        return fingerprint(self.folder / name)

    def moment(self, name: str, process: subprocess.Popen[bytes], inside: bool, span: float) -> bool:
        """Wait for one: somewhere in the process's life, or inside a checkpoint write. False if it ended first."""
        if not inside:
            try:
                process.wait(self.random.uniform(0, span))
            except subprocess.TimeoutExpired:
                return True
            return False
        places = self.folder / name / "checkpoints"
        passed, seen = self.random.randint(0, 3), False
        while process.poll() is None:
            writing = places.is_dir() and any(entry.name.endswith(".part") for entry in os.scandir(places))
            if writing and not seen and not passed:
                time.sleep(self.random.choice([0, 0.0005, 0.001, 0.002]))
                return True
            passed -= seen and not writing
            seen = writing
        return False

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """It and all it has started: torchrun's workers are in sessions of their own."""
        for number in family(process.pid):
            os.kill(number, signal.SIGKILL)
        process.wait()
        time.sleep(0.5 if self.processes > 1 else 0.0)  # orphans are reaped by somebody else


def family(number: int) -> list[int]:
    """A process and its descendants."""
    children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    return [number, *(one for child in children for one in family(int(child)))]


def steps(folder: Path) -> list[int]:
    there = folder / "checkpoints"
    return sorted(int(path.name[5:]) for path in there.glob("step-*") if path.name[5:].isdigit())


def examine(folder: Path, newest: int, counts: Counts) -> int:
    """After a kill: every checkpoint is whole, the newest is not older than before. Returns the newest step."""
    found = steps(folder)
    if newest and (not found or found[-1] < newest):
        counts.lost.append(f"{folder}: step {newest} is gone, there are {found}")
    if (folder / "recipe.toml").is_file():
        for checkpoint in Run.open(folder).checkpoints():
            try:
                checkpoint.check(to_resume=True)
            except InputError as error:
                counts.damaged.append(str(error))
    elif found:
        counts.damaged.append(f"{folder}: checkpoints without a recipe")
    return found[-1] if found else 0


def torment(victim: Victim, kills: int, writes: int, counts: Counts) -> None:
    """Kill one run that often; where it ends before, another is begun."""
    began = time.monotonic()
    calm = victim.finish("calm")
    span = time.monotonic() - began
    left, inside, round_ = kills, writes, 0
    name, newest = "cut-0", 0
    label = victim.stack if victim.processes == 1 else f"{victim.stack} × {victim.processes}"
    while left > 0:
        process = victim.start(name)
        in_write = inside > 0
        alive = victim.moment(name, process, in_write, min(span, 8.0))
        victim.kill(process) if alive else None
        if alive:
            part = list((victim.folder / name / "checkpoints").glob("*.part"))
            counts.kills[label] = counts.kills.get(label, 0) + 1
            counts.writes += bool(part)
            left, inside = left - 1, inside - bool(part)
            newest = examine(victim.folder / name, newest, counts)
        else:
            compare(victim, name, calm, counts)
            round_, newest = round_ + 1, 0
            name = f"cut-{round_}"
    compare(victim, name, calm, counts)


def compare(victim: Victim, name: str, calm: dict[str, object], counts: Counts) -> None:
    counts.ends += 1
    end = victim.finish(name)
    if end != calm:
        counts.different.append(f"{victim.folder / name}: {end} instead of {calm}")


def main(kills: int, writes: int, pairs: int, place: Path) -> tuple[Counts, Counts]:
    """Spread the kills over the stacks; tell the counts after each."""
    stacks = [name for name in STACKS if name != "experts"]
    alone, together = Counts(), Counts()
    for index, stack in enumerate(stacks):
        share = kills // len(stacks) + (index < kills % len(stacks))
        inside = writes // len(stacks) + (index < writes % len(stacks))
        if share:
            torment(Victim(place / stack, stack, 1, seed=index), share, inside, alone)
            print(f"so far: {alone}", flush=True)
    if pairs:
        torment(Victim(place / "two", "gru-additive", 2, seed=99), pairs, pairs // 2, together)
        print(f"two processes: {together}", flush=True)
    return alone, together


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--writes", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=5)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = main(told.kills, told.writes, told.pairs, Path(folder))
    print(json.dumps([vars(counts) for counts in found], indent=2))
    sys.exit(any(counts.damaged or counts.lost or counts.different for counts in found))
