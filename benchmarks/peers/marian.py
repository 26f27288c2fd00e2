"""Marian of Hugging Face `transformers` as a peer, with random weights."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from peers.shared import PeerBatch, bucketed, by_length, count, ended, padded, train
from regard.measuring.sizes import DecodingWork, IdPairs, Ids, TrainingWork, TransformerShape


def marian(pairs: IdPairs, shape: TransformerShape, positions: int) -> Any:
    """The model with random weights and room for so many positions."""
    transformers: Any = import_module("transformers")
    config = transformers.MarianConfig(
        vocab_size=pairs.vocab_size,
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
        pad_token_id=pairs.pad,
        decoder_start_token_id=pairs.bos,
        eos_token_id=pairs.eos,
        forced_eos_token_id=None,
    )
    return transformers.MarianMTModel(config)


def marian_of(pairs: IdPairs, shape: TransformerShape, work: DecodingWork) -> Any:
    """The model for decoding; its weights are the same wherever it is made."""
    torch.manual_seed(1)
    return marian(pairs, shape, max(pairs.longest, work.most) + 2).eval()


def prepare_marian_training(pairs: IdPairs, shape: TransformerShape, work: TrainingWork) -> Callable[[], int]:
    torch.manual_seed(work.seed)
    model = marian(pairs, shape, pairs.longest + 1)

    def loss(batch: PeerBatch) -> Tensor:
        labels = batch.target[:, 1:]
        made = model(
            input_ids=batch.source,
            attention_mask=batch.source != pairs.pad,
            decoder_input_ids=batch.target[:, :-1],
            labels=labels.masked_fill(labels == pairs.pad, -100),
            use_cache=False,
        )
        found: Tensor = made.loss
        return found

    return train(model, loss, bucketed(pairs, work))


def prepare_marian_decoding(pairs: IdPairs, shape: TransformerShape, work: DecodingWork) -> Callable[[], int]:
    return count(marian_answers(pairs, work, marian_of(pairs, shape, work)))


def marian_answers(pairs: IdPairs, work: DecodingWork, model: Any) -> Callable[[], list[Ids]]:
    """All sources by `generate`, the answers in the order of the pairs."""
    transformers: Any = import_module("transformers")
    search = transformers.GenerationConfig(
        num_beams=work.beam,
        do_sample=False,
        early_stopping=work.beam > 1,  # when as many answers have ended as the beam is wide, as CTranslate2 does
        min_new_tokens=work.least,
        max_new_tokens=work.most,
        pad_token_id=pairs.pad,
        eos_token_id=pairs.eos,
        decoder_start_token_id=pairs.bos,
    )
    groups = by_length(pairs, work.rows)
    sources = [padded(pairs, [pairs.pairs[number][0] for number in group]) for group in groups]

    def answers() -> list[Ids]:
        found: list[Ids] = [[] for _ in pairs.pairs]
        for group, source in zip(groups, sources, strict=True):
            written = model.generate(source, attention_mask=source != pairs.pad, generation_config=search)
            for number, row in zip(group, written[:, 1:].tolist(), strict=True):
                found[number] = ended(row, pairs.eos)
        return found

    return answers
