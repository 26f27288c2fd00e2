"""A translator that Regard trained, with the same weights in CTranslate2."""

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from peers.ctranslate2 import Precision
from regard.errors import InputError
from regard.model.assembly import Seq2Seq
from regard.model.attention import Multihead
from regard.model.mlp import Relu
from regard.model.positions.sinusoidal import encode
from regard.model.residual import Pre
from regard.model.transformer import TransformerDecoder, TransformerEncoder
from regard.tasks.translation.tokenizers import SpecialIds

POSITIONS = 512


def converted(model: Seq2Seq, ids: SpecialIds, folder: Path, precision: Precision) -> None:
    """Write it down as CTranslate2 reads it. Tokens are named by their numbers."""
    specs: Any = import_module("ctranslate2.specs")
    encoder, decoder = model.encoder, model.decoder
    if not isinstance(encoder, TransformerEncoder) or not isinstance(decoder, TransformerDecoder):
        raise InputError("only Transformers are converted here")
    around, attention = encoder.layers[0].around_mlp, encoder.layers[0].attention
    assert isinstance(attention, Multihead)
    sizes = (len(encoder.layers), len(decoder.layers))
    spec = specs.TransformerSpec.from_config(sizes, attention.heads, pre_norm=isinstance(around, Pre))
    spec.encoder.embeddings[0].weight = model.source.table.weight.detach()
    spec.decoder.embeddings.weight = model.target.table.weight.detach()
    for stack, mine in ((spec.encoder, encoder), (spec.decoder, decoder)):
        stack.scale_embeddings = model.source.scale != 1.0
        stack.position_encodings.encodings = encode(torch.arange(POSITIONS), model.source.table.embedding_dim)
        if isinstance(around, Pre):
            _norm(stack.layer_norm, mine.close)
        for layer, own in zip(stack.layer, mine.layers, strict=True):
            _attention(layer.self_attention, own.attention, own.around_attention.norm)
            if own.cross is not None and own.around_cross is not None:
                _attention(layer.attention, own.cross, own.around_cross.norm)
            assert isinstance(own.mlp, Relu)
            _linear(layer.ffn.linear_0, own.mlp.up)
            _linear(layer.ffn.linear_1, own.mlp.down)
            _norm(layer.ffn.layer_norm, own.around_mlp.norm)
    spec.decoder.projection.weight = model.head.weight.detach()
    names = [str(number) for number in range(int(model.head.out_features))]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.bos_token, spec.config.eos_token = str(ids.bos), str(ids.eos)
    spec.config.decoder_start_token, spec.config.unk_token = str(ids.bos), str(ids.pad)
    spec.validate()
    spec.optimize(quantization=precision)
    spec.save(str(folder))


def _attention(spec: Any, attention: Any, norm: nn.Module) -> None:
    assert isinstance(attention, Multihead)
    own = len(spec.linear) == 2
    if own:
        spec.linear[0].weight = _joined(attention.query.weight, attention.key_value.weight)
        spec.linear[0].bias = _joined(attention.query.bias, attention.key_value.bias)
    else:
        _linear(spec.linear[0], attention.query)
        _linear(spec.linear[1], attention.key_value)
    _linear(spec.linear[-1], attention.output)
    _norm(spec.layer_norm, norm)


def _joined(*parts: Tensor) -> Tensor:
    return torch.cat([part.detach() for part in parts])


def _linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight, spec.bias = linear.weight.detach(), linear.bias.detach()


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = norm.weight.detach(), norm.bias.detach()
