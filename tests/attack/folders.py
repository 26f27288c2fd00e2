"""A hundred run folders that mean harm, one kind of it each.

    python -m attack.folders [--only WORDS] [--verb VERB]

Each is an honest small run, spoilt in one place; whatever is done with it must work or be refused in a line or two.
"""

import argparse
import io
import os
import pickle
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from attack.folder_images import SEERS
from attack.folder_texts import WRITERS
from attack.folder_values import VALUES
from attack.fuzz import BAD, Fuzzer
from attack.judge import Scene
from attack.spoil import STEP, Spoil, both, door, folder, header, holds, large, link, pipe, said
from attack.tensors import joined
from attack.victims import NAMES, verbs

FILES = ["recipe.toml", "run.json", "log.jsonl", "best", "last", "evaluation.json", "tokenizer.json"]
FILES += ["translation.json", "shortlist.safetensors", "lock", "curve.csv"]
FILES += [f"{STEP}/{name}" for name in ("weights.safetensors", "state.safetensors", "manifest.json")]
TENSORS = (f"{STEP}/weights.safetensors", f"{STEP}/state.safetensors")


class Touch:
    """What a pickle would do if anybody read it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.place,))


def pickled(name: str, zipped: bool) -> Spoil:
    """A pickle, bare or as torch packs it, that leaves a trace beside the run."""

    def spoil(scene: Scene) -> None:
        content = pickle.dumps({"head.weight": Touch(scene.beside / "touched")})
        if zipped:
            held = io.BytesIO()
            with zipfile.ZipFile(held, "w") as file:
                file.writestr("archive/data.pkl", content)
                file.writestr("archive/version", "3\n")
            content = held.getvalue()
        holds(name, content)(scene)

    return spoil


def links() -> dict[str, Spoil]:
    found = {f"{name} linked": link(name, f"run/{name}") for name in FILES}
    found |= {f"{name} linked, relative": link(name, f"run/{name}", True) for name in (FILES[0], FILES[6], *TENSORS)}
    found |= {f"{name} linked to nothing": link(name, "nothing") for name in ("best", "log.jsonl", "run.json", "lock")}
    found |= {f"{name} linked to itself": link(name, "../er/run/" + name) for name in ("best", "recipe.toml", *TENSORS)}
    found |= {f"{name} linked to zeros": link(name, "/dev/zero") for name in ("log.jsonl", "best", *TENSORS)}
    for name, to in {
        "checkpoints": "run/checkpoints",
        STEP: f"run/{STEP}",
        "checkpoints/step-9": "folder",
        "checkpoints/step-9.part": "folder",
        "checkpoints/step-3.part": "folder",
        "checkpoints/step-3": "folder",
        "log.jsonl.part": "file.txt",
        "best.part": "file.txt",
        "run.json.part": "left.part",
        "translations.csv": "file.txt",
        "bleu-by-length.png": "file.txt",
        "curve.png": "file.txt",
        "README.md": "file.txt",
    }.items():
        found[f"{name} linked to what is beside"] = link(name, to)
    found["checkpoints linked, relative"] = link("checkpoints", "run/checkpoints", True)
    found["checkpoints linked to itself"] = link("checkpoints", "../er/run/checkpoints")
    found["checkpoints linked above"] = link("checkpoints", "..")
    return found


def no_files() -> dict[str, Spoil]:
    found = {f"{name} a pipe": pipe(name) for name in FILES}
    found |= {f"{name} a socket": door(name) for name in ("best", "recipe.toml", "lock", TENSORS[0])}
    found |= {f"{name} a folder": folder(name) for name in FILES}
    found["checkpoints a file"] = holds_in_place("checkpoints")
    found["a step a file"] = holds_in_place(STEP)
    return found


def holds_in_place(name: str) -> Spoil:
    return both(folder(name), lambda scene: (scene.run / name).rmdir(), holds(name, "a file"))


def sizes() -> dict[str, Spoil]:
    found = {f"{name} of 20 GB": large(name, 20 * 2**30) for name in (*TENSORS, "log.jsonl", "best", "tokenizer.json")}
    found |= {f"{name} of 250 MB": large(name, 250 * 2**20) for name in ("log.jsonl", "run.json", "evaluation.json")}
    found["a line of the log of 100 MB"] = holds("log.jsonl", b'{"step": 1, "loss": ' + b"9" * 100_000_000 + b"}\n")
    found["a log of many lines"] = holds("log.jsonl", b'{"step": 1, "loss": 1.0}\n' * 200_000)
    found["20,000 checkpoints"] = many_steps
    return found


def many_steps(scene: Scene) -> None:
    for number in range(10, 20_010):
        (scene.run / "checkpoints" / f"step-{number}").mkdir()


def tensors() -> dict[str, Spoil]:
    first = "head.weight"

    def put(**more: Any) -> Spoil:
        return header(lambda table: table[first].update(more))

    def overlap(table: dict[str, Any]) -> None:
        for row in table.values():
            row["data_offsets"] = [0, row["data_offsets"][1] - row["data_offsets"][0]]

    found = {
        "tensors that overlap": header(overlap),
        "a header that is endless": header(lambda table: joined(table, b"", 2**63)),
        "a header of 90 MB": header(
            lambda table: joined(b'{"__metadata__": {"a": "' + b"x" * 90_000_000 + b'"}}', b"")
        ),
        "a header nested": header(lambda table: joined(b'{"a":' * 3000 + b"1" + b"}" * 3000, b"")),
        "a header of 300,000 tensors": header(more_tensors),
        "a shape that overflows": put(shape=[2**40, 2**40]),
        "a shape below nothing": put(shape=[-1, 8]),
        "offsets below nothing": put(data_offsets=[-8, 0]),
        "offsets backwards": put(data_offsets=[100, 0]),
        "a type that is none": put(dtype="F99"),
        "weights in F64": header(lambda table: table[first].update(dtype="F64", shape=[table[first]["shape"][0], 4])),
        "weights in I32": put(dtype="I32"),
        "weights in eight bits": header(
            lambda table: table[first].update(dtype="F8_E4M3", shape=[4, *table[first]["shape"]])
        ),
        "a state in I32": header(
            lambda table: [row.update(dtype="I32") for row in table.values()] and None, TENSORS[1]
        ),
        "a state of other shapes": header(
            lambda table: [row.update(shape=row["shape"][::-1]) for row in table.values()] and None, TENSORS[1]
        ),
        "no tensor at all": header(lambda table: joined({}, b"")),
    }
    for name in TENSORS:
        for zipped in (False, True):
            found[f"{name} a pickle{' in a zip' if zipped else ''}"] = pickled(name, zipped)
    for name in ("tokenizer.json", "shortlist.safetensors", "run.json"):
        found[f"{name} a pickle"] = pickled(name, False)
    return found


def more_tensors(table: dict[str, Any]) -> bytes:
    rows = {f"t{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(300_000)}
    return joined(rows, b"")


ESCAPE = "\x1b]0;x\x07\x1b[31m[/bold][red]\r\n{run}\u202e"


def names() -> dict[str, Spoil]:
    """What is shown: orders to a terminal, markup, and names that lead elsewhere."""
    out = ["../../beside/file.txt", "/etc/hostname", "..", ".", "", "checkpoints", "a/../../b", "x\x00y", "lock"]
    found = {f"files: {name!r}": said("run.json", "files", [name]) for name in out}
    found |= {f"files: also {name!r}": said("run.json", "files/0", name) for name in out[:2]}
    leads = ["../../..", "../../../beside/run/checkpoints/step-2", "step-2/../../../../beside", "/etc", "step-2/"]
    found |= {f"best: {name!r}": holds("best", name) for name in (*leads, "step-" + "9" * 5000, "\x00", ESCAPE)}
    for place in ("made", "commands/0", "versions/torch", "data", "ended", "splits/test/unit", "plugins", "from"):
        found[f"{place} with orders"] = said("run.json", place, ESCAPE)
    found["from a run with orders"] = said("run.json", "from", {"run": ESCAPE, "step": ESCAPE})
    found["a plugin that is not there"] = said("run.json", "plugins", {"model.encoder": f"../../beside/{ESCAPE}.py"})
    found["a plugin by its path"] = said("run.json", "plugins", {"own": {"file": "../../beside/own.py"}})
    found["scores with orders"] = said("evaluation.json", "evaluations/0/scores", {ESCAPE: 1.0})
    found["scores on orders"] = said("evaluation.json", "evaluations/0/on", ESCAPE)
    found["progress with orders"] = said(f"{STEP}/manifest.json", "progress/scores", {ESCAPE: 1.0})
    found["progress of a table"] = said(f"{STEP}/manifest.json", "progress/step", {ESCAPE: 1.0})
    found["a log with orders"] = holds("log.jsonl", '{"step": 1, "loss": 1.0, "valid": {"\\u001b[31m": 1}}\n' * 3)
    found["a lock with orders"] = holds("lock", '{"process": 1, "machine": "\\u001b[31m", "since": 1e300}')
    found["tensors with orders"] = header(lambda table: table.update({ESCAPE: table.pop("head.weight")}))
    return found


FOLDERS: dict[str, Spoil] = links() | no_files() | sizes() | tensors() | names() | VALUES | WRITERS | SEERS


def of(name: str) -> str:
    """Which run is spoilt."""
    return next((victim for victim in NAMES if name.startswith(victim)), "recurrent")


def tried(fuzzer: Fuzzer, only: str = "", verb: str = "", first: int = 0, some: int = 1) -> Counter[str]:
    """All folders whose name holds a word, for all verbs (or one; or every `some`-th pair of them)."""
    counts: Counter[str] = Counter()
    for name, one in pairs(fuzzer, only, verb)[first::some]:
        scene = fuzzer.scene(of(name), "case")
        FOLDERS[name](scene)
        found = fuzzer.judge(scene, of(name), one)
        counts[found.kind] += 1
        if not found.good:
            said = found.said if only else (found.said.strip().splitlines() or [""])[-1][:300]
            print(f"{found.kind}: {one}: {name} ({found.seconds:.1f} s, {found.memory >> 20} MiB): {said}", flush=True)
    print(f"{len(FOLDERS)} folders, {counts.total()} cases: {dict(counts)}", flush=True)
    return counts


def pairs(fuzzer: Fuzzer, only: str = "", verb: str = "") -> list[tuple[str, str]]:
    """Folders with what is done to them."""
    does = {victim: list(verbs(fuzzer.scene(victim, "names"), victim)) for victim in NAMES}
    return [(name, one) for name in FOLDERS if only in name for one in does[of(name)] if verb in ("", one)]


def main(only: str, verb: str, first: int, some: int) -> int:
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="folders-", dir=base) as place:
        counts = tried(Fuzzer.prepared(0, Path(place)), only, verb, first, some)
    return int(any(counts[kind] for kind in BAD))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--verb", default="")
    parser.add_argument("--some", type=int, default=1, help="every n-th case")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    asked = parser.parse_args()
    sys.exit(main(asked.only, asked.verb, asked.first, asked.some))
