"""Notes, parts C, G, J, K and L, learnt: small models, taught here, whose answers only the mechanism can give."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from contracts.small import unchecked
from lessons import continued, teach
from measures import layer_by_layer, model, readable
from torch import Tensor, nn
from torch.testing import assert_close

from regard.model.recurrent import Elman
from regard.model.watch import watch

HEADS = {"kind": "multihead", "heads": 2}


def reader(letters: int, answers: int, width: int = 32, **encoder: object) -> nn.Module:
    """An encoder of two layers, and a head that answers at every position."""
    stack = {"kind": "transformer", "layers": 2, "attention": HEADS} | encoder
    sizes = {"source_vocab_size": letters, "target_vocab_size": answers, "width": width}
    return model("seq2seq", **sizes, encoder=stack, decoder={"kind": "recurrent"})


def answers(whole: nn.Module, texts: Tensor) -> Tensor:
    return whole.head(whole.encode(texts).states)


@torch.no_grad()
def packed(texts: Tensor) -> Tensor:
    """The state after each text of ±1 of a cell that packs as well as one number can: h = x/16 + h/2."""
    cell = Elman(1, 1)
    for weight, size in zip(cell.weights(), (1 / 16, 1 / 2, 0.0, 0.0), strict=True):
        weight.fill_(size)
    state = cell.zero(texts)
    for letters in cell.project(texts[..., None]).unbind(1):
        state = cell.step(letters, state)
    return state[0]


def test_035_one_number_holds_sixteen_letters_and_not_a_thousand():
    """Whoever reads it: what gives the same bits cannot be told apart again."""
    every = (torch.arange(2**16)[:, None] >> torch.arange(16)) % 2 * 2.0 - 1
    assert len(packed(every).unique()) == 2**16
    texts = torch.randint(2, (200, 1000)) * 2.0 - 1
    earlier, later = texts.clone(), texts.clone()
    earlier[:, :900] *= -1  # nine letters of ten are others
    later[:, 990:] *= -1
    assert torch.equal(packed(texts), packed(earlier))
    assert (packed(texts) != packed(later)).all()


def test_035_a_vector_loses_what_attention_keeps():
    """Letters written backwards, every length taught in as many steps: three letters go through one vector, of twelve
    some are lost, and with attention none. So it is not the teaching that was too short; a wider vector holds more."""
    assert 1000 * math.log2(6) > 16 * 32  # bits of a text of a thousand letters, bits of 16 numbers
    short, long = (read_back(length, width=16) for length in (3, 12))
    assert short > 0.97
    assert read_back(12, width=16, attention="additive") > 0.97
    assert long < 0.87
    assert read_back(12, width=32) > long + 0.1


def read_back(length: int, width: int, attention: str = "") -> float:
    """The share of letters a decoder writes back in reverse, of random texts: through one vector, or with attention."""
    looks = {"attention": attention, "order": "luong"} if attention else {"context": "every_step"}
    sizes = {"source_vocab_size": 6, "target_vocab_size": 7, "width": width}
    writer = model("seq2seq", **sizes, encoder={"kind": "recurrent"}, decoder={"kind": "recurrent"} | looks)

    def written(count: int) -> tuple[Tensor, Tensor]:
        texts = torch.randint(6, (count, length))
        given = F.pad(texts.flip(1)[:, :-1], (1, 0), value=6)  # random letters tell nothing of the next
        return writer(texts, given), texts.flip(1)

    with unchecked():
        teach(writer, lambda: written(128), steps=170)
    with torch.no_grad():
        logits, wanted = written(300)
    return float((logits.argmax(-1) == wanted).double().mean())


def test_104_the_same_word_means_more_of_its_context_by_the_layer():
    """Every word points at a place: which word is there, and at which does that one point in turn?

    The second question alone is taught. The embedding knows neither, the first layer answers the
    first and not the second, the second layer the second.
    """
    whole = reader(6, 6)

    def pointed(count: int) -> tuple[Tensor, Tensor]:
        texts = torch.randint(6, (count, 6))
        return answers(whole, texts), followed(texts, 2)

    teach(whole, lambda: pointed(64), steps=150)
    texts = torch.randint(6, (1500, 6))
    path = layer_by_layer(whole.encoder.layers, lambda: whole.encode(texts))
    known = [[readable(states.flatten(0, 1), followed(texts, hops).flatten()) for hops in (1, 2)] for states in path]
    assert max(known[0]) < 0.65
    assert known[1][0] > 0.95
    assert known[1][1] < 0.75
    assert known[2][1] > 0.95


def followed(texts: Tensor, hops: int) -> Tensor:
    """At every place, where one comes to from the word that stands there."""
    place = texts
    for _ in range(hops):
        place = texts.gather(1, place)
    return place


@pytest.fixture(scope="module")
def writer() -> nn.Module:
    """A language model that has read random words, said again and again with a period nobody told it."""
    torch.manual_seed(20)
    writer = model(
        "language_model",
        vocab_size=10,
        width=32,
        tie_embeddings="none",
        decoder={"kind": "transformer", "layers": 2, "attention": HEADS},
    )

    def said() -> tuple[Tensor, Tensor]:
        texts, periods = repeated(64)
        again = torch.arange(1, texts.shape[1]) > periods[:, None]  # from here on, what comes can be known
        return writer(texts[:, :-1])[again], texts[:, 1:][again]

    teach(writer, said, steps=110)
    return writer


def repeated(count: int) -> tuple[Tensor, Tensor]:
    """Texts of 16 words, 2 to 9, and how many different ones each has before it begins anew."""
    periods = torch.randint(3, 7, (count,))
    words = 2 + torch.rand(count, 8).argsort(1)
    return words.gather(1, torch.arange(16) % periods[:, None]), periods


@torch.no_grad()
def test_117_a_language_model_says_what_only_the_words_before_can_tell(writer: nn.Module):
    texts, periods = repeated(2000)
    chances = writer(texts[:, :-1]).softmax(-1)
    again = torch.arange(1, 16) > periods[:, None]
    following = texts[:, 1:]
    assert (chances.argmax(-1) == following)[again].double().mean() > 0.97
    assert chances.gather(2, following[..., None])[..., 0][again].log().mean() > -0.15
    assert chances[:, 0].gather(1, following[:, :1]).mean() < 0.25  # a second word nobody can know
    by_place = F.one_hot(following, 10).double().mean(0).max()
    pairs = torch.bincount((10 * texts[:, :-1] + following)[again], minlength=100).view(10, 10).double()
    assert by_place < 0.2  # positions alone,
    assert float(pairs.amax(1).sum() / pairs.sum()) < 0.25  # or the last word alone, would be a guess


@torch.no_grad()
def test_117_other_words_in_the_same_places_make_it_say_other_words(writer: nn.Module):
    texts, _ = repeated(300)
    names = torch.cat([torch.arange(2), 2 + torch.randperm(8)])
    said, renamed = (writer(given)[:, -1].argmax(-1) for given in (texts, names[texts]))
    assert (renamed == names[said]).double().mean() > 0.97
    assert (names[said] != said).double().mean() > 0.5


@torch.no_grad()
def test_162_gpt_writes_the_most_probable_next_token_one_at_a_time(writer: nn.Module, monkeypatch: pytest.MonkeyPatch):
    given: list[Tensor] = []
    step = writer.step

    def counted(tokens: Tensor, memory: object) -> Tensor:
        given.append(tokens)
        return step(tokens, memory)

    monkeypatch.setattr(writer, "step", counted)
    prompt = [7, 2, 9, 4, 7, 2]
    written, log_chance = continued(writer, prompt, 6)
    assert written == [9, 4, 7, 2, 9, 4]
    assert [tokens.tolist()[0] for tokens in given] == [prompt, *([word] for word in written[:-1])]
    total = 0.0
    for place, word in enumerate(written):  # P(next | prompt and all written so far), anew from the beginning
        conditional = writer(torch.tensor([[*prompt, *written[:place]]]))[0, -1].softmax(-1)
        assert int(conditional.argmax()) == word
        total += float(conditional[word].log())
    assert log_chance == pytest.approx(total, abs=1e-3)


PATTERNS = {"local": {"kind": "window", "width": 2}, "global": {"kind": "local_global", "width": 2, "first": 1}}
ASKED = 7


@pytest.mark.parametrize("kind", PATTERNS)
def test_148_global_positions_restore_recall_beyond_the_window(kind: str):
    """Which letter stands at place 7? All places are asked; two layers of a window of two reach two places."""
    whole = reader(5, 4, pattern=PATTERNS[kind])

    def recalled(count: int) -> tuple[Tensor, Tensor]:
        texts = lettered(count)
        return answers(whole, texts), texts[:, ASKED : ASKED + 1].expand(-1, 13)

    teach(whole, lambda: recalled(64), steps=80)
    with torch.no_grad():
        logits, wanted = recalled(1000)
    right = (logits.argmax(-1) == wanted).double().mean(0)
    near = (torch.arange(13) - ASKED).abs() <= 2
    assert right[near].min() > 0.97
    assert (right[~near].min() > 0.97) if kind == "global" else (right[~near].max() < 0.35)
    texts = lettered(50)
    changed = texts.clone()
    changed[:, ASKED] = (changed[:, ASKED] + 1) % 4
    same = (answers(whole, texts) == answers(whole, changed)).all(-1)
    assert torch.equal(same.all(0), ~near & (kind == "local"))  # no bit comes through: no teaching could help
    assert torch.equal(same.any(0), ~near & (kind == "local"))


def lettered(count: int) -> Tensor:
    """A place for the global position, and twelve letters."""
    return F.pad(torch.randint(4, (count, 12)), (1, 0), value=4)


def test_157_the_class_token_knows_more_in_every_layer():
    """Two of nine patches are coloured: of the same colour or not? Colours are first gathered, then compared."""
    known = torch.tensor([known_by_layer() for _ in range(3)]).mean(0).tolist()
    assert known[0] < 0.6
    assert known[0] + 0.1 < known[1] < known[2] - 0.1
    assert known[2] > 0.95


def known_by_layer() -> list[float]:
    """How often a line through the class token's states tells images apart: of a model that was taught."""
    encoder = {"kind": "transformer", "layers": 2, "mlp": "gelu", "attention": HEADS}
    body = {"kind": "patches", "width": 32, "patch": 2, "encoder": encoder}
    whole = model("image_classifier", classes=2, channels=4, size=6, body=body)

    def judged(count: int) -> tuple[Tensor, Tensor]:
        pixels, alike = coloured(count)
        return whole(pixels), alike

    teach(whole, lambda: judged(64), steps=160)
    pixels, alike = coloured(1500)
    path = layer_by_layer(whole.body.encoder.layers, lambda: whole(pixels))
    assert_close(path[0][:, 0], path[0][:1, 0].expand(1500, -1))  # before the first layer it has seen no image
    return [readable(states[:, 0], alike) for states in path]


