"""Kill -9 a training run again and again, go on with it each time, and see whether anything was lost.

    python tests/slow/kills.py [--kills 150] [--pairs 50] [--writes 60] [--only images] [--results kills.jsonl]

Every stack is trained undisturbed once, then killed at random moments, some of them inside a write (something
called `.part` is left behind, or it is not counted as one) and some while it is made or gone on with. After each kill
every checkpoint that is there must be whole, and none that was newest before may be gone without a newer one. At the
end the weights and the optimiser's state must be those of the undisturbed run, to the bit. Then the same with two
processes under torchrun. With `--results` every kill is written down, and what is written down is not done again.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import tomli_w

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is there: a process with threads cannot be forked

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "training")]
import small_images
from attack.forked import Forked
from ledger import Ledger
from toyruns import STACKS, fingerprint, recipe

from regard.errors import InputError
from regard.run import Run

TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
STEPS, EVERY = 250, 5
HEADS = {"kind": "multihead", "heads": 2}
WRITERS = {
    "gpt": {"kind": "transformer", "layers": 1, "attention": HEADS, "dropout": 0.1},
    "lstm-carried": {"kind": "recurrent", "cell": "lstm", "dropout": 0.1},
}
CLASSIFIERS = {"images-vit": "vit", "images-resnet": "resnet"}
ALONE = (*STACKS, *WRITERS, *CLASSIFIERS)
TOGETHER = ("gru-additive", "transformer", "convolution", "gpt", "lstm-carried", *CLASSIFIERS)
TEXT = "".join(f"The {n % 7}th fox says {n * n}: yes, no, 한국 or ö?\n" + "\n" * (n % 5 == 0) for n in range(400))


class Victim:
    """One run, trained by a process that may be killed at any moment."""

    def __init__(self, folder: Path, stack: str, processes: int, seed: int) -> None:
        self.folder, self.stack, self.processes = folder, stack, processes
        self.random = random.Random(seed)
        self.file = folder / f"{stack}.toml"
        folder.mkdir(parents=True)
        said = {"steps": STEPS, "save_every": EVERY, "validate_every": 4 * EVERY, "ema": 0.9, "keep": 2}
        table = recipe(stack if stack in STACKS else "elman", dropout=0.1, **said)
        if stack in WRITERS:
            (folder / "text.txt").write_text(TEXT)
            table |= {
                "task": {"kind": "language", "context": 12, "batch_tokens": 60, "carry_state": "carried" in stack},
                "data": {"kind": "text", "train": str(folder / "text.txt"), "valid_share": 0.1, "test_share": 0.1},
                "tokenizer": {"kind": "characters"},
                "model": {"kind": "language_model", "width": 16, "decoder": WRITERS[stack]},
                "decoding": {"kind": "sample"},
            }
        if stack in CLASSIFIERS:  # all that chance does to images, averages, and norms that count batches
            images, varied = small_images.put(folder / "images"), small_images.EVERYTHING
            training = {"training": table["training"]}
            table = small_images.recipe(images, CLASSIFIERS[stack], augmentation=varied) | training
        self.file.write_text(tomli_w.dumps(table))

    def start(self, name: str) -> "subprocess.Popen[bytes] | Forked":
        """Train, or go on training; one process alone need not import torch anew."""
        out = self.folder / name
        self.began = time.time_ns()
        resume = ["--resume"] if (out / "recipe.toml").is_file() else []
        words = ["train", str(self.file), "--out", str(out), *resume]
        environment = {"OMP_NUM_THREADS": "1", "REGARD_CACHE": str(self.folder / "cache"), "REGARD_COMPILED": "0"}
        with (self.folder / f"{name}.txt").open("ab") as said:
            if self.processes == 1:
                return Forked(words, environment, said.fileno())
            command = [sys.executable, *TWO, "-m", "regard", *words]
            return subprocess.Popen(
                command, stdout=said, stderr=said, env=os.environ | environment, start_new_session=True
            )

    def finish(self, name: str) -> dict[str, object]:
        """Train undisturbed, to the end; what the end is."""
        process = self.start(name)
        if process.wait() != 0:
            raise AssertionError((self.folder / f"{name}.txt").read_text()[-2000:])
        return fingerprint(self.folder / name)

    def moment(self, name: str, process: "subprocess.Popen[bytes] | Forked", inside: bool, span: float) -> bool:
        """Wait for one: somewhere in the process's life, or inside a checkpoint write. False if it ended first."""
        if not inside:
            try:
                process.wait(self.random.uniform(0, span))
            except subprocess.TimeoutExpired:
                return True
            return False
        passed, seen = self.random.randint(0, 5), False
        of_step = self.random.random() < 0.6  # the rest: what a run is made of, pointers, the log
        while process.poll() is None:
            writing = any(part.startswith("step-") or not of_step for part in parts(self.folder / name, self.began))
            if writing and not seen and not passed:
                time.sleep(self.random.choice([0, 0, 0.0005, 0.001, 0.002]))
                return True
            passed -= seen and not writing
            seen = writing
            time.sleep(0.0001)
        return False

    def kill(self, process: "subprocess.Popen[bytes] | Forked") -> None:
        """It and all it has started: torchrun's workers are in sessions of their own."""
        for number in family(process.pid):
            os.kill(number, signal.SIGKILL)
        process.wait()
        time.sleep(0.5 if self.processes > 1 else 0.0)  # orphans are reaped by somebody else


