"""JoeyNMT 2.3 as a peer: its own model, loss, batches in random order, optimiser and search."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peers.shared import by_length, count, ended
from regard.measuring.sizes import DecodingWork, IdPairs, Ids, TrainingWork, TransformerShape


@dataclass(frozen=True)
class Joey:
    """What JoeyNMT made of a configuration; `folder` lives as long as this does."""

    args: Any
    model: Any
    data: Any
    test: Any
    folder: TemporaryDirectory[str]


def prepare_joeynmt_training(pairs: IdPairs, shape: TransformerShape, work: TrainingWork) -> Callable[[], int]:
    """Steps of its TrainManager, written out because its own loop validates and saves."""
    joey = _open(pairs, shape, work)
    manager: Any = import_module("joeynmt.training").TrainManager(
        rank=0,
        model=joey.model,
        model_dir=Path(joey.folder.name),
        device=joey.args.device,
        autocast=joey.args.autocast,
        train_args=joey.args.train,
        dev_args=joey.args.test,
    )
    drawn = iter(_batches(joey, joey.data, work.tokens, "token"))
    batches = [next(drawn) for _ in range(work.steps)]
    tokens = sum(int(batch.src_mask.sum()) + int(batch.ntokens) for batch in batches)

    def turn() -> int:
        for batch in batches:
            manager.model.zero_grad()
            manager._train_step(batch)
            manager.clip_grad_fun(parameters=manager.model.parameters())
            manager.optimizer.step()
        return tokens

    return turn


def prepare_joeynmt_decoding(pairs: IdPairs, shape: TransformerShape, work: DecodingWork) -> Callable[[], int]:
    return count(joeynmt_answers(pairs, shape, work))


def joeynmt_answers(pairs: IdPairs, shape: TransformerShape, work: DecodingWork) -> Callable[[], list[Ids]]:
    """All sources, random weights, the answers in the order of the pairs.

    `search` is called directly: what leads to it from a configuration forgets `min_output_length`.
    """
    search: Any = import_module("joeynmt.search").search
    order = [number for group in by_length(pairs, work.rows) for number in group]
    arranged = IdPairs([pairs.pairs[i] for i in order], pairs.vocab_size, pairs.pad, pairs.bos, pairs.eos)
    joey = _open(arranged, shape, TrainingWork())
    joey.model.eval()
    batches = list(_batches(joey, joey.test, work.rows, "sentence"))

    def answers() -> list[Ids]:
        written: list[Ids] = []
        for batch in batches:
            rows, _, _ = search(
                joey.model,
                batch,
                max_output_length=work.most,
                beam_size=work.beam,
                beam_alpha=1.0,
                min_output_length=work.least,
            )
            words = joey.model.trg_vocab.arrays_to_sentences(rows, cut_at_eos=True, skip_pad=False)
            written += [ended([int(word) for word in row], pairs.eos) for row in words]
        found: list[Ids] = [[] for _ in order]
        for number, row in zip(order, written, strict=True):
            found[number] = row
        return found

    return answers


def _open(pairs: IdPairs, shape: TransformerShape, work: TrainingWork) -> Joey:
    logging.disable(logging.INFO)  # every module of it prints; the process is its own
    folder = TemporaryDirectory()
    config: Any = import_module("joeynmt.config")
    args = config.parse_global_args(_configuration(pairs, shape, work, Path(folder.name)), 0, "train")
    model, data, _, test = import_module("joeynmt.prediction").prepare(args, 0, "train")
    return Joey(args, model, data, test, folder)


def _batches(joey: Joey, data: Any, size: int, measure: str) -> Any:
    model = joey.model
    return data.make_iter(
        size, measure, seed=joey.args.seed, shuffle=True, pad_index=model.pad_index, eos_index=model.eos_index
    )


def _configuration(pairs: IdPairs, shape: TransformerShape, work: TrainingWork, folder: Path) -> dict[str, Any]:
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
        "batch_size": work.tokens,
        "batch_type": "token",
    }
    return {
        "name": "peer",
        "model_dir": str(folder),
        "use_cuda": False,
        "random_seed": work.seed,
        "data": _data(pairs, folder),
        "training": learning,
        "testing": {},
        "model": {"tied_embeddings": True, "tied_softmax": True, "encoder": stack, "decoder": stack},
    }


def _data(pairs: IdPairs, folder: Path) -> dict[str, Any]:
    special = {pairs.pad, pairs.bos, pairs.eos}
    unknown, *words = [str(number) for number in range(pairs.vocab_size) if number not in special]
    (folder / "words").write_text("\n".join(words))
    for side, place in (("src", 0), ("trg", 1)):
        lines = [" ".join(map(str, pair[place])) for pair in pairs.pairs]
        (folder / f"text.{side}").write_text("\n".join(lines))
    # Its own numbers are fixed by role; unknown words there are none, so any word may stand first.
    roles = {"unk": unknown, "pad": str(pairs.pad), "bos": str(pairs.bos), "eos": str(pairs.eos)}
    symbols: dict[str, Any] = {f"{role}_token": name for role, name in roles.items()}
    symbols |= {f"{role}_id": number for number, role in enumerate(roles)}
    text = str(folder / "text")
    sides = {side: {"lang": side, "level": "word", "voc_file": str(folder / "words")} for side in ("src", "trg")}
    return {"train": text, "test": text, "special_symbols": symbols, **sides}
