"""Notes, parts A, G, J and L, with a language model that has read Python's help: judged on topics it has not read."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from measures import depth, made, model, translator

from regard.calls.training import train
from regard.datasets.pydoc import Pydoc
from regard.model.mask import Mask
from regard.model.watch import watch
from regard.tasks.language.writing import Chunk
from regard.trained import Trained, open_run
from regard.verbs import evaluate, generate, score

LICENCE = Path(__file__).parents[2] / "LICENSE"
FULL = {
    "kind": "transformer",
    "layers": 2,
    "attention": {"kind": "multihead", "heads": 4},
    "positions": "rotary",
    "mlp": "gelu",
}
STEPS = 150


def pupil(out: Path, steps: int = STEPS, decoder: dict[str, Any] = FULL, **more: Any) -> Trained:
    """A small language model of characters, after a few steps."""
    recipe = {
        "task": {"kind": "language", "context": 64, "batch_tokens": 1024},
        "data": {"kind": "pydoc"},
        "tokenizer": {"kind": "characters"},
        "model": {"kind": "language_model", "width": 64, "decoder": decoder},
        "training": {
            "steps": steps,
            "optimizer": {"kind": "muon", "learning_rate": 0.02, "adamw_learning_rate": 0.01},
            "schedule": {"kind": "warmup_stable_decay", "warmup_steps": 10, "decay_share": 0.5},
            "checkpoints": {"validate_every": steps},
        },
    } | more
    if "from" in more:
        del recipe["tokenizer"]  # that of the other run
    return open_run(train(recipe, out=out).folder)


@pytest.fixture(scope="module")
def reader(runs: Path) -> Trained:
    return pupil(runs / "reader")


@pytest.fixture(scope="module")
def unread() -> str:
    """Topics that were held out."""
    return "".join(piece for (piece,) in Pydoc().read("test"))


def bits(trained: Trained) -> float:
    """What a character of the unread topics costs."""
    return evaluate(trained).bits_per_character


def test_117_a_language_model_knows_unread_text_better_than_counts_of_letters_and_pairs_do(
    reader: Trained, unread: str
):
    known = "".join(piece for (piece,) in Pydoc().read("train"))
    single, pairs = Counter(known), Counter(pairwise(known))

    def cost(before: str, letter: str) -> float:
        alone = (single[letter] + 1) / (len(known) + 256)
        return -math.log2((pairs[before, letter] + alone) / (single[before] + 1))

    by_pairs = sum(cost(*pair) for pair in pairwise(unread)) / (len(unread) - 1)
    by_letters = -sum(math.log2((single[letter] + 1) / (len(known) + 256)) for letter in unread) / len(unread)
    found = evaluate(reader)
    assert found.tokens > 10_000
    assert found.bits_per_character < by_pairs - 0.4 < by_letters - 1
    first, *_, last = [one.loss for one in found.by_position]
    assert last < first  # the more it has read, the better it knows what comes


def test_114_the_chance_of_a_text_is_the_product_of_those_of_its_tokens(reader: Trained, unread: str):
    text = unread[:40]
    (found,) = score(reader, [text])
    generator = reader.answerer
    ids, total = generator.encode(text), 0.0
    with torch.no_grad():
        for place in range(1, len(ids)):  # P(x_t | x_<t), from nothing but x_<t
            chances = reader.model(torch.tensor([ids[:place]]))[0, -1].log_softmax(-1)
            assert found.tokens[place - 1].log_prob == pytest.approx(float(chances[ids[place]]), abs=1e-3)
            total += float(chances[ids[place]])
    assert found.log_prob == pytest.approx(total, abs=1e-2)
    assert math.exp(found.log_prob / 40) > 0.1


PROMPT = "The statement is used t"


def test_162_gpt_writes_the_most_probable_token_given_all_before_it(reader: Trained, unread: str):
    prompts = [PROMPT, unread[:30], unread[1000:1030]]
    found = generate(reader, prompts, "decoding.kind=greedy", tokens=25)
    for one in found:
        ids = reader.answerer.encode(one.prompt)
        assert len(one.tokens) == 25
        for written in one.tokens:
            with torch.no_grad():
                chances = reader.model(torch.tensor([ids]))[0, -1].log_softmax(-1)
            assert written.log_prob == pytest.approx(float(chances.max()), abs=1e-3)
            assert float(chances[written.token]) == pytest.approx(float(chances.max()), abs=1e-3)
            ids = [*ids, written.token]
        assert one.text == "".join(written.text for written in one.tokens)
    assert found[0].text.startswith(("o ", "he "))
    assert generate(reader, prompts, "decoding.kind=greedy", tokens=25) == found


def test_162_one_at_a_time_each_told_before_the_next_is_chosen(reader: Trained, monkeypatch: pytest.MonkeyPatch):
    asked, step = [], reader.model.step

    def heard(tokens: torch.Tensor, *more: Any) -> Any:
        asked.append(tokens.shape[1])
        return step(tokens, *more)

    monkeypatch.setattr(reader.model, "step", heard)
    monkeypatch.setenv("REGARD_COMPILED", "0")
    steps = []
    for event in reader.answerer.stream([PROMPT], 6):
        if isinstance(event, Chunk) and event.written is not None:
            steps.append(len(asked))
    assert asked == [1 + len(PROMPT), *[1] * 5]  # the prompt at once, then token by token
    assert steps == sorted(set(steps))
    assert len(steps) == 6


def test_164_what_was_read_before_helps_with_another_text(reader: Trained, runs: Path):
    """Pre-training on text without labels, then a few steps on other text, beside the same few steps alone."""
    data = {"kind": "text", "train": str(LICENCE), "valid_share": 0.2}
    late = pupil(runs / "late", 15, data=data, **{"from": {"run": str(reader.run.folder)}})
    alone = pupil(runs / "alone", 15, data=data)
    untaught = evaluate(reader, on=LICENCE).bits_per_byte  # applied to what it was never taught
    assert untaught < evaluate(alone).bits_per_byte - 0.5
    assert evaluate(late).bits_per_byte < evaluate(alone).bits_per_byte - 0.8


def test_146_a_window_keeps_what_is_near_and_that_is_most_of_it(reader: Trained, runs: Path):
    near, blind = (
        pupil(runs / f"window-{width}", decoder=FULL | {"pattern": {"kind": "window", "width": width}})
        for width in (8, 1)
    )
    full, eight, one = bits(reader), bits(near), bits(blind)
    assert eight < 1.1 * full  # seven neighbours before it instead of sixty-three
    assert one > 1.2 * max(full, eight)


def test_092_one_head_foretells_less_than_four_at_equal_size_for_these_look_elsewhere(
    reader: Trained, unread: str, runs: Path
):
    """Over three seeds 2.37 bits a character against 2.33; with eight heads of eight numbers each it is 2.43."""
    alone = pupil(runs / "one-head", decoder=FULL | {"attention": {"kind": "multihead", "heads": 1}})
    sizes = [sum(weight.numel() for weight in one.model.parameters()) for one in (reader, alone)]
    assert sizes[0] == sizes[1]
    assert bits(reader) < bits(alone) - 0.01
    ids = torch.tensor([reader.answerer.encode(unread[:60])])
    with torch.no_grad(), watch(reader.model) as seen:
        reader.model(ids)
    for sight in seen.values():  # layer by layer: how much of its weight a head has elsewhere than another
        heads = sight.weights[0]
        apart = (heads[:, None] - heads[None]).abs().sum(-1).mean(-1) / 2
        assert apart[~torch.eye(4, dtype=torch.bool)].min() > 0.2


def test_016_recurrent_network_and_transformer_row_by_row():
    recurrent, attentive = (
        model("language_model", vocab_size=11, width=16, decoder={"kind": kind, "layers": 1})
        for kind in ("recurrent", "transformer")
    )

    def kept(writer: Any, length: int) -> int:
        memory = writer.start(rows=1)
        with torch.no_grad():
            writer.step(torch.randint(11, (1, length)), memory)
        return memory.nbytes

    assert kept(recurrent, 512) == kept(recurrent, 8)  # a memory, against all of the past in view
    assert kept(attentive, 512) >= 32 * kept(attentive, 8)

    cell, waits = made("cell", "gru", 8, 8), []
    for length in (8, 32):  # one step waits for the other, against all at once
        x = torch.randn(1, length, 8)
        state = cell.zero(x)
        for projected in cell.project(x).unbind(1):
            state = cell.step(projected, state)
        text = torch.randint(11, (1, length))
        waits.append((depth(state[0]), depth(translator()(text, text).sum())))
    assert waits[1][0] > 3 * waits[0][0]
    assert waits[1][1] == waits[0][1]

    order = torch.randperm(12)
    x = torch.randn(1, 12, 16)
    for kind, more, ordered in (("recurrent", {}, True), ("transformer", {"positions": "none"}, False)):
        reads = made("encoder", {"kind": kind, "layers": 1} | more, 16)
        mean, other = (reads(given, Mask()).states.mean(1) for given in (x, x[:, order]))
        assert (float((mean - other).detach().abs().max()) > 1e-3) is ordered  # order by itself, or only if it is told

    assert 100 * far(recurrent) < far(attentive)  # what is long ago fades, against everything one step away


def far(writer: Any) -> float:
    """How much the first of 64 tokens bears on the last state, beside the last token itself."""
    x = torch.randn(1, 64, 16, requires_grad=True)
    (slope,) = torch.autograd.grad(writer.decoder(x, None, Mask())[0, -1] @ torch.randn(16), x)
    return float(slope[0, 0].norm() / slope[0, -1].norm())
