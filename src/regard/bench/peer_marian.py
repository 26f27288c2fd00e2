"""Marian of Hugging Face `transformers` as a peer, with random weights."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from regard.bench.peers import (
    Batch,
    Corpus,
    Decoding,
    Ids,
    Shape,
    Training,
    bucketed,
    by_length,
    count,
    ended,
    padded,
    train,
)


def marian(corpus: Corpus, shape: Shape, positions: int) -> Any:
    """The model with random weights and room for so many positions."""
    transformers: Any = import_module("transformers")
    config = transformers.MarianConfig(
        vocab_size=corpus.vocabulary,
        d_model=shape.width,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.hidden,
        decoder_ffn_dim=shape.hidden,
        activation_function="relu",
        dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=positions,
        pad_token_id=corpus.pad,
        decoder_start_token_id=corpus.begin,
        eos_token_id=corpus.end,
        forced_eos_token_id=None,
    )
    return transformers.MarianMTModel(config)


def marian_of(corpus: Corpus, shape: Shape, decoding: Decoding) -> Any:
    """For decoding."""
    torch.manual_seed(1)
    return marian(corpus, shape, max(corpus.longest, decoding.most) + 2).eval()


def prepare_marian_training(corpus: Corpus, shape: Shape, training: Training) -> Callable[[], int]:
    torch.manual_seed(training.seed)
    model = marian(corpus, shape, corpus.longest + 1)

    def loss(batch: Batch) -> Tensor:
        wanted = batch.target[:, 1:]
        made = model(
            input_ids=batch.source,
            attention_mask=batch.source != corpus.pad,
            decoder_input_ids=batch.target[:, :-1],
            labels=wanted.masked_fill(wanted == corpus.pad, -100),
            use_cache=False,
        )
        found: Tensor = made.loss
        return found

    return train(model, loss, bucketed(corpus, training))


def prepare_marian_decoding(corpus: Corpus, shape: Shape, decoding: Decoding) -> Callable[[], int]:
    return count(marian_answers(corpus, decoding, marian_of(corpus, shape, decoding)))


def marian_answers(corpus: Corpus, decoding: Decoding, model: Any) -> Callable[[], list[Ids]]:
    """All sources by `generate`, the answers in the order of the corpus."""
    transformers: Any = import_module("transformers")
    search = transformers.GenerationConfig(
        num_beams=decoding.beam,
        do_sample=False,
        early_stopping=decoding.beam > 1,  # when as many answers have ended as the beam is wide, as CTranslate2 does
        min_new_tokens=decoding.least,
        max_new_tokens=decoding.most,
        pad_token_id=corpus.pad,
        eos_token_id=corpus.end,
        decoder_start_token_id=corpus.begin,
    )
    groups = by_length(corpus, decoding.rows)
    sources = [padded(corpus, [corpus.pairs[number][0] for number in group]) for group in groups]

    def answers() -> list[Ids]:
        found: list[Ids] = [[] for _ in corpus.pairs]
        for group, source in zip(groups, sources, strict=True):
            written = model.generate(source, attention_mask=source != corpus.pad, generation_config=search)
            for number, row in zip(group, written[:, 1:].tolist(), strict=True):
                found[number] = ended(row, corpus.end)
        return found

    return answers
