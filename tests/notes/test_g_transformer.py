"""Notes, part G: the Transformer."""

import itertools
import math

import pytest
import torch
from measures import Operations, filled, language_model, mixed_by, model, parameters, reach, translator
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.attention import NOWHERE, Multihead, Site
from regard.model.build import build
from regard.model.mask import Mask
from regard.model.transformer.layer import Reading
from regard.model.watch import watch

SOURCE, TARGET = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[0, 6, 7, 8]])


def base() -> nn.Module:
    """The Transformer of the paper, without memory for its weights."""
    with torch.device("meta"):
        return build("transformer-base", "model.source_vocab_size=37000", "model.target_vocab_size=37000")


def shapes(layer: nn.Module) -> dict[str, torch.Size]:
    return {name: parameter.shape for name, parameter in layer.named_parameters()}


def test_099_six_identical_layers_on_either_side():
    whole = base()
    for stack in (whole.encoder, whole.decoder):
        assert len(stack.layers) == 6
        assert all(shapes(layer) == shapes(stack.layers[0]) for layer in stack.layers)
    assert len({id(parameter) for stack in (whole.encoder, whole.decoder) for parameter in stack.parameters()}) == sum(
        len(shapes(stack)) for stack in (whole.encoder, whole.decoder)
    )  # identical in form, each with weights of its own


def test_100_an_encoder_layer_is_attention_norm_mlp_norm():
    layer, x = filled(translator(residual="post")).encoder.layers[0], torch.randn(1, 5, 16)
    middle = layer.around_attention.norm(x + layer.attention(x, None, Mask()))
    wanted = layer.around_mlp.norm(middle + layer.mlp(middle))
    assert layer.cross is None
    assert_close(layer(x, Mask(), NOWHERE), wanted)


def test_101_a_decoder_layer_is_masked_attention_cross_attention_mlp():
    layer = filled(translator(residual="post")).decoder.layers[0]
    x, data = torch.randn(1, 5, 16), torch.randn(1, 7, 16)
    first = layer.around_attention.norm(x + layer.attention(x, None, Mask(causal=True)))
    second = layer.around_cross.norm(first + layer.cross(first, data, Mask()))
    wanted = layer.around_mlp.norm(second + layer.mlp(second))
    assert_close(layer(x, Mask(causal=True), NOWHERE, None, Reading(data, Mask())), wanted)


def test_101_with_the_norms_inside_each_of_the_three_reads_a_normed_input():
    layer = filled(translator(residual="pre")).decoder.layers[0]
    x, data = torch.randn(1, 5, 16), torch.randn(1, 7, 16)
    first = x + layer.attention(layer.around_attention.norm(x), None, Mask(causal=True))
    second = first + layer.cross(layer.around_cross.norm(first), data, Mask())
    wanted = second + layer.mlp(layer.around_mlp.norm(second))
    assert_close(layer(x, Mask(causal=True), NOWHERE, None, Reading(data, Mask())), wanted)


def test_102_the_base_model_has_the_sizes_of_the_paper():
    whole = base()
    attention = 4 * (512 * 512 + 512)
    mlp, norm = 512 * 2048 + 2048 + 2048 * 512 + 512, 2 * 512
    layers = 6 * (attention + mlp + 2 * norm) + 6 * (2 * attention + mlp + 3 * norm)
    assert parameters(whole) == 37_000 * 512 + layers
    assert parameters(whole) == pytest.approx(
        65e6, rel=0.03
    )  # 63.1M; the paper rounds and does not say its exact vocabulary
    assert whole.encoder.layers[0].attention.heads == 8
    assert whole.encoder.layers[0].mlp.up.weight.shape == (2048, 512)


def test_103_all_positions_are_computed_in_the_same_operations():
    attentive = translator()
    recurrent = model(
        "seq2seq",
        source_vocab_size=11,
        target_vocab_size=11,
        width=16,
        encoder={"kind": "recurrent"},
        decoder={"kind": "recurrent", "attention": "additive"},
    )
    counts = []
    for writer, length in itertools.product((attentive, recurrent), (4, 40)):
        tokens = torch.randint(11, (1, length))
        writer(tokens, tokens)  # tables of positions are made once
        with Operations() as seen:
            out = writer(tokens, tokens)
        assert out.shape == (1, length, 11)
        counts.append(len(seen.names))
    assert counts[0] == counts[1]
    assert counts[3] > 5 * counts[2]


