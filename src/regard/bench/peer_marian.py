"""Marian of Hugging Face `transformers` as a peer: random weights, or those of a run of Regard."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
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
from regard.model.positions.sinusoidal import encode

WORDS = {
    "around_attention.norm": "self_attn_layer_norm",
    "around_cross.norm": "encoder_attn_layer_norm",
    "around_mlp.norm": "final_layer_norm",
    "mlp.rise": "fc1",
    "mlp.fall": "fc2",
    ".attention.": ".self_attn.",
    ".cross.": ".encoder_attn.",
    ".query.": ".q_proj.",
    ".output.": ".out_proj.",
}


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


def marian_from(weights: Mapping[str, Tensor], corpus: Corpus, shape: Shape, positions: int) -> Any:
    """The model with the weights of a Regard Seq2Seq under its own names.

    The recipe must say: tie all, scale root, and for both stacks positions sinusoidal, residual post,
    norm layer with eps 1e-5, attention multihead, mlp relu. The order of the waves is copied too; it is
    lost when the model is saved and opened again.
    """
    model = marian(corpus, shape, positions)
    table = weights["target.table.weight"] if "target.table.weight" in weights else weights["source.table.weight"]
    found = {"model.shared.weight": table}
    for name, tensor in weights.items():
        if name.startswith(("encoder.layers.", "decoder.layers.")):
            found |= _renamed(name, tensor)
    for side in ("encoder", "decoder"):
        found[f"model.{side}.embed_tokens.weight"] = table
        found[f"model.{side}.embed_positions.weight"] = encode(torch.arange(positions), shape.width)
    found["lm_head.weight"] = table
    found["final_logits_bias"] = weights.get("head.bias", torch.zeros(corpus.vocabulary))[None]
    model.load_state_dict(found)
    return model


def marian_of(corpus: Corpus, shape: Shape, decoding: Decoding, weights: Path | None = None) -> Any:
    """For decoding: from a file of weights, or random ones."""
    positions = max(corpus.longest, decoding.most) + 2
    if weights is None:
        torch.manual_seed(1)
        return marian(corpus, shape, positions).eval()
    return marian_from(load_file(weights), corpus, shape, positions).eval()


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


def prepare_marian_decoding(
    corpus: Corpus, shape: Shape, decoding: Decoding, weights: Path | None = None
) -> Callable[[], int]:
    return count(marian_answers(corpus, decoding, marian_of(corpus, shape, decoding, weights)))


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


def _renamed(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """Keys and values are one matrix in Regard."""
    for ours, theirs in WORDS.items():
        name = name.replace(ours, theirs)
    name = f"model.{name}"
    if ".data." not in name:
        return {name: tensor}
    keys, values = tensor.chunk(2)
    return {name.replace(".data.", ".k_proj."): keys, name.replace(".data.", ".v_proj."): values}
