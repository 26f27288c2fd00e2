"""What a language model writes, as it comes: one text at once, several in their order, rows for machines."""

import json as jsons
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from regard.commands.show import plainly
from regard.commands.shown import Shown
from regard.commands.surprise import Inked
from regard.errors import ORDERS, InputError

if TYPE_CHECKING:
    from regard.tasks.language.generator import TextGenerator
    from regard.tasks.language.writing import Chat, Chunk, Generated

SAID = {
    "length": "after {tokens:,} tokens; --tokens N writes more",
    "context": "its context of {room:,} tokens is full; --slide forgets the older half and goes on",
}
SHOWN_AS = dict.fromkeys(ORDERS.keys() - {ord("\t")}, "\N{REPLACEMENT CHARACTER}")


@dataclass(frozen=True)
class Manner:
    """How much is written, and how it is shown."""

    tokens: int
    samples: int
    stop: tuple[str, ...]
    slide: bool
    echo: bool
    inked: Inked | None
    json: bool


class Writer:
    """Texts as they come; of several, one after another, each under a line that says which."""

    def __init__(self, generator: "TextGenerator", heard: Shown, manner: Manner) -> None:
        self.generator, self.heard, self.manner, self.count = generator, heard, manner, 0
        self._texts, self._full = 0, 0

    def write(self, prompts: "Sequence[str | Chat]", stopped: Callable[[], bool] = lambda: False) -> "list[Generated]":
        """What follows some prompts, each a text or the messages of a chat; until somebody wants it to end."""
        from regard.tasks.language.writing import Chunk

        how = self.manner
        made: list[Generated] = []
        alone = len(prompts) * how.samples == 1 and not how.json
        done: dict[int, Generated] = {}
        chunks: dict[int, list[Chunk]] = {}
        events = self.generator.stream(
            prompts,
            how.tokens,
            samples=how.samples,
            stop=how.stop,
            slide=how.slide,
            first=self.count,
            stopped=stopped,
        )
        if alone:
            self._begin(prompts[0])
        for event in events:
            if isinstance(event, Chunk):
                if alone:
                    self._add(event)
                elif how.inked is not None:
                    chunks.setdefault(event.place, []).append(event)
                continue
            done[event[0]] = event[1]
            while len(made) in done:
                place = len(made)
                made.append(done.pop(place))
                self._finish(made[-1], prompts, place, None if alone else chunks.pop(place, []))
        self.count += len(prompts)
        if not alone and not how.json:
            self._texts += len(made)
            self._full += sum(one.why == "context" for one in made)
        return made

    def sum_up(self) -> None:
        """What is to be told of all texts, where it was not told of each."""
        if not self.count:
            self.heard.say("nothing was written: there was no prompt")
        if self._texts and self.manner.inked is not None:
            _out(self.manner.inked.legend() + "\n", plain=False)
        if self._full:
            why = SAID["context"].format(room=self.generator.room)
            self.heard.say(f"{self._full:,} of {self._texts:,} texts ended: {why}")

    def _begin(self, prompt: "str | Chat") -> None:
        self.heard.clear()
        if self.manner.echo and isinstance(prompt, str):
            _out(prompt)

    def _add(self, chunk: "Chunk") -> None:
        inked, written = self.manner.inked, chunk.written
        if inked is None or written is None:
            _out(chunk.text)
        else:
            _out(inked(chunk.text, written.log_prob), plain=False)

    def _finish(
        self, found: "Generated", prompts: "Sequence[str | Chat]", place: int, chunks: "list[Chunk] | None"
    ) -> None:
        """The end of a text that stands alone; else all of it, in chunks where they are coloured."""
        how, alone = self.manner, chunks is None
        prompt, sample = divmod(place, how.samples)
        if how.json:
            return plainly(jsons.dumps(_row(found, sample), ensure_ascii=False))
        if not alone:
            self.heard.clear()
            print(
                f"── text {self.count + prompt + 1:,}" + (f", sample {sample + 1:,}" if how.samples > 1 else "") + " ──"
            )
            self._begin(prompts[prompt])
            for chunk in chunks or ():
                self._add(chunk)
            if how.inked is None:
                _out(found.text)
        _out("\n")
        if alone and how.inked is not None:
            _out(how.inked.legend() + "\n", plain=False)
        if alone and found.drafted is not None:
            self.heard.say("draft: " + _stood(found))
        if alone and found.why in SAID:
            self.heard.say("ended: " + SAID[found.why].format(tokens=len(found.tokens), room=self.generator.room))
        return None


def _row(found: "Generated", sample: int) -> dict[str, object]:
    tokens = [{"text": token.text, "log_prob": round(token.log_prob, 6)} for token in found.tokens]
    row = {"prompt": found.prompt, "sample": sample, "text": found.text, "why": found.why}
    drafted = {} if found.drafted is None else {"draft": asdict(found.drafted)}
    return row | {"log_prob": round(found.log_prob, 6), "tokens": tokens} | drafted


def _stood(found: "Generated") -> str:
    """How a draft did, in a line."""
    drafted = found.drafted
    assert drafted is not None
    each = len(found.tokens) / max(1, drafted.steps)
    return f"{drafted.accepted:,} of {drafted.proposed:,} guesses stood, {each:.1f} tokens a step of the model"


def _out(text: str, plain: bool = True) -> None:
    """As it is, but for orders to a terminal."""
    if plain and sys.stdout.isatty():
        text = text.translate(SHOWN_AS)
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError as error:  # half a character that was said to be one
        raise InputError(f"cannot be shown: {error.reason}") from error
    sys.stdout.flush()
