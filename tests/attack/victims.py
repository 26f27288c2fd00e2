"""Small honest runs that are spoilt, and what is done with a run: every verb that opens one."""

import os
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
STACKS: dict[str, tuple[Table, Table, Table, Table]] = {
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


def recipe(stack: str) -> Table:
    """Two steps on toys, saved after each."""
    reading, writing, tokenizer, decoding = STACKS[stack]
    return {
        "name": stack,
        "task": {"kind": "translation", "batch_tokens": 48},
        "data": {"kind": "toy", "letters": 5, "max_length": 3, "train": 30, "valid": 2, "test": 3},
        "tokenizer": tokenizer,
        "model": {"kind": "seq2seq", "width": 8, "encoder": reading, "decoder": writing},
        "training": {
            "steps": 2,
            "ema": 0.9,
            "schedule": {"kind": "constant"},
            "checkpoints": {"save_every": 1, "validate_every": 2, "keep": 2},
        },
        "decoding": decoding,
    }


def victims(place: Path, only: str = "") -> dict[str, Path]:
    """All of them (or one), made in processes of their own: whoever forks later must have no threads."""
    found = {stack: place / stack for stack in STACKS if only in ("", stack)}
    for stack, folder in found.items():
        child = os.fork()
        if not child:
            os._exit(_made(stack, folder))
        assert os.waitpid(child, 0)[1] == 0, f"{stack}: could not be trained"
    return found


def _made(stack: str, folder: Path) -> int:
    try:
        os.environ["REGARD_CACHE"] = str(folder.parent / "cache")
        from regard.training.train import training
        from regard.verbs import evaluate

        file = folder.with_suffix(".toml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(tomli_w.dumps(recipe(stack)))
        list(training(str(file), out=folder, command="regard train"))
        found = evaluate(folder)
        from regard.run import Run

        Run.open(folder).keep_scores(found.scores, step=2)
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1
    return 0


def _opened(run: Path) -> object:
    from regard.trained import open_run

    return repr(open_run(run))


def _shown(run: Path) -> object:
    from regard.run import Run

    found = Run.open(run)
    return (str(found), found._repr_html_(), found.curve(), found.scores())


def verbs(scene: Scene) -> dict[str, Words]:
    """What anybody might do with a run that a stranger gave them."""
    run, out = str(scene.run), scene.out
    return {
        "open": _opened,
        "translate": ["translate", run, "a b c", "d é \U0001f600"],
        "translate int8": ["translate", run, "a b", "--int8", "--beam", "2", "--attention"],
        "evaluate": ["evaluate", run, "--json"],
        "resume": ["train", run, "--resume", "training.steps=3", "--quiet"],
        "from": ["train", f"from={run}", "training.steps=1", "--out", str(out / "new"), "--quiet"],
        "list": ["runs", str(scene.run.parent)],
        "show": ["runs", "show", run, "--out", str(out / "curve.csv")],
        "see": _shown,
        "pack": ["pack", run, "--out", str(out / "packed")],
        "describe": ["describe", str(scene.run / "recipe.toml")],
        "plan": ["train", run, "--resume", "training.steps=3", "--dry-run"],
        "remove": ["runs", "remove", run, "--yes"],
    }
