"""Who looked at which word: weights that add up, lines that stand under one another, pictures that open."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.datasets.tokenizer import Words
from regard.datasets.tokenizer.trainer import BOS, EOS
from regard.decoding.sample import Greedy
from regard.errors import InputError
from regard.looking.alignment import SHADES, Alignment, align, beside
from regard.model.assembly import Seq2Seq
from regard.model.build import build
from regard.model.watch import watch
from regard.tasks.translation import Translator
from regard.tasks.translation.tokenizers import TokenizerPair

few = settings(deadline=None, max_examples=40, derandomize=True)
SOURCE, TARGET = "ein Hund läuft über die Wiese", "a dog runs across the green meadow"
TOKENS = Words().train([SOURCE, TARGET])
HEADS = {"kind": "multihead", "heads": 2}
READING = {"kind": "recurrent", "layers": 1}
STACKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "additive": (READING, {"kind": "recurrent", "layers": 1, "attention": "additive"}),
    "general": (READING, {"kind": "recurrent", "layers": 2, "attention": "general", "order": "luong_feeding"}),
    "convolution": ({"kind": "convolution", "layers": 1}, {"kind": "convolution", "layers": 2}),
    "transformer": (
        {"kind": "transformer", "layers": 1, "attention": HEADS},
        {"kind": "transformer", "layers": 2, "attention": HEADS, "cross": HEADS},
    ),
}
NAMES = {
    "additive": ["attention"],
    "general": ["attention"],
    "convolution": ["attention.0", "attention.1"],
    "transformer": ["layers.0.cross", "layers.1.cross"],
}


def translator(encoder: dict[str, Any], decoder: dict[str, Any]) -> Translator:
    torch.manual_seed(0)
    sizes = {"width": 16, "source_vocab_size": len(TOKENS), "target_vocab_size": len(TOKENS)}
    model = build({"model": {"kind": "seq2seq", "encoder": encoder, "decoder": decoder, **sizes}}).eval()
    assert isinstance(model, Seq2Seq)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return Translator(model, TokenizerPair(TOKENS, TOKENS), 20, Greedy())


@pytest.mark.parametrize("kind", STACKS)
@pytest.mark.parametrize("target", [TARGET, "dog", ""])
def test_every_written_word_looks_at_the_whole_source(kind: str, target: str) -> None:
    found = translator(*STACKS[kind]).align(SOURCE, target)
    assert found.source == [*SOURCE.split(), "<eos>"]
    assert found.target == [*target.split(), "<eos>"]
    weights = torch.tensor(found.weights)
    assert weights.shape == (len(found.target), len(found.source))
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(len(found.target)))
    assert weights.std(1).min() > 1e-3


@pytest.mark.parametrize("kind", STACKS)
def test_weights_are_the_mean_of_those_to_the_source_alone(kind: str) -> None:
    """Self-attention is another thing."""
    used = translator(*STACKS[kind])
    source, inputs = [*TOKENS.encode([SOURCE])[0], EOS], [BOS, *TOKENS.encode([TARGET])[0]]
    with watch(used.model.decoder) as seen, torch.inference_mode():
        used.model.states(torch.tensor([source]), torch.tensor([inputs]), torch.tensor([len(source)]))
    looks = [seen[name].weights.mean(1)[0] for name in NAMES[kind]]
    mean = torch.stack(looks).mean(0)
    torch.testing.assert_close(torch.tensor(align(used.model, source, inputs)), mean)
    torch.testing.assert_close(torch.tensor(used.align(SOURCE, TARGET).weights), mean)


@pytest.mark.parametrize("context", ["start", "every_step"])
def test_a_model_that_knows_the_source_by_one_vector_says_so(context: str) -> None:
    decoder = {"kind": "recurrent", "layers": 1, "attention": "none", "context": context}
    with pytest.raises(
        InputError, match=r"^this model has no attention to the source to draw: it knows it by one fixed vector$"
    ):
        translator(READING, decoder).align(SOURCE, TARGET)


@pytest.mark.parametrize(
    "decoder",
    [
        {"kind": "convolution", "layers": 1, "attention": "none"},
        {"kind": "transformer", "layers": 1, "attention": HEADS, "cross": "none"},
    ],
    ids=["convolution", "transformer"],
)
def test_a_model_that_looks_at_all_words_alike_shows_it(decoder: dict[str, Any]) -> None:
    weights = torch.tensor(translator(READING, decoder).align(SOURCE, TARGET).weights)
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / 7))


def test_pieces_stand_beside_each_other_and_look_at_nothing_else() -> None:
    parts = [Alignment(["a", "b"], ["x"], [[0.3, 0.7]]), Alignment(["c"], ["y", "z"], [[1.0], [0.9]])]
    both = beside(parts)
    assert (both.source, both.target) == (["a", "b", "c"], ["x", "y", "z"])
    assert both.weights == [[0.3, 0.7, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.9]]


WORD = st.text("aZ.한국😀é", min_size=1, max_size=9)
WEIGHT = st.floats(0, 1)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[str], list[list[float]]]:
    source = draw(st.lists(WORD, min_size=1, max_size=20))
    target = draw(st.lists(WORD, min_size=1, max_size=20))
    row = st.lists(WEIGHT, min_size=len(source), max_size=len(source))
    return source, target, draw(st.lists(row, min_size=len(target), max_size=len(target)))


@few
@given(tables())
def test_columns_stand_under_their_words(table: tuple[list[str], list[str], list[list[float]]]) -> None:
    """In the cells of a terminal: some letters are two wide."""
    source, target, _ = table
    lines = str(Alignment(*table)).split("\n")
    above, below = lines[: -len(target)], lines[-len(target) :]
    label = max(map(cell_len, target)) + 1
    assert {cell_len(line) for line in lines} == {label + 2 * len(source)}
    assert max(map(cell_len, lines)) <= 80
    assert len(above) == max(map(len, source))
    assert "".join(above).count("Z") == "".join(source).count("Z")
    for line, word in zip(below, target, strict=True):
        assert line.startswith(" " * (label - 1 - cell_len(word)) + word + " ")
        assert {*line[-2 * len(source) :]} <= {*SHADES}


def test_twenty_tokens_fit_a_terminal() -> None:
    used = translator(*STACKS["transformer"])
    words = [*SOURCE.split(), *TARGET.split(), *SOURCE.split()]
    found = used.align(" ".join(words), " ".join(words[::-1]))
    lines = str(found).split("\n")
    assert (len(found.source), len(found.target)) == (20, 20)
    assert {len(line) for line in lines} == {len("meadow ") + 2 * 20}


def test_a_drawing_shows_words_upright_and_weights_as_shades() -> None:
    found = Alignment(["der", "Hund"], ["the", "dog"], [[1.0, 0.0], [0.25, 0.75]])
    assert str(found) == "\n".join(
        [
            "      H ",
            "    d u ",
            "    e n ",
            "    r d ",
            "the ██  ",
            "dog ░░▓▓",
        ]
    )


@pytest.mark.parametrize("name", ["one.png", "deep/er/one.svg"])
def test_a_picture_is_written(name: str, tmp_path: Path) -> None:
    found = translator(*STACKS["additive"]).align(SOURCE, TARGET)
    with mpl.rc_context({"svg.fonttype": "none"}):
        path = found.draw(tmp_path / name, "one sentence")
    assert path == tmp_path / name
    if path.suffix == ".png":
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    else:
        words = {element.text for element in ElementTree.parse(path).iter() if element.text}
        assert {*found.source, *found.target, "one sentence", "weight"} <= words


def test_a_picture_grows_with_the_text(tmp_path: Path) -> None:
    sizes = []
    for words in (2, 20):
        path = Alignment(["a"] * words, ["b"] * words, [[0.5] * words] * words).draw(tmp_path / f"{words}.svg")
        root = ElementTree.parse(path).getroot()
        sizes.append((float(root.attrib["width"].removesuffix("pt")), float(root.attrib["height"].removesuffix("pt"))))
    assert sizes[1][0] > 2 * sizes[0][0]
    assert sizes[1][1] > 2 * sizes[0][1]
