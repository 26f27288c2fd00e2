"""A run folder out of a model of another maker: it then does all that a trained one does."""

import platform
import time
from pathlib import Path
from typing import Any

import torch

from regard.datasets.images.fit import Fitting
from regard.disk import place
from regard.errors import InputError
from regard.importing import Imported, ImportedClassifier, read_model
from regard.listener import SILENT, Listener
from regard.recipe import Recipe
from regard.run import Run
from regard.run.create import free_folder
from regard.run.slim import check_slim, slim_run
from regard.tasks.classification.facts import FILE as CLASSIFICATION
from regard.tasks.language.facts import CHAT, FILE, TOKENIZER, Facts, tokenizer_file
from regard.training.menu import MENU
from regard.version import __version__

CHATTING = {"temperature": 0.7, "top_p": 0.9}  # where nobody says how: unlikely words lead a chat astray
SEPARATORS = ("<|endoftext|>", "<|end_of_text|>")  # what stood between documents, where chats have tokens of their own


def import_model(
    source: str | Path, out: str | Path | None = None, listener: Listener = SILENT, command: str = ""
) -> Run:
    """Make a run out of a folder of `transformers` or timm, a .gguf file, or a model of the registry: `smollm2`.

    It is written to `out`, or to `runs/NAME`; nothing of where it came from is needed after that.
    """
    found = read_model(source, listener)
    folder = place(out) if out is not None else free_folder(Path("runs") / found.name)
    check_slim(folder)
    recipe = Recipe.check(_table(found, str(source)), MENU)
    files = _files(found)
    versions = {"regard": __version__, "torch": torch.__version__, "python": platform.python_version()}
    facts: dict[str, Any] = {
        "commands": [command] if command else [],
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": versions,
        "steps": 0,
        "parameters": sum(tensor.numel() for tensor in found.weights.values()),
        "ended": "done",
        "origin": found.origin,
    }
    listener.at("writing the weights")
    with slim_run(folder, recipe.table(), files, facts, found.weights, {"step": 0, "scores": {}}) as made:
        return made


def _table(found: Imported | ImportedClassifier, source: str) -> dict[str, Any]:
    """The recipe of a run: what is known of the model, and a task that has no texts or images of its own."""
    if isinstance(found, ImportedClassifier):
        return found.recipe | {"task": _classification(found), "data": {"kind": "folder", "train": ""}}
    sampling = found.sampling or (CHATTING if found.chat_template else {})
    return found.recipe | {
        "task": {"kind": "language", "context": found.context},
        "decoding": {"kind": "sample"} | sampling,
        "data": {"kind": "text", "train": ""},
        "tokenizer": {"kind": "pretrained", "file": source},
    }


def _classification(found: ImportedClassifier) -> dict[str, Any]:
    facts = found.facts
    how = facts.fit if isinstance(facts.fit, Fitting) else Fitting(facts.fit)
    return {
        "kind": "classification",
        "size": facts.size,
        "channels": facts.channels,
        "fit": how.way,
        "interpolation": how.interpolation,
        "middle": how.middle,
        "mean": list(facts.mean),
        "std": list(facts.std),
    }


def _files(found: Imported | ImportedClassifier) -> dict[str, bytes]:
    if isinstance(found, ImportedClassifier):
        return {CLASSIFICATION: found.facts.file()}
    tokenizer = found.tokenizer
    vocabulary = tokenizer.engine.get_vocab()
    parting = next((vocabulary[name] for name in SEPARATORS if name in vocabulary), tokenizer.eos)
    begin = tokenizer.bos if found.add_bos and tokenizer.bos is not None else parting
    end = tokenizer.eos if found.add_bos else parting
    if begin is None or end is None:
        raise InputError(f"{found.name}: its tokenizer has no token that ends a text")
    stops = tuple(dict.fromkeys([end, *found.stop_tokens]))
    facts = Facts(begin, end, stops, begins=found.add_bos, vocab_size=int(found.recipe["model"]["vocab_size"]))
    made = {TOKENIZER: tokenizer_file(tokenizer), FILE: facts.file()}
    return made | ({CHAT: found.chat_template.encode()} if found.chat_template else {})
