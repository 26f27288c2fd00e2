"""“guten abend” to “good evening”: who looks at whom in a translator that never saw the two words together."""

from regard.examples.example import Example, Reading, Verdict
from regard.examples.recipes import HEADS, SLOW, Table, training, translator
from regard.examples.runs import Runs
from regard.verbs import look

ADJECTIVES = {"guten": "good", "schönen": "lovely", "langen": "long", "ruhigen": "quiet", "warmen": "warm"}
TIMES = {"abend": "evening", "morgen": "morning", "tag": "day", "nachmittag": "afternoon", "sommer": "summer"}
GREETING = ("guten abend", "good evening")
STRONG = 0.5


def recipe() -> Table:
    """A Transformer of one layer with four heads."""
    stack: Table = {"kind": "transformer", "layers": 1, "attention": HEADS}
    return translator(stack, stack | {"cross": HEADS}, training(80, SLOW))


def lines() -> list[str]:
    """All pairs of these words but one."""
    pairs = [(f"{one} {other}", f"{ADJECTIVES[one]} {TIMES[other]}") for one in ADJECTIVES for other in TIMES]
    return [f"{source}\t{target}" for source, target in pairs if (source, target) != GREETING]


def read(runs: Runs) -> Reading:
    """Where “good” and “evening” look, in the mean of all heads and head by head."""
    seen = look(runs.trained("evening", recipe(), lines()), GREETING[0])
    mean = seen.panel("cross").table()
    each = [seen.panel(f"cross.0.{head}").table()[:2].argmax(1).tolist() == [0, 1] for head in range(4)]
    gone = seen.without("cross")
    figures = {
        "good → guten": float(mean[0, 0]),
        "evening → abend": float(mean[1, 1]),
        "heads that do so alone": sum(each),
        "tokens that change without all of them": gone.changed,
    }
    right = seen.scene.written == GREETING[1]
    verdict: Verdict = "supported" if right and min(float(mean[0, 0]), float(mean[1, 1])) > STRONG else "corrected"
    found = (
        f"It never saw these two words together and writes “{seen.scene.written}”. In the mean of four heads good "
        f"looks at guten with {mean[0, 0]:.2f} and evening at abend with {mean[1, 1]:.2f} (uniform attention: 0.33); "
        f"{sum(each)} of 4 heads do so by themselves. Without them {gone.changed} of {gone.tokens} tokens change."
    )
    return Reading(seen, found, verdict, figures, "view=alignment&panel=cross")


EXAMPLE = Example(
    "evening",
    "guten abend → good evening",
    "When the decoder writes “good” it should attend strongly to “guten”, and with “evening” to “abend”.",
    "N2:763-765",
    read,
)