def family(number: int) -> list[int]:
    """A process and its descendants."""
    children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    return [number, *(one for child in children for one in family(int(child)))]


def parts(folder: Path, since: int) -> list[str]:
    """What is half-written in a run and was not left by an earlier kill."""
    found = []
    for place in (folder, folder / "checkpoints"):
        with suppress(FileNotFoundError):  # it is written, renamed and removed meanwhile
            there = [entry for entry in os.scandir(place) if entry.name.endswith(".part")]
            found += [entry.name for entry in there if entry.stat(follow_symlinks=False).st_ctime_ns > since]
    return found


def steps(folder: Path) -> list[int]:
    there = folder / "checkpoints"
    return sorted(int(path.name[5:]) for path in there.glob("step-*") if path.name[5:].isdigit())


def examine(folder: Path, newest: int) -> tuple[list[str], list[str]]:
    """After a kill: what is damaged, and what is gone although it was the newest before."""
    found, damaged = steps(folder), list[str]()
    if (folder / "recipe.toml").is_file():
        for checkpoint in Run.open(folder).checkpoints():
            try:
                checkpoint.check(to_resume=True)
            except InputError as error:
                damaged.append(str(error))
    elif found:
        damaged.append(f"{folder}: checkpoints without a recipe")
    lost = [f"{folder}: step {newest} is gone, there are {found}"] if newest > max(found, default=0) else []
    return damaged, lost


def torment(victim: Victim, kills: int, writes: int, ledger: Ledger) -> None:
    """Kill one run until it was killed that often in all; where it ends before, another is begun."""
    label = victim.stack if victim.processes == 1 else f"{victim.stack} × {victim.processes}"
    if len(ledger.of("kill", label)) >= kills:
        return
    began = time.monotonic()
    calm = victim.finish("calm")
    span, round_, newest = time.monotonic() - began, 0, 0
    while len(ledger.of("kill", label)) < kills:
        name = f"cut-{round_}"
        folder = victim.folder / name
        process = victim.start(name)
        if victim.moment(name, process, ledger.writes(label) < writes, min(span, 12.0 * victim.processes)):
            victim.kill(process)
            inside, before = parts(folder, victim.began), newest
            damaged, lost = examine(folder, newest)
            newest = max(steps(folder), default=0)
            ledger.add("kill", label, inside=inside, early=newest == before, step=newest, damaged=damaged, lost=lost)
        else:
            compare(victim, name, calm, label, ledger)
            round_, newest = round_ + 1, 0
    compare(victim, f"cut-{round_}", calm, label, ledger)


def compare(victim: Victim, name: str, calm: dict[str, object], label: str, ledger: Ledger) -> None:
    end = victim.finish(name)
    ledger.add("end", label, same=end == calm, said="" if end == calm else f"{end} instead of {calm}")


def shares(total: int, among: int) -> list[int]:
    return [total // among + (index < total % among) for index in range(among)]


def main(kills: int, writes: int, pairs: int, place: Path, ledger: Ledger, only: str = "") -> None:
    """Spread the kills over the stacks, first alone and then for two processes; tell the counts after each."""
    both = kills + pairs
    inside = [writes * kills // both, writes - writes * kills // both]
    for processes, known, some, within in ((1, ALONE, kills, inside[0]), (2, TOGETHER, pairs, inside[1])):
        stacks = [stack for stack in known if only in stack]
        many = len(stacks)
        for index, (stack, share, held) in enumerate(
            zip(stacks, shares(some, many), shares(within, many), strict=True)
        ):
            if share:
                victim = Victim(place / f"{stack}-{processes}", stack, processes, len(ledger.entries) + index)
                torment(victim, share, held, ledger)
                print(f"so far: {ledger}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--writes", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--only", default="", help="stacks with this in their names: images, say")
    parser.add_argument("--results", type=Path, default=None)
    told = parser.parse_args()
    found = Ledger(told.results)
    with tempfile.TemporaryDirectory() as folder:
        main(told.kills, told.writes, told.pairs, Path(folder), found, told.only)
    print(found, *found.wrong(), sep="\n")
    sys.exit(bool(found.wrong()))
