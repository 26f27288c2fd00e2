"""Notes, parts A, C, D and E, measured: what length and distance do to each kind of model."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lessons import ATTENTIVE, FIXED, RECURRENT, Pair, right, taught, teach
from measures import depth, filled, made, model, parameters, translator
from torch import Tensor

from regard.datasets.toys import Toys
from regard.model.mask import Mask
from regard.model.stack import DecoderSite
from regard.trained import Trained

CELLS = ["elman", "lstm", "gru"]


def grows(depths: list[int]) -> bool:
    """In a straight line, when the length doubles and doubles again."""
    return depths[2] - depths[1] == 2 * (depths[1] - depths[0]) > 0


@pytest.mark.parametrize("kind", CELLS)
def test_010_015_every_step_of_a_cell_waits_for_the_one_before_with_gates_or_without(kind: str):
    """By the cell's own formula: torch's fused kernel may hide its steps in one node, but takes them all the same."""
    cell = made("cell", kind, 8, 8)
    depths = []
    for length in (8, 16, 32):
        x = torch.randn(1, length, 8)
        state = cell.zero(x)
        for projected in cell.project(x).unbind(1):
            state = cell.step(projected, state)
        depths.append(depth(state[0]))
    assert grows(depths)
    assert depths[0] >= 8


def test_010_a_whole_recurrent_translator_waits_longer_for_longer_texts_and_a_transformer_does_not():
    recurrent = model("seq2seq", width=16, encoder=RECURRENT, decoder={"kind": "recurrent", "attention": "additive"})
    chains = []
    for writer in (recurrent, translator()):
        texts = [torch.randint(11, (1, length)) for length in (8, 16, 32)]
        chains.append([depth(writer(text, text).logsumexp(-1).sum()) for text in texts])
    assert grows(chains[0])
    assert chains[1][0] == chains[1][1] == chains[1][2]


LETTERS, LONGEST = 6, 10
TOY = {"operation": "reverse", "letters": LETTERS, "min_length": 2, "max_length": LONGEST, "train": 4000} | {
    "valid": 9,
    "test": 180,
}


@pytest.fixture(scope="module")
def pupils(runs: Path) -> dict[str, Trained]:
    """One fixed vector and attention: the same data, the same steps, and about the same size."""
    data, decoders = {"kind": "toy", **TOY}, {"fixed": FIXED, "attentive": ATTENTIVE}
    return {name: taught(runs / name, data, RECURRENT, decoder, steps=160) for name, decoder in decoders.items()}


def words(pair: Pair) -> int:
    return len(pair[0].split())


def test_034_046_one_vector_fails_long_sentences_and_attention_does_not(pupils: dict[str, Trained]):
    sizes = [parameters(pupil.model) for pupil in pupils.values()]
    assert max(sizes) < 1.1 * min(sizes)
    pairs, exact = list(Toys(**TOY).read("test")), {}
    for name, pupil in pupils.items():
        marks = right(pupil, pairs)
        for part, lengths in (("short", range(2, 5)), ("middle", range(5, 8)), ("long", range(8, 11))):
            chosen = [mark for mark, pair in zip(marks, pairs, strict=True) if words(pair) in lengths]
            exact[name, part] = sum(chosen) / len(chosen)
    assert exact["fixed", "short"] > 0.85
    assert exact["fixed", "short"] > exact["fixed", "middle"] > exact["fixed", "long"]
    assert exact["fixed", "long"] < 0.4
    assert min(exact["attentive", part] for part in ("short", "middle", "long")) > 0.85


def test_046_attention_finds_the_alignment_nobody_told_it(pupils: dict[str, Trained]):
    """Word t of a reversed text is word n - 1 - t of the source."""
    found = []
    for source, target in list(Toys(**TOY).read("test"))[::3]:
        rows = pupils["attentive"].answerer.align(source, target).weights[:-1]  # but for <end>
        found += [row.index(max(row)) == len(rows) - 1 - place for place, row in enumerate(rows)]
    assert len(found) > 300
    assert sum(found) / len(found) >= 0.9


@pytest.mark.parametrize("attention", ["none", "additive", "dot", "general"])
@pytest.mark.parametrize("kind", CELLS)
def test_036_all_states_but_the_last_are_lost_on_a_decoder_without_attention(kind: str, attention: str):
    encoder = {"kind": "recurrent", "cell": kind, "direction": "forward"}
    decoder = {"kind": "recurrent", "cell": kind, "attention": attention}
    writer = filled(
        model("seq2seq", source_vocab_size=11, target_vocab_size=13, width=6, encoder=encoder, decoder=decoder)
    )
    encoded, said = writer.encode(torch.randint(11, (2, 9))), writer.target(torch.randint(13, (2, 4)))
    others = torch.cat([torch.randn(2, 8, 6), encoded.states[:, -1:]], 1)
    heard, unheard = (writer.decoder(said, given, Mask()) for given in (encoded, replace(encoded, states=others)))
    assert torch.equal(heard, unheard) == (attention == "none")


STACKS = {
    "elman": {"kind": "recurrent", "cell": "elman"},
    "convolution": {"kind": "convolution", "layers": 2, "kernel_size": 3},
    "attention": {"kind": "transformer", "layers": 1, "attention": {"kind": "multihead", "heads": 2}},
}


@pytest.mark.parametrize(("layers", "kernel_size"), [(1, 3), (3, 3), (2, 5)])
def test_077_a_convolution_sees_so_far_and_not_a_step_further(layers: int, kernel_size: int):
    sizes = influence({"kind": "convolution", "layers": layers, "kernel_size": kernel_size})
    edge = layers * (kernel_size - 1)
    assert (sizes[: edge + 1] > 0).all()
    assert (sizes[edge + 1 :] == 0.0).all()


def test_077_a_recurrent_network_forgets_with_distance_and_attention_does_not():
    fading, flat = (influence(STACKS[name]) for name in ("elman", "attention"))
    assert fading[4] > 5 * fading[16] > 25 * fading[32] > 0
    assert flat[1:].max() < 3 * flat[1:].min()


def influence(decoder: dict) -> Tensor:
    """How much the last output changes with the input so many steps before: gradients, the mean of many texts."""
    x = torch.randn(64, 33, 16, requires_grad=True)
    last = made("decoder", decoder, DecoderSite(16))(x, None, Mask())[:, -1]
    (grad,) = torch.autograd.grad((last * torch.randn_like(last)).sum(), x)
    return grad.norm(dim=-1).mean(0).flip(0)


HEADS = {"kind": "multihead", "heads": 2}
WAYS = {
    "attention": ({"kind": "transformer", "attention": HEADS}, lambda n: 1),
    "restricted": (
        {"kind": "transformer", "attention": HEADS, "pattern": {"kind": "window", "width": 3}},
        lambda n: math.ceil((n - 1) / 2),
    ),
    "contiguous": ({"kind": "convolution", "kernel_size": 3}, lambda n: math.ceil((n - 1) / 2)),
    "dilated": ({"kind": "convolution", "kernel_size": 3, "dilation": 3}, lambda n: round(math.log(n, 3))),
}


@pytest.mark.parametrize("length", [9, 27, 81])
@pytest.mark.parametrize("way", WAYS)
def test_141_layers_until_the_last_position_hears_of_the_first(way: str, length: int):
    """O(1), O(n/r), and trap T11: O(log_k n) only if each layer's kernel is spread wider, else O(n/k)."""
    stack, layers = WAYS[way]
    needed = layers(length)
    assert hears(stack | {"layers": needed}, length)
    assert needed == 1 or not hears(stack | {"layers": needed - 1}, length)


