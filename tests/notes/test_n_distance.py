"""Notes, parts A, C, D and E, measured: what length and distance do to each kind of model."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lessons import ATTENTIVE, FIXED, RECURRENT, Pair, right, taught
from measures import depth, filled, made, model, parameters, translator
from torch import Tensor, nn

from regard.data.toys import Toys
from regard.look.alignment import align
from regard.model.mask import Mask
from regard.trained import Trained
from regard.training.optimizer import Muon

CELLS = ["elman", "lstm", "gru"]


def grows(depths: list[int]) -> bool:
    """In a straight line, when the length doubles and doubles again."""
    return depths[2] - depths[1] == 2 * (depths[1] - depths[0]) > 0


@pytest.mark.parametrize("kind", CELLS)
def test_010_every_step_of_a_cell_waits_for_the_one_before(kind: str):
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
TOY = {"task": "reverse", "letters": LETTERS, "shortest": 2, "longest": LONGEST, "train": 4000, "valid": 9, "test": 180}


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
        rows = align(pupils["attentive"].translator, source, target).weights[:-1]  # but for <end>
        found += [row.index(max(row)) == len(rows) - 1 - place for place, row in enumerate(rows)]
    assert len(found) > 300
    assert sum(found) / len(found) >= 0.9


def test_035_a_thousand_words_do_not_fit_in_one_vector(pupils: dict[str, Trained]):
    """There are more such texts than vectors, so that some must share one; and what is really kept is far less.

    A reader is fitted to the trained encoder's vector anew for every length T, and asked for each of the T
    letters of unseen texts: it is linear, so it shows what lies open in the vector, not all that a
    cleverer one could find. That the share falls to chance for long texts is measured; that it must
    fall is the count.
    """
    encoder = pupils["fixed"]
    letters = encoder.translator.vocabulary.source.encode([" ".join("abcdef")])[0]
    bits = {length: length * math.log2(LETTERS) for length in (3, 1000)}
    vector = encoder.model.encode(torch.tensor([letters])).summary()
    assert bits[3] < 8 * vector.nbytes < bits[1000]
    held = [letters_held(encoder.model, torch.tensor(letters), length) for length in (3, 10, 100, 1000)]
    assert held[0] > 0.9
    assert held[0] > held[1] > held[2] > held[3]
    assert held[3] < 1 / LETTERS + 0.02


@torch.no_grad()
def letters_held(writer: nn.Module, letters: Tensor, length: int, texts: int = 600) -> float:
    """The share of letters the best linear reader gets back from the last state, of texts it was not fitted to."""
    chosen = torch.randint(LETTERS, (texts, length))
    vectors = F.pad(writer.encode(letters[chosen]).summary(), (0, 1), value=1.0).double()
    wanted = F.one_hot(chosen, LETTERS).double().flatten(1)
    known = texts // 2
    read = vectors[known:] @ torch.linalg.lstsq(vectors[:known], wanted[:known]).solution
    return float((read.unflatten(1, (length, LETTERS)).argmax(-1) == chosen[known:]).double().mean())


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
    last = made("decoder", decoder, 16, None)(x, None, Mask())[:, -1]
    (grad,) = torch.autograd.grad((last * torch.randn_like(last)).sum(), x)
    return grad.norm(dim=-1).mean(0).flip(0)


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
    optimizers = Muon(rate=0.04, adamw_rate=0.016).build(writer)
    for step in range(160):
        texts, wanted = asked(torch.randint(1, 13, (128,)))
        F.cross_entropy(writer.head(writer.states(texts)[:, -1]), wanted).backward()
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * min(1.0, 2 - step / 80)
            optimizer.step()
            optimizer.zero_grad()
    with torch.no_grad():
        texts, wanted = asked(torch.arange(1, 13).repeat_interleave(500))
        return (writer(texts)[:, -1].argmax(-1) == wanted).double().view(12, 500).mean(1)


def asked(distances: Tensor) -> tuple[Tensor, Tensor]:
    """Letters, the question behind them, and the answer."""
    letters = torch.randint(4, (len(distances), 12))
    return torch.cat([letters, 3 + distances[:, None]], 1), letters.gather(1, 12 - distances[:, None])[:, 0]
