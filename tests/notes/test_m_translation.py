"""Notes, parts C, D and G, put to work: the examples of the notes, learnt and translated."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import torch
from lessons import RECURRENT, Pair, right, taught, written
from torch import Tensor, nn
from torch.testing import assert_close

from regard.calls.training import train
from regard.datasets.dates import Dates
from regard.datasets.phrases import Phrases
from regard.datasets.tokenizer.trainer import BOS, EOS
from regard.examples import apple, evening
from regard.examples.apple import APPLE, because
from regard.examples.evening import GREETING
from regard.examples.runs import Runs
from regard.looking.alignment import Alignment
from regard.model.attention import Additive, Attention, Multihead
from regard.model.build import build
from regard.model.memory import Memory
from regard.model.recurrent import Cell, Gru, Lstm
from regard.model.watch import watch
from regard.trained import Trained, open_run
from regard.verbs import translate

KOREAN, ENGLISH = "좋은 저녁입니다.", "Good evening."


@pytest.fixture(scope="module")
def phrasebook(runs: Path) -> Trained:
    """Korean to English through one fixed vector."""
    data = {"kind": "phrases", "source": "ko", "target": "en"}
    forward = RECURRENT | {"direction": "forward"}
    return taught(runs / "phrasebook", data, forward, RECURRENT, steps=120)


def begun(trained: Trained, text: str) -> tuple[Tensor, Memory]:
    """The encoder's states for one text, and the decoder's memory before its first step."""
    ids = [*trained.answerer.tokenizers.source.encode([text])[0], EOS]
    source, lengths = torch.tensor([ids]), torch.tensor([len(ids)])
    return trained.model.encode(source, lengths).states, trained.model.start(source, lengths)


def test_031_one_word_a_step_until_the_end(phrasebook: Trained, monkeypatch: pytest.MonkeyPatch):
    model, given = phrasebook.model, []
    step = model.step

    def counted(tokens: Tensor, memory: Memory) -> Tensor:
        given.append(tokens)
        return step(tokens, memory)

    monkeypatch.setattr(model, "step", counted)
    sources = [KOREAN, "환영합니다!", "기차는 언제 와요?"]
    found = [translated.text for translated in translate(phrasebook, sources)]
    assert found == [ENGLISH, "Welcome!", "When is the train coming?"]
    lengths = [len(row) for row in phrasebook.answerer.tokenizers.target.encode(found)]
    assert lengths == [3, 2, 6]
    assert [len(tokens) for tokens in given] == [3, 3, 3, 2, 1, 1, 1]  # a row leaves with its <eos>
    assert {tokens.shape[1] for tokens in given} == {1}
    assert given[0].flatten().tolist() == [BOS] * 3


def test_033_good_evening(phrasebook: Trained):
    """h_1 … h_n → v → s_1, s_2, … → <eos>, with the notes' own sentence."""
    assert all(right(phrasebook, Phrases(source="ko", target="en").read("train")))
    tokenizers, model = phrasebook.answerer.tokenizers, phrasebook.model
    assert tokenizers.source.tokens(tokenizers.source.encode([KOREAN])[0]) == ["좋은", "저녁입니다", "."]
    states, memory = begun(phrasebook, KOREAN)
    assert states.shape == (1, 4, 32)  # three words and <eos>
    (entry,) = memory.held()
    assert torch.equal(entry.held[0], states[:, -1])  # v
    assert len(list(memory)) == 1  # and nothing else of the source, but for its length
    said, path = [BOS], [entry.held[0]]
    while said[-1] != EOS:
        out = model.step(torch.tensor([said[-1:]]), memory)
        path.append(entry.held[0])
        said.append(int(model.head(out[0, -1]).argmax()))
        word = model.target(torch.tensor([said[-2:-1]]))[0]
        wanted = torch.gru_cell(word, path[-2], *model.decoder.cells[0].weights())
        assert_close(path[-1], wanted, atol=1e-5, rtol=1e-5)
    assert tokenizers.target.tokens(said[1:]) == ["Good", "evening", ".", "<eos>"]
    assert translate(phrasebook, KOREAN)[0].text == ENGLISH


QUICK = [
    *("data.valid_share=0.0", "tokenizer.kind=words", "model.width=32"),
    *(f"model.{side}.{key}" for side in ("encoder", "decoder") for key in ("layers=1", "dropout=0.0")),
    *("training.steps=80", "training.checkpoints.validate_every=40", "task.label_smoothing=0.0"),
    "training.optimizer={kind='muon', learning_rate=0.05, adamw_learning_rate=0.02}",
    "training.schedule={kind='warmup_stable_decay', warmup_steps=10, decay_share=0.5}",
]