def hears(decoder: dict, length: int) -> bool:
    """Whether there is any gradient from the last output to the first input."""
    stack = made("decoder", decoder | {"positions": "none"}, DecoderSite(8)).double()
    x = torch.randn(1, length, 8, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(stack(x, None, Mask())[:, -1].sum(), x)
    return bool(grad[:, 0].abs().sum() > 0)


@pytest.mark.parametrize("kind", CELLS)
def test_141_a_recurrent_path_is_as_long_as_the_text(kind: str):
    """One layer reaches everything, over as many states as lie between: cut one, and nothing comes through."""
    cell, x = made("cell", kind, 8, 8), torch.randn(1, 9, 8)
    for cut in range(9):
        first, state = x[:, :1].clone().requires_grad_(), cell.zero(x)
        for step, projected in enumerate(cell.project(torch.cat([first, x[:, 1:]], 1)).unbind(1)):
            state = tuple(part.detach() for part in state) if step == cut else state
            state = cell.step(projected, state)
        (grad,) = torch.autograd.grad(state[0].sum(), first)
        assert bool((grad != 0).any()) == (cut == 0)  # before the first step there is nothing to cut


def test_077_recall_over_distance_learnt_by_all_three():
    """Twelve letters of four kinds, and then the question: which was the one d before? A guess is right in 1 of 4."""
    recurrent, convolution, attention = (recall(STACKS[name]) for name in ("elman", "convolution", "attention"))
    assert recurrent[0] > 0.7
    assert recurrent[:4].mean() > recurrent[4:8].mean() + 0.1  # the earlier, the sooner forgotten
    assert recurrent[6:].max() < 0.4
    assert convolution[:4].min() > 0.97  # two layers of kernel_size 3 see four letters and the question
    assert convolution[4:].max() < 0.35
    assert attention.min() > 0.97


def recall(decoder: dict) -> Tensor:
    """The share of right answers for d = 1 … 12, of a model taught with all of them."""
    writer = model("language_model", vocab_size=4 + 12, width=32, tie_embeddings="none", decoder=decoder)

    def answered() -> tuple[Tensor, Tensor]:
        texts, wanted = asked(torch.randint(1, 13, (128,)))
        return writer.head(writer.states(texts)[:, -1]), wanted

    teach(writer, answered, steps=160)
    with torch.no_grad():
        texts, wanted = asked(torch.arange(1, 13).repeat_interleave(500))
        return (writer(texts)[:, -1].argmax(-1) == wanted).double().view(12, 500).mean(1)


def asked(distances: Tensor) -> tuple[Tensor, Tensor]:
    """Letters, the question behind them, and the answer."""
    letters = torch.randint(4, (len(distances), 12))
    return torch.cat([letters, 3 + distances[:, None]], 1), letters.gather(1, 12 - distances[:, None])[:, 0]
