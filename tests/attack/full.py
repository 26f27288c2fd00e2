"""A disk that is full at every place where something is written, and what is lost by it: nothing.

    unshare --mount [--map-root-user] python -m attack.full [--only WORDS]

A small disk in memory is mounted for this process alone. As soon as a command opens one certain file to write to it,
the disk is filled to the last byte, so that the kernel itself refuses what comes next. The command must end with a
line or go on without what it could do without; every checkpoint stays whole; with room again, the same command (or
`--resume`) ends with the bits of a run that never met a full disk.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("REGARD_COMPILED", "0")  # a compiler in the background would hold the disk
sys.path.append(str(Path(__file__).parents[1] / "training"))

from toyruns import fingerprint, recipe

from attack.forked import Forked

SIZE = "24m"
TRAIN = ["train", "{home}/recipe.toml", "--out", "{disk}/run"]
LONGER = ["train", "{disk}/run", "--resume", "training.steps=12"]
EVALUATE = ["evaluate", "{disk}/run", "--json"]
PACK = ["pack", "{disk}/run", "--out", "{disk}/packed"]
SHOW = ["runs", "show", "{disk}/run", "--out"]


@dataclass(frozen=True)
class Place:
    """A command, and the file at whose nth opening the disk is full; `spared`: it goes on without it."""

    words: list[str]
    file: str
    nth: int = 1
    spared: bool = False


NEW = ("run.json.part", "tokenizer.json.part", "shortlist.safetensors.part", "recipe.toml.part")
STEP = ("step-3.part/weights.safetensors", "step-3.part/state.safetensors", "step-3.part/manifest.json.part")
PLACES = {f"new run: {file}": Place(TRAIN, file) for file in NEW}
PLACES |= {f"encoded data: {file}": Place(TRAIN, file) for file in ("ids", "lengths.npy", "numbers.npy", "facts.json")}
PLACES |= {f"first checkpoint: {file}": Place(TRAIN, file) for file in STEP}
LATER = tuple(file.replace("step-3", "step-6") for file in STEP)
PLACES |= {f"later checkpoint: {file}": Place(TRAIN, file) for file in LATER}
PLACES |= {
    "log": Place(TRAIN, "log.jsonl"),
    "lock": Place(TRAIN, "lock"),
    "last": Place(TRAIN, "last.part"),
    "last, later": Place(TRAIN, "last.part", 2),
    "best": Place(TRAIN, "best.part"),
    "best, later": Place(TRAIN, "best.part", 2),
    "how it ended": Place(TRAIN, "run.json.part", 2),
    "curve as a table": Place(TRAIN, "curve.csv.part", spared=True),
    "curve as a picture": Place(TRAIN, "curve.png.part", spared=True),
    "resume: log": Place(LONGER, "log.jsonl.part"),
    "resume: recipe": Place(LONGER, "recipe.toml.part"),
    "resume: facts": Place(LONGER, "run.json.part"),
    "resume: checkpoint": Place(LONGER, "step-12.part/state.safetensors"),
    "evaluation: scores": Place(EVALUATE, "evaluation.json.part", spared=True),
    "evaluation: answers": Place(EVALUATE, "translations.csv.part", spared=True),
    "evaluation: picture": Place(EVALUATE, "bleu-by-length.png.part", spared=True),
    "pack: facts": Place(PACK, "run.json.part"),
    "pack: weights": Place(PACK, "weights.safetensors"),
    "pack: card": Place(PACK, "README.md.part"),
    "shown curve: table": Place([*SHOW, "{disk}/shown.csv"], "shown.csv.part"),
    "shown curve: picture": Place([*SHOW, "{disk}/shown.png"], "shown.png.part"),
    "translate > file": Place(["translate", "{disk}/run", "a b"], ""),
}
SHORT = ("new run: recipe.toml.part", "later checkpoint: step-6.part/state.safetensors", "log", "best, later")
SHORT += ("pack: weights", "evaluation: answers", "resume: recipe")


def fill(disk: Path) -> None:
    """To the last byte."""
    handle = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for size in (1 << 20, 1 << 12, 1):
        try:
            while True:
                os.write(handle, bytes(size))
        except OSError:
            continue
    os.close(handle)


class Full:
    """Fills the disk when a file is opened to be written."""

    def __init__(self, disk: Path, place: Place) -> None:
        self.disk, self.place, self.left = disk, place, place.nth

    def __call__(self) -> None:
        if not self.place.file:
            return fill(self.disk)
        sys.addaudithook(self.heard)
        return None

    def heard(self, event: str, given: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(given[0], str | bytes | os.PathLike) or self.left <= 0:
            return
        name, flags = os.fsdecode(given[0]), given[2] or 0
        if name.endswith(self.place.file) and name.startswith(str(self.disk)) and flags & (os.O_WRONLY | os.O_RDWR):
            self.left -= 1
            if not self.left:
                fill(self.disk)


class Disk:
    """A small one, mounted below a folder, with runs that begin the same every time."""

    def __init__(self, home: Path) -> None:
        self.home, self.disk = home, home / "disk"
        self.disk.mkdir(parents=True)
        table = recipe("transformer", dropout=0.1, steps=9, save_every=3, validate_every=3, ema=0.9, keep=2)
        (home / "recipe.toml").write_text(tomli_w.dumps(table))

    def command(
        self, words: list[str], cache: str, first: Callable[[], object] = lambda: None, out: str = ""
    ) -> tuple[int, str]:
        filled = [word.format(home=self.home, disk=self.disk) for word in words]
        said, printed = self.home / "said.txt", Path(out or self.home / "printed.txt")
        with said.open("w") as err, printed.open("w") as to:
            code = Forked(filled, {"REGARD_CACHE": cache}, to.fileno(), err.fileno(), first).wait()
        warned = [line for line in printed.read_text().splitlines() if line.startswith(str(self.disk))]
        return code, "\n".join([*warned, said.read_text().strip()]).strip()

    def undisturbed(self) -> dict[str, Any]:
        """What both lengths end with when there is room."""
        cache, found = str(self.home / "cache"), dict[str, Any]()
        for words in (TRAIN, LONGER):
            code, said = self.command([word.replace("{disk}", str(self.home)) for word in words], cache)
            assert code == 0, said
            found[words[1]] = fingerprint(self.home / "run")
        return found

    def tried(self, place: Place, calm: dict[str, Any]) -> str:
        """What is wrong; nothing if nothing is lost."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(self.disk)], check=True)
        try:
            return self._tried(place, calm)
        finally:
            subprocess.run(["umount", str(self.disk)], check=True)

    def _tried(self, place: Place, calm: dict[str, Any]) -> str:
        run, cache = self.disk / "run", str(self.disk / "cache")
        if place.words is not TRAIN:
            self.command(TRAIN, cache)
        out = str(self.disk / "out.txt") if not place.file else ""
        code, said = self.command(place.words, cache, Full(self.disk, place), out)
        if not (self.disk / "filler").is_file():
            return f"never opened {place.file}"
        if "a bug in Regard" in said or "Traceback" in said or len(said.splitlines()) > 4:
            return f"said {said!r}"
        if (code == 0) != place.spared or not said:
            return f"ended with {code}, said {said!r}"
        (self.disk / "filler").unlink()
        return self._whole(run) or self._again(place, cache, calm)

    def _whole(self, run: Path) -> str:
        from regard.errors import RegardError
        from regard.run import Run

        try:
            for checkpoint in Run.open(run).checkpoints() if (run / "recipe.toml").is_file() else []:
                checkpoint.check(to_resume=True)
        except RegardError as error:
            return str(error)
        return ""

    def _again(self, place: Place, cache: str, calm: dict[str, Any]) -> str:
        words = place.words
        if words is TRAIN and (self.disk / "run" / "recipe.toml").is_file():
            words = [*TRAIN, "--resume"]
        code, said = self.command(words, cache)
        if code:
            return f"with room again: {said!r}"
        wanted = calm[LONGER[1] if place.words is LONGER else TRAIN[1]]
        found = fingerprint(self.disk / "run")
        return "" if found == wanted else f"ended with {found} instead of {wanted}"


def main(only: str, short: bool) -> int:
    bad = 0
    with tempfile.TemporaryDirectory(prefix="full-") as folder:
        disk = Disk(Path(folder))
        calm = disk.undisturbed()
        names = [name for name in (SHORT if short else PLACES) if only in name]
        for name in names:
            wrong = disk.tried(PLACES[name], calm)
            bad += bool(wrong)
            print(f"{name}: {wrong or 'nothing lost'}", flush=True)
    print(f"the disk was full at {len(names)} places: {bad} went wrong")
    return int(bool(bad))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--short", action="store_true", help="some places")
    asked = parser.parse_args()
    sys.exit(main(asked.only, asked.short))
