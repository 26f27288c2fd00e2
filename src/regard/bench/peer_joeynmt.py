"""JoeyNMT 2.3 as a peer: its own model, loss, batches in random order, optimiser and search."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.bench.peers import Corpus, Decoding, Ids, Shape, Training, by_length, count, ended


@dataclass(frozen=True)
class Joey:
    """What JoeyNMT made of a configuration; `folder` lives as long as this does."""

    args: Any
    model: Any
    data: Any
    test: Any
    folder: TemporaryDirectory[str]


def prepare_joeynmt_training(corpus: Corpus, shape: Shape, training: Training) -> Callable[[], int]:
    """Steps of its TrainManager, written out because its own loop validates and saves."""
    joey = _open(corpus, shape, training)
    manager: Any = import_module("joeynmt.training").TrainManager(
        rank=0,
        model=joey.model,
        model_dir=Path(joey.folder.name),
        device=joey.args.device,
        autocast=joey.args.autocast,
        train_args=joey.args.train,
        dev_args=joey.args.test,
    )
    drawn = iter(_batches(joey, joey.data, training.tokens, "token"))
    batches = [next(drawn) for _ in range(training.steps)]
    tokens = sum(int(batch.src_mask.sum()) + int(batch.ntokens) for batch in batches)

    def turn() -> int:
        for batch in batches:
            manager.model.zero_grad()
            manager._train_step(batch)
            manager.clip_grad_fun(parameters=manager.model.parameters())
            manager.optimizer.step()
        return tokens

    return turn


def prepare_joeynmt_decoding(corpus: Corpus, shape: Shape, decoding: Decoding) -> Callable[[], int]:
    return count(joeynmt_answers(corpus, shape, decoding))


def joeynmt_answers(corpus: Corpus, shape: Shape, decoding: Decoding) -> Callable[[], list[Ids]]:
    """All sources, random weights, the answers in the order of the corpus.

    `search` is called directly: what leads to it from a configuration forgets `min_output_length`.
    """
    search: Any = import_module("joeynmt.search").search
    order = [number for group in by_length(corpus, decoding.rows) for number in group]
    arranged = Corpus([corpus.pairs[i] for i in order], corpus.vocabulary, corpus.pad, corpus.begin, corpus.end)
    joey = _open(arranged, shape, Training())
    joey.model.eval()
    batches = list(_batches(joey, joey.test, decoding.rows, "sentence"))

    def answers() -> list[Ids]:
        written: list[Ids] = []
        for batch in batches:
            rows, _, _ = search(
                joey.model,
                batch,
                max_output_length=decoding.most,
                beam_size=decoding.beam,
                beam_alpha=1.0,
                min_output_length=decoding.least,
            )
            words = joey.model.trg_vocab.arrays_to_sentences(rows, cut_at_eos=True, skip_pad=False)
            written += [ended([int(word) for word in row], corpus.end) for row in words]
        found: list[Ids] = [[] for _ in order]
        for number, row in zip(order, written, strict=True):
            found[number] = row
        return found

    return answers


def _open(corpus: Corpus, shape: Shape, training: Training) -> Joey:
    logging.disable(logging.INFO)  # every module of it prints; the process is its own
    folder = TemporaryDirectory()
    config: Any = import_module("joeynmt.config")
    args = config.parse_global_args(_configuration(corpus, shape, training, Path(folder.name)), 0, "train")
    model, data, _, test = import_module("joeynmt.prediction").prepare(args, 0, "train")
    return Joey(args, model, data, test, folder)


def _batches(joey: Joey, data: Any, size: int, measure: str) -> Any:
    model = joey.model
    return data.make_iter(
        size, measure, seed=joey.args.seed, shuffle=True, pad_index=model.pad_index, eos_index=model.eos_index
    )


def _configuration(corpus: Corpus, shape: Shape, training: Training, folder: Path) -> dict[str, Any]:
    """The corpus as files of words, a word being an id in digits, and all else JoeyNMT wants to know."""
    stack = {
        "type": "transformer",
        "num_layers": shape.layers,
        "num_heads": shape.heads,
        "embeddings": {"embedding_dim": shape.width, "scale": True},
        "hidden_size": shape.width,
        "ff_size": shape.hidden,
        "dropout": 0.0,
        "layer_norm": "pre",
    }
    learning = {
        "optimizer": "adamw",
        "learning_rate": 1e-4,
        "scheduling": "noam",
        "clip_grad_norm": 1.0,
        "normalization": "tokens",
        "batch_size": training.tokens,
        "batch_type": "token",
    }
    return {
        "name": "peer",
        "model_dir": str(folder),
        "use_cuda": False,
        "random_seed": training.seed,
        "data": _data(corpus, folder),
        "training": learning,
        "testing": {},
        "model": {"tied_embeddings": True, "tied_softmax": True, "encoder": stack, "decoder": stack},
    }


def _data(corpus: Corpus, folder: Path) -> dict[str, Any]:
    special = {corpus.pad, corpus.begin, corpus.end}
    unknown, *words = [str(number) for number in range(corpus.vocabulary) if number not in special]
    (folder / "words").write_text("\n".join(words))
    for side, place in (("src", 0), ("trg", 1)):
        lines = [" ".join(map(str, pair[place])) for pair in corpus.pairs]
        (folder / f"text.{side}").write_text("\n".join(lines))
    # Its own numbers are fixed by role; unknown words there are none, so any word may stand first.
    roles = {"unk": unknown, "pad": str(corpus.pad), "bos": str(corpus.begin), "eos": str(corpus.end)}
    symbols: dict[str, Any] = {f"{role}_token": name for role, name in roles.items()}
    symbols |= {f"{role}_id": number for number, role in enumerate(roles)}
    text = str(folder / "text")
    sides = {side: {"lang": side, "level": "word", "voc_file": str(folder / "words")} for side in ("src", "trg")}
    return {"train": text, "test": text, "special_symbols": symbols, **sides}
