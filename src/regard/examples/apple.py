"""“I ate an apple because it was tasty”: a translator that must know what “it” is, since German has three words."""

import itertools
import random

from regard.examples.example import Example, Reading, Verdict
from regard.examples.recipes import FAST, Table, training, translator
from regard.examples.runs import Runs
from regard.trained import Trained
from regard.verbs import look, translate

NOUNS = {
    "er": {"an apple": "einen Apfel", "a fish": "einen Fisch", "a cake": "einen Kuchen", "a salad": "einen Salat"},
    "sie": {"a soup": "eine Suppe", "a pear": "eine Birne", "a banana": "eine Banane", "a tomato": "eine Tomate"},
    "es": {"a bread": "ein Brot", "an egg": "ein Ei", "an ice": "ein Eis", "a steak": "ein Steak"},
}
WHO = {"I": "ich", "Anna": "Anna", "Paul": "Paul", "my brother": "mein Bruder"}
DID = {"ate": "aß", "bought": "kaufte", "took": "nahm", "tried": "probierte"}
WHY = {"tasty": "lecker", "fresh": "frisch", "sweet": "süß", "warm": "warm"}
APPLE = ("I ate an apple because it was tasty", "ich aß einen Apfel, weil er lecker war")
HELD, KNOWN = 100, 600

Pair = tuple[str, str]


def because() -> list[Pair]:
    """All such sentences, in a random order, that of the notes first: subjects and adverbs move the noun, its gender
    chooses the pronoun."""
    pairs = []
    for who, did, why, (pronoun, nouns), today in itertools.product(WHO, DID, WHY, NOUNS.items(), (True, False)):
        for noun, translated in nouns.items():
            begins = f"heute {DID[did]} {WHO[who]}" if today else f"{WHO[who]} {DID[did]}"
            source = f"{'today ' * today}{who} {did} {noun} because it was {why}"
            pairs.append((source, f"{begins} {translated}, weil {pronoun} {WHY[why]} war"))
    random.Random(3).shuffle(pairs)
    pairs.insert(0, pairs.pop(pairs.index(APPLE)))
    return pairs


def recipe() -> Table:
    """The encoder reads every word alone and the decoder remembers two words, `, weil`: only attention knows the noun.

    Nothing in it waits for the word before: all positions are computed at once.
    """
    encoder: Table = {"kind": "convolution", "layers": 1, "kernel_size": 1}
    decoder: Table = {"kind": "convolution", "layers": 1, "kernel_size": 2, "attention": "additive"}
    return translator(encoder, decoder, training(120, FAST))


def looked_at(trained: Trained, pairs: list[Pair], offset: int) -> float:
    """How often the word so far behind “weil” looks at the noun more than at any other word."""
    found = 0
    for source, target in pairs:
        seen = trained.answerer.align(source, target)
        weights = seen.weights[seen.target.index("weil") + offset]
        found += max(weights) == weights[seen.source.index("because") - 1]
    return found / len(pairs)


def read(runs: Runs) -> Reading:
    """The row of the pronoun on the notes' sentence, and over a hundred sentences that were held out."""
    pairs = because()
    held, known = pairs[:HELD], pairs[HELD : HELD + KNOWN]
    trained = runs.trained("apple", recipe(), [f"{source}\t{target}" for source, target in known])
    seen = look(trained, APPLE[0])
    written = [one.text for one in translate(trained, [source for source, _ in held])]
    right = sum(one == wanted for one, (_, wanted) in zip(written, held, strict=True)) / HELD
    pronoun, other = looked_at(trained, held, 1), looked_at(trained, held, 2)
    rows, columns = (list(seen.scene.lines[side].words) for side in ("outputs", "source"))
    row, noun = rows.index("weil") + 1, columns.index("apple")
    weight = float(seen.panel(seen.usual).table()[row, noun])
    figures = {
        "right": right,
        "it → noun": pronoun,
        "next word → noun": other,
        "er → apple": weight,
    }
    found = (
        f"German must choose er, sie or es by what “it” is. Of {HELD} sentences never seen {right:.0%} are right, and "
        f"in {pronoun:.0%} the pronoun looks at the noun most, the word behind it in {other:.0%}. Here “{rows[row]}” "
        f"looks at apple with {weight:.2f}. No state waits for another: the "
        "drawback that the notes give attention (N4:71-75) is the recurrent network's."
    )
    verdict: Verdict = "supported" if right > 0.9 and pronoun > 0.9 else "corrected"
    return Reading(seen, found, verdict, figures, f"view=alignment&step={row}")


EXAMPLE = Example(
    "apple",
    "“I ate an apple because it was tasty”",
    "When predicting “it”, a model should focus on “apple” and not on everything.",
    "N4:34-37",
    read,
)
