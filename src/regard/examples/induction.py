"""A head that finds what was said before: learnt from lines of random words that are said over and over."""

import random
from collections.abc import Sequence

from regard.examples.example import Example, Reading, Verdict
from regard.examples.recipes import STEADY, Table, training, writer
from regard.examples.runs import Runs
from regard.looking.heads import scored
from regard.looking.look import Look
from regard.trained import Trained
from regard.verbs import look

WORDS = [
    "apple",
    "river",
    "stone",
    "cloud",
    "green",
    "house",
    "bread",
    "light",
    "table",
    "music",
    "paper",
    "glass",
    "horse",
    "night",
    "water",
    "chair",
    "field",
    "money",
    "train",
    "smile",
]
LENGTH, HELD = 24, 12


def said_again(count: int, seed: int, low: int = 6, high: int = 12) -> list[str]:
    """Lines of random words, none of them twice, until they begin anew."""
    chance = random.Random(seed)
    lines = [chance.sample(WORDS, chance.randint(low, high)) for _ in range(count)]
    return [" ".join((words * 4)[:LENGTH]) for words in lines]


def recipe() -> Table:
    """Two layers of two heads: one layer alone cannot do it."""
    return writer({}, training(450, STEADY))


def twice(seed: int) -> str:
    """Ten words, and the same once more."""
    words = random.Random(seed).sample(WORDS, 10)
    return " ".join([*words, *words])


def costs(seen: Look) -> tuple[float, float]:
    """Nats a token while words are new, and where they are said again."""
    found = seen.scene.costs()[-19:]  # from the first word that follows another
    return sum(found[:9]) / 9, sum(found[10:]) / 9


def scores(seen: Look, score: str) -> list[tuple[str, float]]:
    """Every head with its score."""
    names = [f"{layer}.{head}" for layer in seen.of("masked") for head in range(layer.heads)]
    return [(name, own[score] or 0.0) for name, (own, _) in zip(names, scored(seen, "masked"), strict=True)]


def best(trained: Trained, seen: Look, score: str, texts: Sequence[str]) -> tuple[str, float]:
    """The head of the highest score on one text, and its mean score on others."""
    head = max(scores(seen, score), key=lambda one: one[1])[0]
    return head, sum(dict(scores(look(trained, text), score))[head] for text in texts) / len(texts)


def read(runs: Runs) -> Reading:
    """The head of the highest induction score on one text, its score on others, and the loss without it."""
    trained = runs.trained("induction", recipe(), said_again(4000, 0))
    seen = look(trained, twice(5))
    others = [twice(100 + number) for number in range(HELD)]
    head, score = best(trained, seen, "induction", others)
    before, previous = best(trained, seen, "previous", others)
    even = scored(seen, "masked")[0][1]["induction"] or 0.0
    new, again = costs(seen)
    gone = seen.without(head)
    figures = {
        "induction": score,
        "even": even,
        "previous": previous,
        "nats, new words": new,
        "nats, said again": again,
        "nats more without it": gone.loss[1] - gone.loss[0],
    }
    found = (
        f"{head} looks at what stood behind the same word before: {score:.2f} of its weight on {HELD} texts of "
        f"random words, where uniform attention has {even:.2f}. {before} looks at the word before "
        f"({previous:.2f}) and tells it what stood there. New words cost {new:.1f} nats, the same again "
        f"{again:.1f}; without the head {gone.changed} of {gone.tokens} tokens change. Random words have no syntax: "
        "what is aligned is what is repeated."
    )
    verdict: Verdict = "supported in part" if score > 0.5 and new > again + 1 else "corrected"
    return Reading(seen, found, verdict, figures, f"view=heads&head={head}")


EXAMPLE = Example(
    "induction",
    "An induction head",
    "Some heads align words with their repeated counterparts; this reflects the ability to learn syntactic alignment.",
    "N2:624-628",
    read,
)
