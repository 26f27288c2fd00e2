"""Notes, part C: sequence to sequence through one fixed context vector."""

from dataclasses import replace

import pytest
import torch
from measures import filled, model
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.mask import Mask

CELLS = ["elman", "lstm", "gru"]


def seq2seq(cell: str = "gru", layers: int = 1, direction: str = "forward", **decoder: str) -> nn.Module:
    """A small recurrent translator without attention."""
    return filled(
        model(
            "seq2seq",
            source_vocab_size=11,
            target_vocab_size=13,
            width=6,
            encoder={"kind": "recurrent", "cell": cell, "layers": layers, "direction": direction},
            decoder={"kind": "recurrent", "cell": cell, "layers": layers, "attention": "none", **decoder},
        )
    )


def gru_step(cell: nn.Module, x: Tensor, state: Tensor) -> Tensor:
    """torch's own single step with the cell's weights."""
    return torch.gru_cell(x, state, *cell.weights())


def test_026_the_encoder_returns_a_state_for_every_word_each_from_the_one_before():
    translator, source = seq2seq(), torch.randint(11, (2, 5))
    state, wanted = torch.zeros(2, 6), []
    for word in translator.source(source).unbind(1):
        state = gru_step(translator.encoder.layers[0][0], word, state)
        wanted.append(state)
    states = translator.encode(source).states
    assert states.shape == (2, 5, 6)
    assert_close(states, torch.stack(wanted, 1), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2])
def test_027_the_first_decoder_state_is_exactly_the_last_encoder_state(cell: str, layers: int):
    translator, source = seq2seq(cell, layers), torch.randint(11, (2, 5))
    encoded = translator.encode(source)
    held = translator.start(source).held()
    assert torch.equal(held[-1].held[0], encoded.states[:, -1])
    for entry, final in zip(held, encoded.final, strict=True):
        assert all(torch.equal(own, last) for own, last in zip(entry.held, final, strict=True))


def test_028_each_decoder_state_comes_from_the_one_before_and_the_word_before():
    translator, source, target = seq2seq(), torch.randint(11, (2, 5)), torch.randint(13, (2, 4))
    state, wanted = translator.encode(source).states[:, -1], []
    for word in translator.target(target).unbind(1):
        state = gru_step(translator.decoder.cells[0], word, state)
        wanted.append(translator.head(state))
    assert_close(translator(source, target), torch.stack(wanted, 1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("context", ["start", "every_step"])
def test_029_all_the_decoder_knows_of_the_source_is_one_vector_of_fixed_size(cell: str, context: str):
    translator, target = seq2seq(cell, context=context), torch.randint(13, (1, 4))
    words = translator.target(target)
    encoded = translator.encode(torch.randint(11, (1, 9)))
    other = replace(encoded, states=torch.randn(1, 9, 6))  # other states, the same last one
    told, also = (translator.decoder(words, given, Mask()) for given in (encoded, other))
    assert torch.equal(told, also)
    sizes = [translator.start(torch.randint(11, (1, length))).nbytes for length in (2, 200)]
    assert sizes[0] == sizes[1]
    assert torch.equal(encoded.summary(), encoded.states[:, -1])


def test_030_every_step_takes_the_last_state_the_last_word_and_the_context():
    translator = seq2seq(context="every_step")
    source, target = torch.randint(11, (2, 5)), torch.randint(13, (2, 4))
    decoder, context = translator.decoder, translator.encode(source).states[:, -1]
    state, wanted = context, []
    for word in translator.target(target).unbind(1):
        state = gru_step(decoder.cells[0], torch.cat([word, context], -1), state)
        wanted.append(translator.head(torch.tanh(torch.cat([context, state], -1) @ decoder.combine.weight.T)))
    assert_close(translator(source, target), torch.stack(wanted, 1), atol=1e-5, rtol=1e-5)


def test_030_without_the_variant_the_context_comes_in_once():
    plain, told = (seq2seq(context=context).decoder.cells[0] for context in ("start", "every_step"))
    assert plain.weight_ih.shape[1] == 6
    assert told.weight_ih.shape[1] == 6 + 6
