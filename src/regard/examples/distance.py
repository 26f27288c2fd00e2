"""A head that looks far back: the verb has to agree with a subject that stands many words before it."""

import random

import torch

from regard.examples.example import Example, Reading, Verdict
from regard.examples.recipes import STEADY, Table, training, writer
from regard.examples.runs import Runs
from regard.looking.look import Look
from regard.model.watch import silenced
from regard.verbs import look

SUBJECTS = {"law": "laws", "rule": "rules", "king": "kings", "judge": "judges", "letter": "letters", "plan": "plans"}
PLACES = {"town": "towns", "river": "rivers", "house": "houses", "village": "villages", "road": "roads"}
WHERE = ("near", "by", "behind", "above", "below", "of")
VERBS = ("makes", "make")
TEXT = "the laws of the town near the river behind the house make voting hard"
HELD = 40


def sentences(count: int, seed: int, low: int = 0, high: int = 4) -> list[str]:
    """The subject says whether it is `make` or `makes`; other nouns in between say nothing."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        noun, many = chance.choice([*SUBJECTS]), chance.random() < 0.5
        words = ["the", SUBJECTS[noun] if many else noun]
        for _ in range(chance.randint(low, high)):
            place = chance.choice([*PLACES])
            words += [chance.choice(WHERE), "the", PLACES[place] if chance.random() < 0.5 else place]
        found.append(" ".join([*words, VERBS[many], "voting", chance.choice(["hard", "easy", "slow", "dear"])]))
    return found


def recipe() -> Table:
    """Two layers of two heads."""
    return writer({}, training(300, STEADY))


def agreement(seen: Look) -> tuple[torch.Tensor, int, int]:
    """For every head, its weight from where the verb is foretold to the subject; how far that is; how many it sees."""
    words = list(seen.scene.lines["inputs"].words)
    subject = words.index("the") + 1
    row = next(place for place, word in enumerate(words) if word in VERBS) - 1
    weights = [seen.rows(layer, row, row + 1)[:, 0, subject] for layer in seen.of("masked")]
    return torch.cat(weights), row - subject, row + 1


def agrees(seen: Look, off: dict[str, list[int]]) -> bool:
    """Whether the verb that is foretold is the one that is written, with some heads off."""
    (piece,) = seen.scene.pieces
    words = list(seen.scene.lines["outputs"].words)
    place = next(place for place, word in enumerate(words) if word in VERBS)
    with torch.no_grad(), silenced(seen.scene.model, off):
        said = seen.scene.likeliest(piece, seen.scene.run(piece))[0, place]
    return bool(said == piece.outputs[place])


def read(runs: Runs) -> Reading:
    """The head is chosen on some sentences, and judged on others, all of them long and never seen."""
    trained = runs.trained("distance", recipe(), sentences(4000, 0))
    chosen, held = ([look(trained, text) for text in sentences(HELD, seed, 3, 4)] for seed in (1, 2))
    best = int(torch.stack([agreement(one)[0] for one in chosen]).sum(0).argmax())
    layers = [(layer, head) for layer in chosen[0].of("masked") for head in range(layer.heads)]
    layer, head = layers[best]
    found = [agreement(one) for one in held]
    weight = sum(float(weights[best]) for weights, _, _ in found) / HELD
    even = sum(1 / count for _, _, count in found) / HELD
    away = sum(distance for _, distance, _ in found) / HELD
    correct, without = (sum(agrees(one, off) for one in held) / HELD for off in ({}, {layer.name: [head]}))
    seen = look(trained, TEXT)
    weights, distance, _ = agreement(seen)
    figures = {
        "weight on the subject": weight,
        "even": even,
        "words back": away,
        "right": correct,
        "right without it": without,
        "here": float(weights[best]),
    }
    told = (
        f"make or makes is told by the subject alone, in {HELD} long sentences never seen {away:.0f} words back. "
        f"{layer}.{head} looks at it with {weight:.2f} (uniform attention: {even:.2f}), here "
        f"{figures['here']:.2f} over {distance} words. {correct:.0%} of the verbs are right, without that head "
        f"{without:.0%}. In the picture behind the notes [Vaswani et al. 2017] making looks ahead, at “more "
        "difficult”: only an encoder can."
    )
    verdict: Verdict = "supported in part" if weight > 0.3 and correct > without else "corrected"
    return Reading(seen, told, verdict, figures, f"view=heads&head={layer}.{head}&rows={distance + 2}")


EXAMPLE = Example(
    "distance",
    "A head that looks far back",
    "In one head the verb “making” attends to words far earlier in the sentence: long-range dependencies that "
    "recurrent networks struggle with.",
    "N2:616-622",
    read,
)
