"""The tour of text: a small GPT learns to write Python's help, writes, and shows what surprises it."""

import shlex
from math import log, log2
from typing import TYPE_CHECKING

from regard.commands.demos.tour import Tour
from regard.commands.show import console, line
from regard.commands.surprise import Inked

if TYPE_CHECKING:
    from regard.looking.surprise import Surprise
    from regard.tasks.task import Evaluation
    from regard.trained import Trained

RECIPE, TITLE = "text-gpt", "A small GPT"
PROMPT, TOKENS = "The for statement", 300
UNSEEN = 400  # letters of a text that it has never seen, which are looked at
PICTURE = "surprise.png"


def show(tour: Tour) -> None:
    """Train a small GPT from nothing, let it write, and look at what surprises it."""
    from regard.commands.shown import Shown

    folder = tour.folder(RECIPE)
    if tour.tells:
        line("A language model learns one thing: ", ("what comes next", "bold"), ". This one reads Python's own")
        console.print("help, letter by letter, and starts from nothing: it has never seen a word.\n")
    run, scores = tour.learn(RECIPE, TITLE, folder)
    if not tour.json:
        _how_good(scores, run)
    written = _write(run.answering("decoding.temperature=0.7", "decoding.seed=1"), tour.json)
    seen = _read(run)
    with Shown(quiet=tour.json) as heard:
        title = "How much each letter of a text it had never seen surprised it"
        picture = seen.draw(run.run.folder / PICTURE, title, heard)
    if tour.json:
        return tour.for_machines({folder: (RECIPE, scores)}, picture, written=written)
    _look(seen)
    line("As a picture: " if not Inked().colours else "The same as a picture: ", (str(picture), "bold"))
    named = shlex.quote(str(folder))
    tour.next(
        f"regard generate {named} 'Classes can' --slide --probabilities",
        f"regard score {named} 'The keys are here.' 'The keys is here.'",
        "regard train gpt-char data.train=FILE",
    )
    line("  where FILE is a text of your own, the longer the better.")
    return None


def _how_good(found: "Evaluation", run: "Trained") -> None:
    from regard.tasks.language.evaluation import LanguageScores

    assert isinstance(found, LanguageScores)
    nothing = log2(len(run.answerer.tokenizer))
    line((f"{found.bits_per_character:.2f} bits per character", "green"), " on topics it has never seen: so many")
    line(f"yes-or-no questions each letter leaves open. Before it had learnt, it was {nothing:.1f}.\n")


def _write(run: "Trained", json: bool) -> str:
    """What it makes of a beginning, as it comes."""
    from regard.tasks.language.writing import Chunk

    if not json:
        line("It goes on with ", (PROMPT, "bold"), " like this:\n")
        print(PROMPT, end="", flush=True)
    text = ""
    for event in run.answerer.stream([PROMPT], TOKENS, slide=True):
        if isinstance(event, Chunk):
            text += event.text
            if not json:
                print(event.text, end="", flush=True)
    if not json:
        print(" …\n")
    return text


def _read(run: "Trained") -> "Surprise":
    """What it expected of a text that was held out."""
    from regard.looking.surprise import Surprise
    from regard.tasks.language.scorer import Scorer

    (unseen,) = next(iter(run.task.data.read("test")))
    ((_, found),) = Scorer(run.answerer).score([unseen[:UNSEEN]])
    return Surprise([(token.text, -token.log_prob / log(2)) for token in found.tokens])


def _look(seen: "Surprise") -> None:
    console.print("What surprised it in a topic it has never seen: how words begin, seldom how they end.")
    inked = Inked()
    if inked.colours:
        print()
        for row in seen.rows(console.width):
            print("".join(inked(letter, -bits * log(2)) for letter, bits in row))
        print(f"\n{inked.legend()}\n")