def coloured(count: int) -> tuple[Tensor, Tensor]:
    """Images of three by three patches, and whether the two coloured ones are alike."""
    alike = torch.randint(2, (count,))
    first = torch.randint(4, (count,))
    second = (first + (1 - alike) * torch.randint(1, 4, (count,))) % 4
    patches = torch.zeros(count, 9, 4)
    places = torch.rand(count, 9).argsort(1)[:, :2]
    patches[torch.arange(count)[:, None], places, torch.stack([first, second], 1)] = 1.0
    pixels = patches.view(count, 3, 3, 4).permute(0, 3, 1, 2)
    return F.interpolate(pixels, scale_factor=2) + 0.1 * torch.randn(count, 4, 6, 6), alike


FAR = 4


@pytest.fixture(scope="module")
def seer() -> nn.Module:
    """A ViT of 5×5 patches, taught to say whether two coloured patches, always far from each other, are alike."""
    torch.manual_seed(20)
    encoder = {"kind": "transformer", "layers": 2, "mlp": "gelu", "attention": HEADS}
    body = {"kind": "patches", "width": 32, "patch": 2, "encoder": encoder}
    whole = model("image_classifier", classes=2, channels=4, size=10, body=body)

    def judged() -> tuple[Tensor, Tensor]:
        pixels, alike, _ = apart(64)
        return whole(pixels), alike

    teach(whole, judged, steps=200)
    return whole


