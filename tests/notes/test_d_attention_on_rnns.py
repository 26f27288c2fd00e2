"""Notes, part D: attention on top of recurrent networks, after Bahdanau and Luong."""

import pytest
import torch
import torch.nn.functional as F
from measures import depth, filled, made, model, reach, weights_of
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.attention import Additive, Dot, General, Site
from regard.model.attention.kernels import attend
from regard.model.attention.view import View
from regard.model.mask import Mask
from regard.model.stack import Encoded
from regard.model.watch import watch

WIDTH, TARGET = 6, 13
SCORES = ["additive", "dot", "general"]
ORDERS = ["bahdanau", "luong", "luong_feeding", "literal"]


def seq2seq(attention: str = "additive", order: str = "bahdanau", readout: str = "tanh") -> nn.Module:
    """A small recurrent translator with attention."""
    decoder = {"kind": "recurrent", "attention": attention, "order": order, "readout": readout}
    return filled(
        model(
            "seq2seq",
            source_vocab_size=11,
            target_vocab_size=TARGET,
            width=WIDTH,
            encoder={"kind": "recurrent", "direction": "forward"},
            decoder=decoder,
        )
    )


def pair(rows: int = 2, source: int = 5, target: int = 4) -> tuple[Tensor, Tensor]:
    return torch.randint(11, (rows, source)), torch.randint(TARGET, (rows, target))


def score(attention: nn.Module, query: Tensor, states: Tensor) -> Tensor:
    """e_ti by the formulas of the notes: one query a row, all source states."""
    if isinstance(attention, Additive):
        compared = query[:, None] @ attention.query.weight.T + states @ attention.key.weight.T + attention.key.bias
        return torch.tanh(compared) @ attention.score.weight[0]
    transformed = query @ attention.compare.weight.T if isinstance(attention, General) else query
    return (transformed[:, None] * states).sum(-1)