def test_105_the_encoder_sees_the_whole_sentence_and_the_decoder_what_is_written_so_far():
    writer = translator()
    x = torch.randn(1, 5, 16, requires_grad=True)
    encoded = writer.encoder(x, Mask())
    assert reach(encoded.states, x).all()
    written = torch.randn(1, 4, 16, requires_grad=True)
    out = writer.decoder(written, encoded, Mask())
    assert torch.equal(reach(out, written), torch.ones(4, 4).tril().bool())


def test_106_i_love_you_sees_i_then_i_love_then_all():
    words, layer = ["I", "love", "you"], filled(Multihead(Site(6), heads=2))
    weights = mixed_by(layer, lambda: layer(torch.randn(1, 3, 6), None, Mask(causal=True)))
    for head in weights[0]:
        keys = [[word for word, share in zip(words, row, strict=True) if share != 0] for row in head.tolist()]
        assert keys == [["I"], ["I", "love"], ["I", "love", "you"]]


def test_107_the_five_by_five_table():
    assert str(Mask(causal=True, key_lengths=torch.tensor([5]))).splitlines()[:5] == [
        "■ · · · · ·",
        "■ ■ · · · ·",
        "■ ■ ■ · · ·",
        "■ ■ ■ ■ · ·",
        "■ ■ ■ ■ ■ ·",
    ]
    visible = Mask(causal=True).dense(torch.arange(5), torch.arange(5))[0, 0]
    assert torch.equal(visible, torch.ones(5, 5).tril().bool())


@pytest.mark.parametrize("kernel", ["naive", "flash"])
def test_107_minus_infinity_is_added_before_the_softmax_and_gives_exact_zeros(kernel: str):
    layer, x = filled(Multihead(Site(10), heads=2, kernel=kernel)), torch.randn(1, 5, 10)
    asked, keys, _ = layer.both(x)
    table = torch.full((5, 5), float("-inf")).triu(1)
    wanted = (asked @ keys.mT / math.sqrt(5) + table).softmax(-1)
    weights = mixed_by(layer, lambda: layer(x, None, Mask(causal=True)))
    assert_close(weights, wanted, atol=1e-6, rtol=1e-5)
    assert (weights[..., ~torch.ones(5, 5).tril().bool()] == 0.0).all()


