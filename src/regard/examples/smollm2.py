"""The same questions asked of SmolLM2, a model that learnt from texts of all kinds, if the user has it."""

import random
from collections.abc import Callable

import torch

from regard.examples import coffee, induction
from regard.examples.apple import EXAMPLE as APPLE
from regard.examples.classes import find, weights
from regard.examples.coffee import EXAMPLE as COFFEE
from regard.examples.distance import EXAMPLE as DISTANCE
from regard.examples.example import Example, Reading, Verdict
from regard.examples.induction import EXAMPLE as INDUCTION
from regard.examples.runs import Runs
from regard.looking.look import Look
from regard.verbs import look

IT = (
    ("She bought a car because it was cheap", "car"),
    ("We sold the house because it was old", "house"),
    ("They closed the shop because it was late in the year", "shop"),
    ("He opened the window because it was stuck", "window"),
    ("Anna read the book because it was short", "book"),
    ("The boy dropped a plate because it was hot", "plate"),
)
FAR = 6  # words
SENTENCE = "I ate an apple because it was tasty"
MAKING = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
    "registration or voting process more difficult."
)


def names(seen: Look) -> list[str]:
    return [f"{layer}.{head}" for layer in seen.of("masked") for head in range(layer.heads)]


def at(seen: Look, row: str, column: str) -> torch.Tensor:
    """The weight of every head from one word to another."""
    words = list(seen.scene.lines["inputs"].words)
    return weights(seen, "masked")[:, words.index(row), words.index(column)]


def read_apple(runs: Runs) -> Reading:
    """The head is chosen on six other sentences."""
    trained = runs.smollm2
    chosen = torch.stack([at(look(trained, text), "it", noun) for text, noun in IT]).mean(0)
    best = int(chosen.argmax())
    seen = look(trained, SENTENCE)
    on = at(seen, "it", "apple")
    foretelling = at(seen, "because", "apple")
    words = list(seen.scene.lines["inputs"].words)
    head, row = names(seen)[best], words.index("it")
    even = 1 / (row + 1)
    figures = {
        "it → apple": float(on[best]),
        "even": even,
        "mean of all heads": float(on.mean()),
        "heads above a half": int((on > 0.5).sum()),
        "because → apple": float(foretelling[best]),
    }
    told = (
        f"Of {len(on)} heads the one that looks most from “it” at its noun in six other sentences, {head}, looks at "
        f"apple here with {on[best]:.2f}; uniform attention has {even:.2f}, the mean of all {on.mean():.2f}, and "
        f"{figures['heads above a half']} heads more than half. But there “it” has been read; where it is predicted, "
        f"at “because”, the same head looks at apple with {foretelling[best]:.2f}."
    )
    verdict: Verdict = "supported in part" if on[best] > 2 * even else "corrected"
    return Reading(seen, told, verdict, figures, f"view=heads&head={head}&rows={row}")


def read_coffee(runs: Runs) -> Reading:
    """Questions of the same kind, in all of which the same roles are sought."""
    trained = runs.smollm2
    texts = [source for source, _ in coffee.asked() if source.startswith("Which")][:16]
    looks = [look(trained, text) for text in texts]
    roles = {name: find(looks, "masked", one) for name, one in coffee.ROLES.items()}
    figures = {name: one.strength for name, one in roles.items()}
    clear = max(roles.values(), key=lambda one: one.strength)
    told = (
        coffee.described(roles) + " Each is the best of 270: a role is a name for what a head did, not what it is for."
    )
    return Reading(looks[0], told, coffee.verdict(roles), figures, f"view=heads&head={clear.head}&sort=role")


def read_distance(runs: Runs) -> Reading:
    """Which word far back “making” looks at most, the first one left out: there heads put what they have no use for."""
    seen = look(runs.smollm2, MAKING)
    words = list(seen.scene.lines["inputs"].words)
    row = words.index("making")
    tables = weights(seen, "masked")[:, row, : row + 1]
    most, places = tables[:, 1 : row - FAR + 1].max(1)
    best = int(most.argmax())
    column, head = 1 + int(places[best]), names(seen)[best]
    figures = {
        "making → the word": float(most[best]),
        "words back": row - column,
        "even": 1 / (row + 1),
        "heads above a half": int((most > 0.5).sum()),
        "on the first token, mean of all": float(tables[:, 0].mean()),
    }
    told = (
        f"Of all words that stand {FAR} and more before “making”, {head} looks at “{words[column]}”, {row - column} "
        f"words back, with {most[best]:.2f} (uniform attention: {figures['even']:.2f}); "
        f"{figures['heads above a half']} of {len(most)} heads have more than half on such a word, and the first token "
        f"gets {tables[:, 0].mean():.2f} in the mean of all. The picture behind the notes [Vaswani et al. 2017] is of "
        "an encoder, in which making looks ahead, at “more difficult”: this model cannot."
    )
    verdict: Verdict = "supported in part" if most[best] > 0.5 else "corrected"
    return Reading(seen, told, verdict, figures, f"view=heads&head={head}&rows={row}")


def said_twice(seed: int) -> str:
    """Twelve words in no order, and once more."""
    words = random.Random(seed).sample(induction.WORDS, 12)
    return " " + " ".join([*words, *words])


def read_induction(runs: Runs) -> Reading:
    """Chosen on one text of random words, measured on four others."""
    trained = runs.smollm2
    seen = look(trained, said_twice(5))
    found = torch.tensor([score for _, score in induction.scores(seen, "induction")])
    best = int(found.argmax())
    texts = [said_twice(seed) for seed in range(100, 104)]
    rows = [[score for _, score in induction.scores(look(trained, text), "induction")] for text in texts]
    others = torch.tensor(rows).mean(0)
    costs = seen.scene.costs()
    half = len(costs) // 2
    new, again = sum(costs[:half]) / half, sum(costs[half + 1 :]) / (len(costs) - half - 1)
    head = names(seen)[best]
    gone = seen.without(head)
    figures = {
        "induction": float(others[best]),
        "heads above a half": int((others > 0.5).sum()),
        "nats, new words": new,
        "nats, said again": again,
        "nats more without it": gone.loss[1] - gone.loss[0],
    }
    told = (
        f"{head} has an induction score of {others[best]:.2f} on four texts of random words; "
        f"{figures['heads above a half']} of {len(found)} heads have more than a half. New words cost {new:.1f} nats a "
        f"token, the same again {again:.1f}; without that one head all cost {gone.loss[1] - gone.loss[0]:+.2f}. Random "
        "words have no syntax: what is aligned is what is repeated."
    )
    verdict: Verdict = "supported in part" if others[best] > 0.5 else "corrected"
    return Reading(seen, told, verdict, figures, f"view=heads&head={head}")


def asked_of_smollm2(example: Example, read: Callable[[Runs], Reading]) -> Example:
    """The same example, read from another model."""
    name, title = f"{example.name}-smollm2", f"{example.title}, in SmolLM2"
    return Example(name, title, example.notes, example.where, read, imported=True)


EXAMPLES = (
    asked_of_smollm2(APPLE, read_apple),
    asked_of_smollm2(COFFEE, read_coffee),
    asked_of_smollm2(DISTANCE, read_distance),
    asked_of_smollm2(INDUCTION, read_induction),
)