def context(attention: nn.Module, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    """α_t = exp(e_t) / Σ exp(e_t), c_t = Σ_i α_ti h_i."""
    shares = score(attention, query, states).exp()
    shares = shares / shares.sum(-1, keepdim=True)
    return shares, sum(shares[:, i, None] * states[:, i] for i in range(states.shape[1]))


def unrolled(translator: nn.Module, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The decoder by hand, in the order it says: its outputs and its weights."""
    decoder, states = translator.decoder, translator.encode(source).states
    order, cell, state = decoder.order, decoder.cells[0], states[:, -1]
    fed, outputs, weights = torch.zeros(len(source), WIDTH), [], []
    for word in translator.target(target).unbind(1):
        asking = state
        if order.startswith("luong"):
            told = [word, fed] if order == "luong_feeding" else [word]
            state = asking = torch.gru_cell(torch.cat(told, -1), state, *cell.weights())
        shares, found = context(decoder.attention, asking, states)
        if order in ("bahdanau", "literal"):
            state = torch.gru_cell(torch.cat([word, found if order == "bahdanau" else fed], -1), state, *cell.weights())
        out = torch.cat([state, found], -1)
        if decoder.combine is not None:
            out = torch.tanh(torch.cat([found, state], -1) @ decoder.combine.weight.T)
        fed = out if order == "luong_feeding" else found
        outputs.append(out)
        weights.append(shares)
    return torch.stack(outputs, 1), torch.stack(weights, 1)


@pytest.mark.parametrize("attention", [*SCORES, "none"])
def test_038_every_step_reads_all_encoder_states_and_without_attention_none(attention: str):
    translator, (source, target) = seq2seq(attention), pair()
    encoded = translator.encode(source)
    states = encoded.states.detach().requires_grad_()
    final = tuple(tuple(part.detach() for part in state) for state in encoded.final)
    outputs = translator.decoder(translator.target(target), Encoded(states, None, final), Mask())
    if attention == "none":
        assert torch.autograd.grad(outputs.sum(), states, allow_unused=True) == (None,)
    else:
        assert reach(outputs, states).all()


@pytest.mark.parametrize("attention", SCORES)
def test_039_040_scores_of_the_last_state_become_a_distribution_over_the_source(attention: str):
    translator, (source, target) = seq2seq(attention), pair()
    with watch(translator) as seen:
        translator(source, target)
    weights = seen["decoder.attention"].weights[:, 0]
    assert weights.shape == (2, 4, 5)
    assert_close(weights, unrolled(translator, source, target)[1], atol=1e-6, rtol=1e-5)
    assert (weights > 0).all()
    assert_close(weights.sum(-1), torch.ones(2, 4))


def test_039_a_higher_score_is_a_larger_weight():
    attention, query, states = filled(Additive(Site(WIDTH))), torch.randn(3, WIDTH), torch.randn(3, 5, WIDTH)
    weights = weights_of(attention, query[:, None], states)
    assert torch.equal(weights[:, 0, 0].argsort(), score(attention, query, states).argsort())


@pytest.mark.parametrize("kind", [Additive, Dot, General])
def test_041_the_context_is_the_weighted_sum_of_the_states(kind: type):
    attention, query, states = filled(kind(Site(WIDTH))), torch.randn(3, WIDTH), torch.randn(3, 5, WIDTH)
    found = attention(query[:, None], states, Mask())[:, 0]
    assert_close(found, context(attention, query, states)[1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ["additive", "general"])
@pytest.mark.parametrize("order", ORDERS)
def test_042_every_order_of_state_and_context_is_the_loop_it_claims_to_be(order: str, attention: str):
    translator, (source, target) = seq2seq(attention, order), pair()
    outputs, weights = unrolled(translator, source, target)
    with watch(translator) as seen:
        logits = translator(source, target)
    assert_close(logits, translator.head(outputs), atol=1e-5, rtol=1e-5)
    assert_close(seen["decoder.attention"].weights[:, 0], weights, atol=1e-5, rtol=1e-5)


def test_042_the_orders_of_the_notes_are_not_one_model():
    """Trap T3: with one set of weights, c_t and c_{t-1} in the update give other states."""
    bahdanau, literal = seq2seq("additive", "bahdanau"), seq2seq("additive", "literal")
    literal.load_state_dict(bahdanau.state_dict())
    source, target = pair()
    assert (bahdanau(source, target) - literal(source, target)).abs().max() > 1e-2


@pytest.mark.parametrize("order", ["bahdanau", "literal"])
def test_042_the_literal_first_state_has_not_yet_seen_a_context(order: str):
    translator, (source, target) = seq2seq("additive", order), pair(target=1)
    encoded = translator.encode(source)
    other = Encoded(encoded.states + 1.0, None, encoded.final)
    states = []
    for given in (encoded, other):
        memory = translator.decoder.start(given, 2)
        translator.decoder(translator.target(target), None, Mask(), memory)
        states.append(memory.held()[0].held[0])
    assert torch.equal(*states) == (order == "literal")


def test_043_the_next_word_is_a_softmax_over_state_and_context():
    translator, (source, target) = seq2seq(readout="concat"), pair()
    outputs, weights = unrolled(translator, source, target)
    states = translator.encode(source).states
    assert_close(outputs[..., WIDTH:], weights @ states, atol=1e-6, rtol=1e-5)  # [s_t ; c_t]
    scores = outputs @ translator.head.weight.T + translator.head.bias
    wanted = scores.exp() / scores.exp().sum(-1, keepdim=True)
    assert_close(translator(source, target).softmax(-1), wanted, atol=1e-6, rtol=1e-5)


def test_044_each_state_makes_the_next_context_and_that_the_next_word():
    translator, (source, target) = seq2seq(readout="concat"), pair()
    states = translator.states(source, target)[..., :WIDTH]
    contexts = translator.states(source, target)[..., WIDTH:]
    encoded = translator.encode(source).states
    for step in range(1, 4):
        _, wanted = context(translator.decoder.attention, states[:, step - 1], encoded)
        assert_close(contexts[:, step], wanted, atol=1e-5, rtol=1e-5)
        assert (contexts[:, step] - contexts[:, step - 1]).abs().max() > 1e-4


def test_047_recurrent_states_wait_for_each_other_and_attention_does_not():
    recurrent = made("encoder", {"kind": "recurrent", "cell": "elman", "direction": "forward"}, WIDTH)
    attentive = made("encoder", {"kind": "transformer", "layers": 1, "attention": "dot"}, WIDTH)
    waits = [
        [depth(encoder(torch.randn(1, length, WIDTH), Mask()).states) for length in (8, 16, 32)]
        for encoder in (recurrent, attentive)
    ]
    assert waits[0][2] - waits[0][1] == 2 * (waits[0][1] - waits[0][0]) >= 16
    assert waits[1][0] == waits[1][1] == waits[1][2]


@pytest.mark.parametrize("kind", [Additive, Dot, General])
def test_047_attention_over_given_states_waits_for_none_of_them(kind: type):
    """Trap T15: the drawback the notes give attention is the recurrent network's."""
    attention, waits = filled(kind(Site(WIDTH))), []
    for queries, states in ((4, 8), (4, 64), (32, 64)):
        given = [torch.randn(1, length, WIDTH, requires_grad=True) for length in (queries, states)]
        waits.append(depth(attention(*given, Mask())))
    assert waits[0] == waits[1] == waits[2]


@pytest.mark.parametrize("order", ORDERS)
def test_047_in_luongs_order_all_steps_look_at_once(order: str):
    """Trap T15 again: only a context that is fed back makes steps wait for each other's looks."""
    translator, (source, target) = seq2seq("general", order), pair(target=7)
    asked: list[int] = []
    translator.decoder.attention.register_forward_hook(lambda module, given, out: asked.append(given[0].shape[1]))
    translator(source, target)
    assert asked == ([7] if order == "luong" else [1] * 7)


def test_048_attention_is_a_lookup_that_needs_no_exact_match():
    keys, values = torch.eye(4)[None, None] * 3, torch.randn(1, 1, 4, 4)
    near = keys[:, :, 2:3] + torch.tensor([0.0, 0.9, 0.0, -0.4])  # no key is equal to it
    found = [looked_up(near, keys, values, temperature) for temperature in (100.0, 1.0, 0.01)]
    assert_close(found[2][0, 0, 0], values[0, 0, 2])  # cold: the dictionary's answer
    assert_close(found[0][0, 0, 0], values[0, 0].mean(0), atol=0.1, rtol=0)  # hot: a bit of everything
    distances = [float((each - values[:, :, 2:3]).norm()) for each in found]
    assert distances[0] > distances[1] > distances[2]


def looked_up(queries: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    return attend(queries, keys, values, View(Mask()), scale=1 / temperature)


def test_048_gradients_reach_queries_keys_and_values():
    given = [torch.randn(1, 1, size, 4, requires_grad=True) for size in (2, 5, 5)]
    for grad in torch.autograd.grad(looked_up(*given, temperature=2.0).square().sum(), given):
        assert (grad.abs().amax(-1) > 0).all()


def test_049_keys_and_values_are_contextual_states_and_not_embeddings():
    translator = seq2seq("general")
    source, changed = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 5, 3, 4]])
    keys, values = translator.decoder.attention.read(translator.encode(source).states)
    others, _ = translator.decoder.attention.read(translator.encode(changed).states)
    assert torch.equal(keys, values)  # one state, two roles
    differs = (keys != others)[0, 0].any(-1)
    assert differs.tolist() == [False, True, True, True]  # context up to each word
    same = (translator.source(source) == translator.source(changed))[0].all(-1)
    assert same.tolist() == [True, False, True, True]


