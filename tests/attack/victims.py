"""Small honest runs that are spoilt, and what is done with a run: every verb that opens one."""

import os
import sys
from pathlib import Path
from typing import Any

import tomli_w

from attack.judge import Scene, Words

Table = dict[str, Any]
HEADS = {"kind": "multihead", "heads": 2}
LOOKING = {
    "kind": "transformer",
    "layers": 2,
    "attention": HEADS,
    "pattern": {"kind": "window", "width": 3},
    "positions": "rotary",
}
TRANSLATORS: dict[str, tuple[Table, Table, Table, Table]] = {
    "recurrent": (
        {"kind": "recurrent", "cell": "gru"},
        {"kind": "recurrent", "cell": "lstm", "attention": "additive"},
        {"kind": "words"},
        {"kind": "greedy"},
    ),
    "transformer": (
        {"kind": "transformer", "layers": 1, "attention": HEADS, "mlp": {"kind": "experts", "experts": 3}},
        LOOKING | {"cross": HEADS},
        {"kind": "bpe", "vocab_size": 263},
        {"kind": "beam", "beam_size": 2},
    ),
    "convolution": (
        {"kind": "convolution", "layers": 1},
        {"kind": "convolution", "layers": 1, "positions": "learned"},
        {"kind": "unigram", "vocab_size": 263},
        {"kind": "sample"},
    ),
}


WRITERS: dict[str, tuple[Table, Table, Table]] = {
    "gpt": (
        LOOKING | {"attention": HEADS | {"kv_heads": 1}, "norm": "rms", "mlp": "swiglu"},
        {"kind": "bpe", "vocab_size": 263},
        {"documents": "apart"},
    ),
    "reader": ({"kind": "recurrent", "cell": "lstm"}, {"kind": "characters"}, {"carry_state": True}),
}
PATCHES = {"kind": "patches", "width": 8, "patch": 4, "encoder": LOOKING | {"positions": "learned"}}
CLASSIFIERS: dict[str, Table] = {
    "vit": PATCHES,
    "resnet": {"kind": "resnet", "width": 4, "blocks": 1, "stages": 2},
}
RESTORER, IMPORTED = "unet", "imported"
IMAGES = (*CLASSIFIERS, RESTORER)
NAMES = (*TRANSLATORS, *WRITERS, *IMAGES, IMPORTED)
TEXT = "The fox says yes, no, or ö?\n\n" * 40


def recipe(name: str, place: Path) -> Table:
    """Two steps on toys or on a little text, saved after each."""
    training = {
        "steps": 2,
        "ema": 0.9,
        "schedule": {"kind": "constant"},
        "checkpoints": {"save_every": 1, "validate_every": 2, "keep": 2},
    }
    if name in IMAGES:
        return _seer(name, place, training)
    if name in TRANSLATORS:
        reading, writing, tokenizer, decoding = TRANSLATORS[name]
        task: Table = {"kind": "translation", "batch_tokens": 48}
        data: Table = {"kind": "toy", "letters": 5, "max_length": 3, "train": 30, "valid": 2, "test": 3}
        model = {"kind": "seq2seq", "width": 8, "encoder": reading, "decoder": writing}
    else:
        writing, tokenizer, more = WRITERS[name]
        task = {"kind": "language", "context": 12, "batch_tokens": 48} | more
        data = {"kind": "text", "train": str(place / "text.txt"), "valid_share": 0.2, "test_share": 0.2}
        model, decoding = {"kind": "language_model", "width": 8, "decoder": writing}, {"kind": "sample"}
    parts = {"data": data, "tokenizer": tokenizer, "model": model, "training": training, "decoding": decoding}
    return {"name": name, "task": task, **parts}


def _seer(name: str, place: Path, training: Table) -> Table:
    restores = name == RESTORER
    unet = {"kind": "image_restorer", "width": 4, "scales": 2}
    return {
        "name": name,
        "task": {"kind": "restoration" if restores else "classification", "size": 8, "batch_images": 6},
        "data": {"kind": "folder", "train": str(place / "images"), "valid_share": 0.2, "test_share": 0.2},
        "augmentation": {"kind": "random", "flip": 0.5, "operations": 1, "mixup": 0.5},
        "model": unet if restores else {"kind": "image_classifier", "body": CLASSIFIERS[name]},
        "training": training,
    }


