"""“Which do you like better, coffee or tea?”: what the heads of a translator look at, and which it can do without."""

import itertools
import random

from regard.examples.classes import Found, find, looks_at, related
from regard.examples.example import Example, Reading, Verdict
from regard.examples.recipes import HEADS, STEADY, Table, training, translator
from regard.examples.runs import Runs
from regard.looking.look import Look
from regard.verbs import look, translate

WHO = {"I": "ich", "you": "du", "Anna": "Anna", "we": "wir", "they": "sie"}
VERBS = {
    "like": ("mag", "magst", "mag", "mögen", "mögen"),
    "need": ("brauche", "brauchst", "braucht", "brauchen", "brauchen"),
    "drink": ("trinke", "trinkst", "trinkt", "trinken", "trinken"),
    "buy": ("kaufe", "kaufst", "kauft", "kaufen", "kaufen"),
}
NOUNS = {"coffee": "den Kaffee", "tea": "den Tee", "milk": "die Milch", "water": "das Wasser", "juice": "den Saft"}
TONE = {"better": "lieber", "more": "mehr", "most": "am meisten"}
COFFEE = ("Which do you like better, coffee or tea?", "Was magst du lieber, den Kaffee oder den Tee?")
KNOWN, HELD = 1200, 40
ROLES = {  # without the first word: there heads of language models put what they have no use for
    "sentence form (function words, punctuation)": looks_at(["do", "does", "or", ",", "?", "."]),
    "nouns": looks_at(NOUNS),
    "relations (verb with subject and object)": related(VERBS, [*WHO, *NOUNS]),
    "tone (better, more, most)": looks_at(TONE),
}
STRONG = 0.3  # as in the roles of `regard look --heads`
NEEDED = 0.01  # nats a token

Pair = tuple[str, str]


def asked() -> list[Pair]:
    """Questions that offer a choice; and sentences which their last mark alone makes questions. The notes' is first."""
    pairs = []
    for (number, who), verb, tone, one, other in itertools.product(enumerate(WHO), VERBS, TONE, NOUNS, NOUNS):
        does, said, du, how = ("does" if who == "Anna" else "do"), VERBS[verb][number], WHO[who], TONE[tone]
        if one != other:
            source = f"Which {does} {who} {verb} {tone}, {one} or {other}?"
            pairs.append((source, f"Was {said} {du} {how}, {NOUNS[one]} oder {NOUNS[other]}?"))
        else:
            source = f"{who} {verb}{'s' * (who == 'Anna')} {one} {tone}"
            pairs.append((f"{source}.", f"{du} {said} {NOUNS[one]} {how}."))
            pairs.append((f"{source}?", f"{said} {du} {NOUNS[one]} {how}?"))
    random.Random(4).shuffle(pairs)
    pairs.insert(0, pairs.pop(pairs.index(COFFEE)))
    return pairs


def recipe() -> Table:
    """Two layers of four heads read, one writes."""
    stack: Table = {"kind": "transformer", "layers": 2, "attention": HEADS}
    return translator(stack, stack | {"layers": 1, "cross": HEADS}, training(200, STEADY))


def read(runs: Runs) -> Reading:
    """Each role is sought among all heads that read, on half of the sentences held out, and measured on the others."""
    pairs = asked()
    held = pairs[:HELD]
    trained = runs.trained("coffee", recipe(), [f"{one}\t{other}" for one, other in pairs[HELD : HELD + KNOWN]])
    right = [one.text == two for one, (_, two) in zip(translate(trained, [a for a, _ in held]), held, strict=True)]
    looks = [look(trained, source, target) for source, target in held if source.startswith("Which")]
    seen = look(trained, COFFEE[0])
    roles = {name: find(looks, "encoder", wanted) for name, wanted in ROLES.items()}
    needed, alike = redundancy(seen)
    figures = {name: one.strength for name, one in roles.items()} | {
        "right": sum(right) / HELD,
        "heads": len(seen.heads().heads),
        "heads that are needed": needed,
        "weight shared by the two most alike": alike,
    }
    told = f"{sum(right) / HELD:.0%} of {HELD} sentences never seen are right. " + described(roles)
    told += (
        f" The notes add that no head is redundant: here {needed} of {figures['heads']} heads cost more than {NEEDED} "
        f"nats when they alone are off, and two put {alike:.0%} of their weight in the same places."
    )
    clear = max(roles.values(), key=lambda one: one.strength)
    return Reading(seen, told, verdict(roles), figures, f"view=heads&head={clear.head}&sort=role")


def described(roles: dict[str, Found]) -> str:
    """Each role with its head, in words."""
    said = [f"{name}: {one.head} {one.share:.2f} (even {one.even:.2f})" for name, one in roles.items()]
    clear = sum(one.strength > STRONG for one in roles.values())
    return f"On sentences of which they were not chosen the best heads have, of their weight: {'; '.join(said)}. " + (
        f"{clear} of {len(roles)} roles stand out clearly (more than {STRONG} of what there is above even)."
    )


def verdict(roles: dict[str, Found]) -> Verdict:
    """All roles, some, or none."""
    clear = sum(one.strength > STRONG for one in roles.values())
    return "supported" if clear == len(roles) else "supported in part" if clear else "corrected"


def redundancy(seen: Look) -> tuple[int, float]:
    """How many heads the loss needs, and how much two share at most."""
    heads = seen.heads().heads
    return sum(one.effect.loss > NEEDED for one in heads), max(one.like[1] for one in heads if one.like)


EXAMPLE = Example(
    "coffee",
    "“Which do you like better, coffee or tea?”",
    "Heads specialise: in the form of the sentence, in nouns, in relations between words, in tone; "
    "none is redundant, each complements the others.",
    "N2:572-606",
    read,
)