def test_050_a_linear_map_is_applied_to_the_decoder_state_alone():
    attention, one, other = filled(General(Site(WIDTH))), torch.randn(1, 1, WIDTH), torch.randn(1, 1, WIDTH)
    assert_close(attention.ask(2 * one + other), 2 * attention.ask(one) + attention.ask(other))
    assert_close(attention.ask(one)[:, 0], one @ attention.compare.weight.T)
    states = torch.randn(1, 5, WIDTH)
    assert torch.equal(attention.read(states)[0][:, 0], states)


def test_051_052_053_054_the_worked_sizes_seven_and_six():
    attention, state, states = filled(General(Site(7))), torch.randn(1, 1, 7), torch.randn(1, 6, 7)
    assert attention.compare.weight.shape == (7, 7)
    asked, (keys, values) = attention.ask(state), attention.read(states)
    assert asked[0, 0].shape == (1, 7)
    weights, found = weights_of(attention, state, states)[0, 0], attention(state, states, Mask())
    similarity = state[0] @ attention.compare.weight.T @ states[0].T
    assert similarity.shape == weights.shape == (1, 6)
    assert_close(weights, similarity.softmax(-1), atol=1e-6, rtol=1e-5)  # softmax(h_t W_a Kᵀ)
    assert found.shape == (1, 1, 7)  # batch × 1 × hidden
    assert_close(found[0], weights @ states[0], atol=1e-6, rtol=1e-5)
    assert torch.equal(keys, values)


