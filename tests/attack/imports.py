"""Models of other makers, spoilt at random: each works or is refused in a sentence, in bounded time and memory.

`python -m attack.imports FOLDER FILE.gguf --seed 1 --cases 500`, with any number of either; one is done again with
`--only N`. Where none is named small ones are made (with `tests/importing` on the path, too), with `--of language` or
`--of images` only those. What is still read after
it was spoilt is used: a model that answers, a tokenizer that encodes and decodes, an image that is made ready and
classified.
"""

import argparse
import resource
import shutil
import signal
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from attack.mutations import BYTES, NO_MEANING
from attack.tensors import changed_tensors
from attack.values import changed, changed_json

ROOM, SECONDS, LONGEST = 2**30, 20, 600
KINDS = ["llama", "gpt2", "mistral", "qwen2", "mixtral", "gelu_new", "silu", "BPE", "Unigram", "WordPiece", "ByteLevel"]
KINDS += ["vit", "deit", "resnet", "relu", "bottleneck", "squash", "bicubic", "avg", "resnet18", "vit_tiny_patch16_224"]
KEYS = ["image_size", "patch_size", "depths", "id2label", "crop_pct", "model_args", "reg_tokens", "class_token"]
KEYS += ["hidden_size", "num_hidden_layers", "num_attention_heads", "head_dim", "vocab_size", "rope_theta", "n_embd"]
SIGNED = ((4, "I"), (5, "i"), (10, "Q"), (11, "q"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path, nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--only", type=int)
    parser.add_argument("--of", choices=MADE, nargs="*", default=[*MADE])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        attack(asked.sources or [one for kind in asked.of for one in MADE[kind](Path(place))], asked)


def writers(place: Path) -> list[Path]:
    """A folder and a file of small language models."""
    from strangers import put, stranger
    from written import put_gguf

    small = stranger("llama tied", hidden_size=32, intermediate_size=32)
    return [put(place / "small", stranger("mixtral")), put_gguf(place / "small.gguf", small, "Q8_0")]


def seers(place: Path) -> list[Path]:
    """Folders of small classifiers."""
    from seers import TimmVit, put_seer, put_timm, timm_seer

    args = {"embed_dim": 20, "depth": 2, "num_heads": 4, "mlp_ratio": 1.7, "patch_size": [4, 6]}
    return [
        put_timm(place / "timm", timm_seer(TimmVit), "vit_tiny_patch16_224", args),
        put_seer(place / "deit", "deit"),
        put_seer(place / "resnet", "resnet"),
    ]


MADE = {"language": writers, "images": seers}


def attack(sources: list[Path], asked: argparse.Namespace) -> None:
    for source in sources:
        judge(source, again=False)  # what is honest works, and imports all that is slow
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    signal.signal(signal.SIGALRM, late)
    kinds: Counter[str] = Counter()
    for number in range(asked.cases) if asked.only is None else [asked.only]:
        random = Random(f"{asked.seed} {number}")
        with tempfile.TemporaryDirectory() as place:
            path, said = spoilt(sources[number % len(sources)], Path(place), random)
            print(f"{number}: {said}"[:200], file=sys.stderr, flush=True)
            signal.alarm(SECONDS)
            kinds[judge(path)] += 1
            signal.alarm(0)
    print(f"seed {asked.seed}: {kinds['worked']} worked, {kinds['refused']} refused")


def late(*_: object) -> None:
    raise SystemExit("a case took longer than it may")


def judge(path: Path, again: bool = True) -> str:
    """Whether it worked or was refused in a sentence; any other error goes on to whoever started this."""
    import torch

    from regard.errors import InputError
    from regard.importing import ImportedClassifier, read_model
    from regard.model.build import open_recipe
    from regard.model.weights import fitted, load

    try:
        found = read_model(path)
    except InputError as error:
        text = str(error)
        assert again, text
        assert len(text) <= LONGEST, text
        assert text.count("\n") <= 1, text
        return "refused"
    shapes = {name: list(tensor.shape) for name, tensor in found.weights.items()}
    model = load(fitted(open_recipe(found.recipe).model, shapes), found.weights).eval()
    if isinstance(found, ImportedClassifier):
        return classified(model, found)
    (row,) = found.tokenizer.encode(["Two men <|im_end|> 1234"], special=True)
    if row:
        found.tokenizer.decode([row])
        with torch.inference_mode():
            logits = model(torch.tensor([row[: min(8, found.context)]]))
        assert logits.shape[-1] == found.recipe["model"]["vocab_size"]
    return "worked"


def classified(model: Any, found: Any) -> str:
    """An image goes through all that the folder says of images, and what it says is what its run would open."""
    import numpy as np

    from regard.errors import NoNumbersError
    from regard.tasks.classification.classifier import Classifier
    from regard.tasks.classification.facts import FILE, Facts

    assert Facts.open({FILE: found.facts.file()}) == found.facts
    image = np.arange(40 * 30 * 3, dtype=np.int64).astype(np.uint8).reshape(40, 30, 3)
    try:
        (answer,) = Classifier(model, found.facts).classify([image])
    except NoNumbersError:
        return "worked"  # weights that are numbers can give none
    assert answer.label in found.facts.classes
    return "worked"


def spoilt(source: Path, place: Path, random: Random) -> tuple[Path, str]:
    """A copy with one change or a few, and what they are."""
    path = place / source.name
    if source.is_file():
        content, said = spoilt_file(source.read_bytes(), random)
        path.write_bytes(content)
        return path, said
    shutil.copytree(source, path)
    told = []
    for _ in range(random.choice([1, 1, 2])):
        file = random.choice(sorted(path.iterdir()))
        content, said = spoilt_content(file, random)
        file.write_bytes(content)
        told.append(f"{file.name}: {said}")
    return path, "; ".join(told)


def spoilt_content(file: Path, random: Random) -> tuple[bytes, str]:
    content = file.read_bytes()
    try:
        if random.random() < 0.8:
            if file.suffix == ".json":
                return changed_json(random, content, [*KINDS, *KEYS])
            if file.suffix == ".safetensors":
                return changed_tensors(random, content)
    except NO_MEANING:
        pass
    way = random.choice(BYTES)
    return way(random, content), way.__name__


def spoilt_file(content: bytes, random: Random) -> tuple[bytes, str]:
    """Bytes anywhere, numbers in the head, or a head that is honest about something else."""
    from regard.importing.gguf.head import read_head

    head = read_head(content)
    start = min(entry.begin for entry in head.tensors.values())
    way = random.randrange(4)
    if way == 0:
        change = random.choice(BYTES)
        return change(random, content), change.__name__
    if way == 1:
        at, size = random.randrange(start - 8), random.choice([1, 4, 8])
        number = random.choice([0, 1, 2**7, 2**31, 2**32 - 1, 2**63, 2**64 - 1, random.getrandbits(64)])
        return content[:at] + struct.pack("<Q", number)[:size] + content[at + size :], f"{number} at {at}"
    values = dict(head.values)
    tensors = {
        name: [one.kind.number, list(one.shape), content[one.begin : one.end]] for name, one in head.tensors.items()
    }
    if way == 2:
        short = {key: value for key, value in values.items() if not isinstance(value, list)}
        picked = random.choice([short, values])
        said = changed(random, picked, [*KINDS, *KEYS])
        if picked is short:
            values = short | {key: value for key, value in values.items() if isinstance(value, list)}
    else:
        said = changed(random, tensors, list(tensors)[:20])
    return file_of(values, tensors), said


def file_of(values: dict[str, Any], tensors: dict[str, Any]) -> bytes:
    """A file as a library would write it, whatever is in it."""
    numbers, infos = b"", []
    for name, held in tensors.items():
        kind, shape, content = held if isinstance(held, list) and len(held) == 3 else (0, [1], b"\0" * 4)
        kind = kind if isinstance(kind, int) and 0 <= kind < 2**32 else 0
        shape = [one % 2**64 for one in shape if type(one) is int] if isinstance(shape, list) else [1]
        content = content if isinstance(content, bytes) else b"\0" * 32
        info = text(str(name)) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", one) for one in shape[::-1])
        infos.append(info + struct.pack("<IQ", kind, len(numbers)))
        numbers += content + bytes(-len(content) % 32)
    said = [text(str(key)) + value_of(value) for key, value in values.items()]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(said)) + b"".join(said) + b"".join(infos)
    return head + bytes(-len(head) % 32) + numbers


def value_of(value: Any, inside: bool = False) -> bytes:
    """A value with its type before it; lists of what is not all of one type are lists of texts."""
    if isinstance(value, list) and not inside:
        first = value_of(value[0], True)[:4] if value else struct.pack("<I", 4)
        parts = [value_of(one, True) for one in value]
        if any(part[:4] != first for part in parts):
            first, parts = struct.pack("<I", 8), [value_of(str(one)) for one in value]
        return struct.pack("<I", 9) + first + struct.pack("<Q", len(value)) + b"".join(part[4:] for part in parts)
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        kind, form = next(((k, f) for k, f in SIGNED if fits(value, f)), (12, "d"))
        return struct.pack(f"<I{form}", kind, value if kind != 12 else float("inf"))
    if isinstance(value, float):
        return struct.pack("<If", 6, value if abs(value) < 3e38 else float("inf"))
    return struct.pack("<I", 8) + text(value if isinstance(value, str) else repr(value))


def fits(value: int, form: str) -> bool:
    try:
        struct.pack(f"<{form}", value)
    except struct.error:
        return False
    return True


def text(value: str) -> bytes:
    content = value.encode(errors="replace")
    return struct.pack("<Q", len(content)) + content


if __name__ == "__main__":
    main()