def _images(folder: Path) -> None:
    """A few of two classes."""
    import numpy as np
    from PIL import Image

    for kind, number in ((kind, number) for kind in ("fox", "goose") for number in range(12)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng((number, len(kind))).integers(0, 255, (9, 8, 3), np.uint8)
        Image.fromarray(noise).save(folder / kind / f"{number}.png")


def victims(place: Path, only: str = "") -> dict[str, Path]:
    """All of them (or one), made in processes of their own: whoever forks later must have no threads."""
    found = {name: place / name for name in NAMES if only in ("", name)}
    for name, folder in found.items():
        child = os.fork()
        if not child:
            os._exit(_made(name, folder))
        assert os.waitpid(child, 0)[1] == 0, f"{name}: could not be made"
    return found


def _made(name: str, folder: Path) -> int:
    try:
        os.environ |= {"REGARD_CACHE": str(folder.parent / "cache"), "REGARD_COMPILED": "0"}
        folder.parent.mkdir(parents=True, exist_ok=True)
        (folder.parent / "text.txt").write_text(TEXT)
        if name in IMAGES:
            _images(folder.parent / "images")
        if name == IMPORTED:
            _import(folder)
        else:
            _train(name, folder)
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1
    return 0


def _train(name: str, folder: Path) -> None:
    from regard.run import Run
    from regard.training.train import training
    from regard.verbs import evaluate

    file = folder.with_suffix(".toml")
    file.write_text(tomli_w.dumps(recipe(name, folder.parent)))
    list(training(str(file), out=folder, command="regard train"))
    Run.open(folder).keep_scores(evaluate(folder).scores, step=2)


def _import(folder: Path) -> None:
    """A model of another maker, with a tokenizer and a chat template of its own."""
    sys.path.append(str(Path(__file__).parents[1] / "importing"))
    from strangers import put, stranger

    from regard.import_run import import_model

    import_model(put(folder.with_name("stranger"), stranger("llama")), folder)


def _opened(run: Path) -> object:
    from regard.trained import open_run

    return repr(open_run(run))


def _shown(run: Path) -> object:
    from regard.run import Run

    found = Run.open(run)
    return (str(found), found._repr_html_(), found.curve(), found.scores())


def verbs(scene: Scene, name: str) -> dict[str, Words]:
    """What anybody might do with a run that a stranger gave them."""
    run, out = str(scene.run), scene.out
    text = str(scene.text.with_name("images") if name in IMAGES else scene.text)
    told = [] if name in TRANSLATORS else [f"data.train={text}"]
    return _uses(run, text, name) | {
        "open": _opened,
        "from": ["train", f"from={run}", *told, "training.steps=1", "--out", str(out / "new"), "--quiet"],
        "list": ["runs", str(scene.run.parent)],
        "show": ["runs", "show", run, "--out", str(out / "curve.csv")],
        "see": _shown,
        "pack": ["pack", run, "--out", str(out / "packed")],
        "describe": ["describe", str(scene.run / "recipe.toml")],
        "remove": ["runs", "remove", run, "--yes"],
    }


def _uses(run: str, text: str, name: str) -> dict[str, Words]:
    """What is not the same for every task; an imported model has no state to go on from, and no texts."""
    going_on = ["train", run, "--resume", "training.steps=3"]
    resumed: dict[str, Words] = {"resume": [*going_on, "--quiet"], "plan": [*going_on, "--dry-run"]}
    evaluated: dict[str, Words] = {"evaluate": ["evaluate", run, "--json"]}
    if name in TRANSLATORS:
        translated: dict[str, Words] = {
            "translate": ["translate", run, "a b c", "d é \U0001f600"],
            "translate int8": ["translate", run, "a b", "--int8", "--beam", "2", "--attention"],
            "look": ["look", run, "a b c", "--heads", "--json"],
        }
        return translated | evaluated | resumed
    if name == RESTORER:
        out = str(Path(run).parents[2] / "out" / "restored")
        restored: dict[str, Words] = {
            "restore": ["restore", run, text, "--json", "--out", out],
            "restore show": ["restore", run, f"{text}/fox/0.png", "--corrupt", "--out", out, "--show", f"{out}/look"],
        }
        return restored | evaluated | resumed
    if name in CLASSIFIERS:
        shown = str(Path(run).parents[2] / "out" / "looks")
        classified: dict[str, Words] = {
            "classify": ["classify", run, text, "--json"],
            "classify int8": ["classify", run, f"{text}/fox/0.png", "--int8"],
            "classify show": ["classify", run, f"{text}/fox/0.png", "--csv", "--show", shown],
        }
        return classified | evaluated | resumed
    written: dict[
        str, Words
    ] = {  # as JSON: a pipe gets what a model writes as it is, a terminal does not (test_writer)
        "generate": ["generate", run, "The fox", "d é \U0001f600", "-n", "20", "--slide", "--no-chat", "--json"],
        "generate int8": ["generate", run, "a b", "--int8", "--samples", "2", "--json", "-n", "9", "--no-chat"],
        "score": ["score", run, "The fox says yes", "", "d é \U0001f600"],
        "look": ["look", run, "The fox", "--json"],
    }
    if name == IMPORTED:
        chat: Words = ["generate", run, "Who? <|im_end|>", "--chat", "--system", "Be brief.", "-n", "5", "--json"]
        return written | {"chat": chat, "evaluate": ["evaluate", run, "--on", text, "--json"]}
    return written | evaluated | resumed