def test_055_state_and_context_are_brought_back_to_the_hidden_size():
    translator, (source, target) = seq2seq("general", "luong"), pair()
    decoder = translator.decoder
    assert decoder.combine.weight.shape == (WIDTH, 2 * WIDTH)
    states, _ = decoder.cells[0].run(translator.target(target), (translator.encode(source).states[:, -1],))
    found = torch.stack(
        [context(decoder.attention, step, translator.encode(source).states)[1] for step in states.unbind(1)], 1
    )
    wanted = torch.tanh(torch.cat([found, states], -1) @ decoder.combine.weight.T)
    assert_close(translator.states(source, target), wanted, atol=1e-5, rtol=1e-5)


def test_056_the_prediction_is_a_softmax_over_the_vocabulary():
    translator, (source, target) = seq2seq("general", "luong"), pair()
    predicted = translator(source, target).softmax(-1)
    assert predicted.shape == (2, 4, TARGET)
    assert_close(predicted.sum(-1), torch.ones(2, 4))
    bent = unrolled(translator, source, target)[0]
    scores = bent @ translator.head.weight.T + translator.head.bias
    assert_close(predicted, scores.exp() / scores.exp().sum(-1, keepdim=True), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", [Additive, Dot, General])
def test_057_padding_is_minus_infinity_before_the_softmax(kind: type):
    attention, query, states = filled(kind(Site(WIDTH))), torch.randn(2, WIDTH), torch.randn(2, 5, WIDTH)
    lengths = torch.tensor([3, 5])
    weights = weights_of(attention, query[:, None], states, Mask(key_lengths=lengths))
    scores = score(attention, query, states)
    scores[0, 3:] = float("-inf")
    assert_close(weights[:, 0, 0], F.softmax(scores, -1), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", [Additive, Dot, General])
def test_058_not_one_bit_of_the_padding_gets_into_the_context(kind: type):
    attention, queries, states = filled(kind(Site(WIDTH))), torch.randn(2, 3, WIDTH), torch.randn(2, 5, WIDTH)
    mask, loud = Mask(key_lengths=torch.tensor([3, 5])), states.clone()
    loud[0, 3:] = 1e30  # any weight but 0 would be heard
    assert torch.equal(attention(queries, states, mask), attention(queries, loud, mask))
    assert not torch.equal(attention(queries, states, Mask()), attention(queries, loud, Mask()))


@pytest.mark.parametrize("attention", SCORES)
def test_058_pad_weights_are_exactly_zero_and_noise_without_the_mask(attention: str):
    translator, (source, target) = seq2seq(attention), pair()
    lengths = torch.tensor([3, 5])
    with watch(translator) as masked:
        right = translator(source, target, lengths)
    assert (masked["decoder.attention"].weights[0, 0, :, 3:] == 0.0).all()
    alone = translator(source[:1, :3], target[:1])
    assert_close(right[:1], alone, atol=1e-6, rtol=1e-5)

    encoded = translator.encode(source, lengths)
    with watch(translator) as bare:
        noisy = translator.decoder(translator.target(target), Encoded(encoded.states, None, encoded.final), Mask())
    assert (bare["decoder.attention"].weights[0, 0, :, 3:].sum(-1) > 0.01).all()
    assert (translator.head(noisy)[:1] - alone).abs().max() > 1e-3