WRITERS = {
    "flash": {},
    "naive": {"attention": {"kind": "multihead", "heads": 2, "kernel": "naive"}},
    "grouped": {"attention": {"kind": "multihead", "heads": 2, "kv_heads": 1}},
    "linear": {"attention": {"kind": "linear", "heads": 2}},
    "window": {"pattern": {"kind": "window", "width": 20}},
    "local_global": {"pattern": {"kind": "local_global", "width": 20, "first": 2}},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("cut", [3, 100, 300])
def test_108_later_tokens_change_no_bit_of_earlier_logits(kind: str, cut: int):
    writer, tokens = language_model(**WRITERS[kind]), torch.randint(11, (2, 400))
    changed = tokens.clone()
    changed[:, cut + 1 :] = (changed[:, cut + 1 :] + 1) % 11
    before, after = writer(tokens), writer(changed)
    assert torch.equal(before[:, : cut + 1], after[:, : cut + 1])
    assert not torch.equal(before[:, cut + 1], after[:, cut + 1])


def test_108_nor_do_later_target_words_in_a_translator():
    writer, other = translator(), TARGET.clone()
    other[:, 2:] = 9
    assert torch.equal(writer(SOURCE, TARGET)[:, :2], writer(SOURCE, other)[:, :2])


@pytest.mark.parametrize("lengths", [None, torch.tensor([5])], ids=["whole", "padded"])
def test_109_teacher_forcing_in_one_pass_is_the_decoder_step_by_step(lengths: Tensor | None):
    writer = translator()
    source = SOURCE if lengths is None else torch.cat([SOURCE, torch.zeros(1, 2, dtype=torch.long)], 1)
    at_once = writer(source, TARGET, lengths)
    memory = writer.start(source, lengths)
    steps = [writer.head(writer.step(TARGET[:, i : i + 1], memory)) for i in range(4)]
    assert_close(torch.cat(steps, 1), at_once, atol=1e-5, rtol=1e-5)


def test_109_the_loss_of_a_word_teaches_nothing_about_later_words():
    writer = translator()
    written = writer.target(TARGET).detach().requires_grad_()
    logits = writer.head(writer.decoder(written, writer.encode(SOURCE), Mask()))
    (grad,) = torch.autograd.grad(nn.functional.cross_entropy(logits[:, 1], torch.tensor([3])), written)
    assert (grad[:, 2:] == 0.0).all()
    assert (grad[:, :2].abs().amax(-1) > 0).all()


def overheard(writer: nn.Module) -> dict[str, Tensor]:
    """What goes into and comes out of the last cross-attention of a pass."""
    heard: dict[str, Tensor] = {}
    cross = writer.decoder.layers[-1].cross

    def listen(module: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> None:
        heard.update(queries=given[0], data=given[1], out=out)

    hook = cross.register_forward_hook(listen)
    with watch(writer) as seen:
        writer(SOURCE, TARGET)
    hook.remove()
    return heard | {"weights": seen["decoder.layers.1.cross"].weights}


def test_110_queries_come_from_the_decoder_keys_and_values_from_the_encoders_end():
    writer = filled(translator())
    heard, cross = overheard(writer), writer.decoder.layers[-1].cross
    assert heard["queries"].shape[1] == TARGET.shape[1]
    assert torch.equal(heard["data"], writer.encode(SOURCE).states)
    asked = (heard["queries"] @ cross.query.weight.T + cross.query.bias).view(1, 4, 2, 8).transpose(1, 2)
    keys, values = (heard["data"] @ cross.key_value.weight.T + cross.key_value.bias).chunk(2, -1)
    keys, values = (part.view(1, 5, 2, 8).transpose(1, 2) for part in (keys, values))
    shares = (asked @ keys.mT / math.sqrt(8)).softmax(-1)
    assert_close(heard["weights"], shares, atol=1e-5, rtol=1e-4)
    mixed = (shares @ values).transpose(1, 2).flatten(2)
    assert_close(heard["out"], mixed @ cross.output.weight.T + cross.output.bias, atol=1e-4, rtol=1e-4)


def context_by_hand(cross: nn.Module, query: Tensor, states: Tensor) -> Tensor:
    """Steps 2 and 3 of the notes for one query: a score and a weight for every source word, then the mix of values."""
    asked = cross.query.weight @ query + cross.query.bias
    keys, values = (states @ cross.key_value.weight.T + cross.key_value.bias).chunk(2, -1)
    heads = []
    for part in (slice(0, 8), slice(8, 16)):
        scores = [float(asked[part] @ key[part]) / math.sqrt(8) for key in keys]
        total = sum(math.exp(score) for score in scores)
        weights = [math.exp(score) / total for score in scores]
        heads.append(sum(weight * value[part] for weight, value in zip(weights, values, strict=True)))
    return cross.output.weight @ torch.cat(heads) + cross.output.bias


@torch.no_grad()
def written(writer: nn.Module, states: Tensor) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """The logits of every decoding step if its context is made by hand from these states; and both contexts."""
    cross, memory, contexts, logits = writer.decoder.layers[0].cross, writer.start(SOURCE), [], []

    def instead(module: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> Tensor:
        contexts.append((context_by_hand(cross, given[0][0, 0], states), out[0, 0]))
        return contexts[-1][0][None, None]

    hook = cross.register_forward_hook(instead)
    for step in range(TARGET.shape[1]):
        logits.append(writer.head(writer.step(TARGET[:, step : step + 1], memory)))
    hook.remove()
    return torch.cat(logits, 1), contexts


def test_111_every_decoding_step_scores_weighs_mixes_and_is_guided_by_the_source():
    """1. the encoder's output, 2. scores, 3. weights and context, 4. the next word, which the context alone guides."""
    writer, other = filled(translator(layers=1), 0.6), torch.tensor([[9, 9, 8, 8, 9]])
    logits, contexts = written(writer, writer.encode(SOURCE).states[0])
    assert len(contexts) == 4
    for hand, own in contexts:
        assert_close(own, hand, atol=1e-5, rtol=1e-4)
    assert_close(logits, writer(SOURCE, TARGET), atol=1e-4, rtol=1e-4)
    elsewhere, contexts = written(writer, writer.encode(other).states[0])
    assert min(float((own - hand).abs().max()) for hand, own in contexts) > 1e-2
    assert_close(elsewhere, writer(other, TARGET), atol=1e-4, rtol=1e-4)  # its context in place: its next words
    assert (elsewhere.argmax(-1) != logits.argmax(-1)).any()


TYPES = {"encoder": "attention", "decoder": "attention", "cross": "cross"}


@pytest.mark.parametrize("silenced", TYPES)
def test_113_three_types_of_attention_each_to_be_seen_and_silenced(silenced: str):
    writer = translator()
    before, seen = seen_in(writer)
    assert {name.split(".", 3)[0] + "." + name.split(".", 3)[3] for name in seen} == {
        "encoder.attention",
        "decoder.attention",
        "decoder.cross",
    }
    assert (seen["encoder.layers.0.attention"] > 0).all()
    assert (seen["decoder.layers.0.attention"].triu(1) == 0).all()
    assert seen["decoder.layers.0.cross"].shape[-2:] == (4, 5)
    stack = writer.encoder if silenced == "encoder" else writer.decoder
    for layer in stack.layers:
        for parameter in getattr(layer, TYPES[silenced]).output.parameters():
            nn.init.zeros_(parameter)
    after, _ = seen_in(writer)
    assert (after - before).abs().max() > 1e-3
    blind = torch.equal(writer(SOURCE, TARGET), writer(SOURCE.flip(1), TARGET))
    assert blind == (silenced == "cross")


def seen_in(writer: nn.Module) -> tuple[Tensor, dict[str, Tensor]]:
    with watch(writer) as seen:
        logits = writer(SOURCE, TARGET)
    return logits, {name: sight.weights for name, sight in seen.items()}


def log_likelihood(logits: Tensor, tokens: Tensor) -> Tensor:
    """log P of whole sequences: Σ_t log P(x_t | x_<t)."""
    return logits.log_softmax(-1).gather(2, tokens[..., None]).squeeze(2).sum(-1)


def all_sequences(letters: int, length: int) -> Tensor:
    return torch.tensor(list(itertools.product(range(letters), repeat=length)))


def joint(letters: int = 3, length: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    """All sequences of a tiny vocabulary, the log probability of each, and the conditionals it is made of."""
    writer, sequences = (
        filled(language_model(vocabulary=letters + 1, positions="learned")),
        all_sequences(letters, length),
    )
    start = torch.full((len(sequences), 1), letters)
    logits = writer(torch.cat([start, sequences[:, :-1]], 1))[..., :letters].detach()
    return sequences, log_likelihood(logits, sequences), logits.log_softmax(-1)


def test_114_the_product_over_what_came_before_is_a_distribution_over_sequences():
    sequences, scores, conditionals = joint()
    assert_close(scores, conditionals.gather(2, sequences[..., None]).sum((1, 2)), atol=1e-5, rtol=1e-5)
    probabilities = scores.double().exp()
    assert float(probabilities.sum()) == pytest.approx(1.0, abs=1e-5)
    for row, sequence in enumerate(sequences):  # each factor is P(x_t | x_<t) of that very distribution
        for step in range(4):
            past = (sequences[:, :step] == sequence[:step]).all(1)
            with_it = past & (sequences[:, step] == sequence[step])
            share = float(probabilities[with_it].sum() / probabilities[past].sum())
            assert share == pytest.approx(float(conditionals[row, step, sequence[step]].exp()), abs=1e-5)


def test_114_as_written_every_factor_is_one():
    """Trap T1: conditioned on the whole sequence, a word of it is certain, and all sequences together weigh 81."""
    sequences, scores, _ = joint()
    probabilities, literal = scores.double().exp(), []
    for sequence in sequences:
        whole = (sequences == sequence).all(1)
        factors = [
            probabilities[whole & (sequences[:, step] == sequence[step])].sum() / probabilities[whole].sum()
            for step in range(4)
        ]
        literal.append(math.prod(map(float, factors)))
    assert literal == [1.0] * 81
    assert sum(literal) == 81 != pytest.approx(float(probabilities.sum()), rel=0.5)


@pytest.mark.parametrize("mlp", ["relu", "gelu", "swiglu", "experts"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_115_only_attention_moves_anything_between_positions(mlp: str, norm: str):
    layer = filled(translator(mlp=mlp, norm=norm)).encoder.layers[0]
    x = torch.randn(1, 5, 16)
    other = x.clone()
    other[:, 2] += torch.randn(16)
    assert touched(lambda given: layer.around_mlp(given, layer.mlp), x, other) == [2]
    assert touched(layer.around_mlp.norm, x, other) == [2]
    assert touched(lambda given: layer(given, Mask(), NOWHERE), x, other) == [0, 1, 2, 3, 4]


def touched(run: object, x: Tensor, other: Tensor) -> list[int]:
    """Positions whose output changes by more than rounding."""
    return ((run(x) - run(other)).abs().amax((0, 2)) > 1e-5).nonzero().flatten().tolist()


@pytest.mark.parametrize("length", [5, 50])
def test_116_a_block_is_six_products_whatever_the_length(length: int):
    naive = {"kind": "multihead", "heads": 2, "kernel": "naive"}
    layer = translator(attention=naive).encoder.layers[0]
    with Operations() as seen:
        layer(torch.randn(1, length, 16), Mask(), NOWHERE)
    assert [name for name, _ in seen.products] == ["addmm", "bmm", "bmm", "addmm", "addmm", "addmm"]
    dense = 2 * length * 16 * (48 + 16 + 64 + 64)
    assert seen.work() == dense + 4 * length**2 * 16