def korean_english(folder: Path) -> tuple[list[Pair], list[str]]:
    """Two parallel files, as most corpora come."""
    pairs = list(Phrases(source="ko", target="en").read("train"))[:30]
    for side, ending in enumerate(("ko", "en")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (folder / f"greetings.{ending}").write_text(text, encoding="utf-8")
    return pairs, [f"data.train={folder / 'greetings'}", "data.source=ko", "data.target=en"]


def english_italian(folder: Path) -> tuple[list[Pair], list[str]]:
    """One table."""
    days = Dates(source="en", target="it", first_year=2026, last_year=2026, train=40, valid=1, test=1)
    pairs = list(days.read("train"))
    return pairs, [f"data.train={written(folder / 'days.tsv', pairs)['train']}"]


@pytest.mark.parametrize(("files", "recipe"), [(korean_english, "gru-additive"), (english_italian, "transformer-tiny")])
def test_032_any_pair_of_languages_from_ones_own_files(files: Callable, recipe: str, runs: Path):
    pairs, named = files(runs)
    trained = open_run(train(recipe, *named, *QUICK, out=runs / files.__name__).folder)
    assert trained.step == 80  # with nothing held out, the last is the best
    assert all(right(trained, pairs))


def parts(recipe: str, kind: type) -> list[nn.Module]:
    with torch.device("meta"):
        return [module for module in build(recipe).modules() if isinstance(module, kind)]


def test_037_the_milestones_and_what_each_did_away_with():
    """Early translation, attention in 2015, the Transformer in 2017."""
    assert {type(cell) for cell in parts("seq2seq-lstm", Cell)} == {Lstm}
    assert not parts("seq2seq-lstm", Attention)
    assert {type(cell) for cell in parts("gru-additive", Cell)} == {Gru}
    assert [type(attention) for attention in parts("gru-additive", Attention)] == [Additive]
    assert not parts("transformer-base", Cell)
    assert [type(attention) for attention in parts("transformer-base", Attention)] == [Multihead] * 18
    assert not parts("transformer-base", nn.RNNBase)


def test_045_it_looks_at_apple(runs: Path):
    """English has one word where German must choose by gender, and only the noun knows it.

    The encoder reads every word alone and the decoder remembers two words, `, weil`: whoever writes
    the right er, sie or es for a sentence never seen must have looked at the noun.
    """
    pairs = because()
    held, known = pairs[:100], pairs[100:700]
    trained = Runs(runs).trained("apple", apple.recipe(), [f"{source}\t{target}" for source, target in known])
    assert translate(trained, APPLE[0])[0].text == APPLE[1]
    assert sum(right(trained, held)) >= 95
    assert apple.looked_at(trained, held, 1) >= 0.9
    assert apple.looked_at(trained, held, 2) < 0.2  # and the word behind it does not: it is not the noun's place


@pytest.fixture(scope="module")
def greetings(runs: Path) -> Trained:
    """A Transformer of one layer that has never been told what `guten abend` means."""
    return Runs(runs).trained("evening", evening.recipe(), evening.lines())


def test_112_good_looks_at_guten_and_evening_at_abend(greetings: Trained):
    source, target = GREETING
    assert translate(greetings, source)[0].text == target
    seen = greetings.answerer.align(source, target)
    assert (seen.source, seen.target) == (["guten", "abend", "<eos>"], ["good", "evening", "<eos>"])
    assert [seen.source[row.index(max(row))] for row in seen.weights[:2]] == ["guten", "abend"]
    assert min(max(row) for row in seen.weights[:2]) > 0.5


def test_059_each_row_is_a_distribution_over_the_input_for_the_current_state(greetings: Trained, runs: Path):
    seen = greetings.answerer.align(*GREETING)
    weights = torch.tensor(seen.weights)
    assert weights.shape == (3, 3)
    assert (weights >= 0).all()
    assert_close(weights.sum(1), torch.ones(3))
    _, memory = begun(greetings, GREETING[0])
    said = [BOS, *greetings.answerer.tokenizers.target.encode([GREETING[1]])[0]]
    for row, token in zip(weights, said, strict=True):  # the state of each step asks, and no other
        with watch(greetings.model) as now:
            greetings.model.step(torch.tensor([[token]]), memory)
        assert_close(now["decoder.layers.0.cross"].weights.mean(1)[0, 0], row, atol=1e-5, rtol=1e-5)
    assert labels(seen, runs / "greeting.svg") == (seen.source, seen.target)


def labels(seen: Alignment, path: Path) -> tuple[list[str], list[str]]:
    """The words beside the columns and rows of a picture."""
    with mpl.rc_context({"svg.fonttype": "none"}):
        root = ElementTree.parse(seen.draw(path)).getroot()
    axes = next(part for part in root.iter() if part.get("id") == "axes_1")
    ticks = [part for part in axes.iter() if part.get("id", "").startswith(("xtick", "ytick"))]
    named = [(part.get("id"), [text.text for text in part.iter() if text.text and text.text.strip()]) for part in ticks]
    across, down = ([text for name, (text,) in named if name.startswith(side)] for side in ("xtick", "ytick"))
    return across, down
