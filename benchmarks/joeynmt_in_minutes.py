"""What JoeyNMT learns in so many minutes: `python benchmarks/joeynmt_in_minutes.py DATA OUT [--minutes 20]`.

DATA holds train, val and test_2016_flickr, each .de and .en. Needs JoeyNMT 2.3.0 and an idle machine. The clock
starts with its first batch and ends with its last; it is stopped as its users would stop it, and the latest
weights, not the best, are scored: with a beam of 5, by sacrebleu, on the whole test set.
"""

import argparse
import signal
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU

LANGUAGES = ("de", "en")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--vocabulary", type=int, default=4000)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True)
    learn_pieces(asked.data, asked.out, asked.vocabulary)
    table = configuration(asked)
    import_module("joeynmt.helpers_for_ddp").get_logger("", log_file=str(asked.out / "joeynmt.log"))
    train(table, 60 * asked.minutes)
    score(table, asked.data / "test_2016_flickr.en")


def learn_pieces(data: Path, out: Path, vocabulary: int) -> None:
    pieces: Any = import_module("sentencepiece")
    pieces.SentencePieceTrainer.train(
        input=[f"{data}/train.{language}" for language in LANGUAGES],
        model_prefix=f"{out}/pieces",
        model_type="bpe",
        vocab_size=vocabulary,
        character_coverage=1.0,
    )
    learnt = (out / "pieces.vocab").read_text(encoding="utf-8").splitlines()
    words = [line.split("\t")[0] for line in learnt]
    (out / "words.txt").write_text("\n".join(word for word in words if word not in {"<unk>", "<s>", "</s>"}) + "\n")


def configuration(asked: argparse.Namespace) -> dict[str, Any]:
    """Its own recipe for a Transformer, with Regard's batch, smoothing and clipping."""
    side = {
        "max_length": 100,
        "level": "bpe",
        "voc_limit": asked.vocabulary,
        "voc_file": f"{asked.out}/words.txt",
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": f"{asked.out}/pieces.model", "model_type": "bpe"},
    }
    stack = {
        "type": "transformer",
        "num_layers": asked.layers,
        "num_heads": 4,
        "embeddings": {"embedding_dim": asked.width, "scale": True, "dropout": 0.0},
        "hidden_size": asked.width,
        "ff_size": asked.hidden,
        "dropout": asked.dropout,
        "layer_norm": "pre",
    }
    return {
        "name": "beside regard",
        "joeynmt_version": "2.3.0",
        "model_dir": f"{asked.out}/model",
        "use_cuda": False,
        "fp16": False,
        "random_seed": 1,
        "data": {
            "train": f"{asked.data}/train",
            "dev": f"{asked.data}/val",
            "test": f"{asked.data}/test_2016_flickr",
            "dataset_type": "plain",
            "sample_dev_subset": 200,
            "src": side | {"lang": LANGUAGES[0]},
            "trg": side | {"lang": LANGUAGES[1]},
        },
        "training": {
            "optimizer": "adamw",
            "adam_betas": [0.9, 0.98],
            "scheduling": "noam",  # its "plateau" does not work with torch 2.13
            "learning_rate": 0.0,
            "learning_rate_factor": 0.6,
            "learning_rate_warmup": 500,
            "learning_rate_min": 1e-12,  # it ends below this, even while warming up
            "clip_grad_norm": 1.0,
            "label_smoothing": 0.1,
            "normalization": "tokens",
            "batch_type": "token",
            "batch_size": 1024,  # its batches are in random order: larger ones are mostly padding
            "epochs": 1000,  # the clock ends it
            "logging_freq": 100,
            "validation_freq": 1000,
            "early_stopping_metric": "ppl",
            "keep_best_ckpts": 1,
            "print_valid_sents": [0],
            "overwrite": True,
        },
        "testing": {
            "beam_size": 5,
            "beam_alpha": 1.0,
            "batch_size": 64,
            "batch_type": "sentence",
            "max_output_length": 100,
            "eval_metrics": ["bleu"],
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
    }


def train(table: dict[str, Any], seconds: float) -> None:
    """Until the clock interrupts it: its loop then saves and ends."""
    training: Any = import_module("joeynmt.training")
    loop = training.TrainManager.train_and_validate
    signal.signal(signal.SIGALRM, signal.default_int_handler)

    def clocked(self: Any, *given: Any, **named: Any) -> None:
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            loop(self, *given, **named)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(
                f"JoeyNMT: {time.perf_counter() - start:.0f} s, {self.stats.steps} steps, {self.stats.epochs} epochs "
                f"begun, {self.stats.total_tokens} target tokens, {torch.get_num_threads()} threads"
            )

    training.TrainManager.train_and_validate = clocked
    Path(table["model_dir"]).mkdir()
    training.train(rank=0, world_size=None, cfg=table, skip_test=True)


def score(table: dict[str, Any], references: Path) -> None:
    folder = Path(table["model_dir"])
    data = {key: value for key, value in table["data"].items() if key != "dev"}
    testing = table["testing"] | {"load_model": str(folder / "latest.ckpt")}
    import_module("joeynmt.prediction").test(
        table | {"data": data, "testing": testing}, output_path=str(folder / "beam5")
    )
    written = (folder / "beam5.test").read_text(encoding="utf-8").splitlines()
    expected = references.read_text(encoding="utf-8").splitlines()
    for metric in (BLEU(), BLEU(lowercase=True)):
        print(f"{metric.corpus_score(written, [expected]).score:.2f}", metric.get_signature())


if __name__ == "__main__":
    main()