def apart(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Images with two coloured patches at least four rows or columns apart, whether they are alike, and where."""
    alike, first = torch.randint(2, (count,)), torch.randint(4, (count,))
    second = (first + (1 - alike) * torch.randint(1, 4, (count,))) % 4
    places = torch.cartesian_prod(torch.arange(25), torch.arange(25))
    places = places[distances()[places[:, 0], places[:, 1]] >= FAR][torch.randint(112, (count,))]
    patches = torch.zeros(count, 25, 4)
    patches[torch.arange(count)[:, None], places, torch.stack([first, second], 1)] = 1.0
    pixels = patches.view(count, 5, 5, 4).permute(0, 3, 1, 2)
    return F.interpolate(pixels, scale_factor=2) + 0.1 * torch.randn(count, 4, 10, 10), alike, places


def distances() -> Tensor:
    """How far patches lie from each other, in patches."""
    at = torch.cartesian_prod(torch.arange(5.0), torch.arange(5.0))
    return torch.cdist(at, at)


@torch.no_grad()
def test_151_a_vit_looks_across_the_image_from_its_first_layer_on(seer: nn.Module):
    """Its answer takes it: two patches are compared that lie four apart and more. An even head looks 2.5 away, and a
    convolution of three by three no further than one in a layer.
    """
    pixels, alike, places = apart(500)
    assert (seer(pixels).argmax(-1) == alike).double().mean() > 0.95
    taught, fresh = (_far(one, pixels, places) for one in (seer, _untaught()))
    assert taught["distance"][0] > 2  # from the first layer on, and not only deeper down
    assert taught["other"] > 0.2  # of the weight of one coloured patch, in one head, is on the other one
    assert fresh["other"] < 0.08


def _untaught() -> nn.Module:
    encoder = {"kind": "transformer", "layers": 2, "mlp": "gelu", "attention": HEADS}
    body = {"kind": "patches", "width": 32, "patch": 2, "encoder": encoder}
    return model("image_classifier", classes=2, channels=4, size=10, body=body)


def _far(whole: nn.Module, pixels: Tensor, places: Tensor) -> dict[str, Any]:
    """The mean distance at which patches look, layer by layer; and the most weight that a head of the first layer puts,
    from one coloured patch, on the other one, four patches away and more."""
    with watch(whole) as seen:
        whole(pixels)
    first, second = (sight.weights[:, :, 1:, 1:] for sight in seen.values())
    away = [float(((layer * distances()).sum(-1) / layer.sum(-1)).mean()) for layer in (first, second)]
    row, column = places.T
    other = first[torch.arange(len(pixels)), :, row, column].mean(0)
    return {"distance": away, "other": float(other.max())}
