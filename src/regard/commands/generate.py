"""regard generate: a language model goes on with a text, as it is written."""

import json as jsons
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.commands.completing import runs as complete_runs
from regard.commands.shown import Shown
from regard.commands.surprise import Inked
from regard.commands.translate import Device, Quiet, Set
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.tasks.language.generator import Generated, TextGenerator

TOGETHER = 256  # prompts that are gone on with at a time
SAID = {
    "length": "after {tokens:,} tokens; --tokens N writes more",
    "context": "its context of {room:,} tokens is full; --slide forgets the older half and goes on",
}


def generate(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    prompt: Annotated[list[str] | None, typer.Argument(help="Texts to go on with; asked for if not said.")] = None,
    file: Annotated[
        list[Path] | None, typer.Option(help="A file of prompts, one a line; .gz and .xz are unpacked; - is a pipe.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Each file, or the pipe, is one prompt with its lines.")
    ] = False,
    tokens: Annotated[int, typer.Option("--tokens", "-n", min=1, help="Tokens to write at most.")] = 200,
    samples: Annotated[int, typer.Option(min=1, max=4096, help="Texts to write for each prompt.")] = 1,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Below 1 likely tokens win more often, above 1 rare ones; 0 is greedy.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=0, help="Draw among so many likeliest tokens; 0 is all.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw among the likeliest that have this chance together.")
    ] = None,
    min_p: Annotated[
        float | None, typer.Option(help="Draw among those with this share of the likeliest one's chance.")
    ] = None,
    repetition_penalty: Annotated[
        float | None, typer.Option(help="Above 1: what was said is less likely again.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same number writes the same texts.")] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="The likeliest token at every step.")] = False,
    stop: Annotated[list[str] | None, typer.Option(help="End where this text comes; may be repeated.")] = None,
    slide: Annotated[
        bool, typer.Option("--slide", help="Go on past the context: its older half is forgotten.")
    ] = False,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--no-chat", help="Whether prompts are messages of a chat; if not said, where it can chat."
        ),
    ] = None,
    system: Annotated[str, typer.Option(help="What a chat is told before the first message.")] = "",
    set_: Set = None,
    echo: Annotated[bool, typer.Option("--echo/--no-echo", help="Show the prompt before what follows.")] = True,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Colour every token by how much of a surprise it was.")
    ] = False,
    device: Device = "auto",
    int8: Annotated[bool, typer.Option("--int8", help="Eight-bit matrices: faster, a little less exact.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per text, for machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a text, as a trained language model would: it appears as it is written.

    regard generate runs/gpt 'To be, or not' --tokens 100 --temperature 0.8

    regard generate runs/gpt --file prompts.txt --samples 4 --json > out.jsonl
    """
    from regard.commands.prompts import asked_prompts, spoken
    from regard.commands.waiting import waiting
    from regard.verbs import generator_of, opened, sampling_keys

    asked = asked_prompts(prompt or [], file or [], whole)
    chosen = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "repetition_penalty": repetition_penalty,
        "seed": seed,
    }
    with Shown(quiet) as heard:
        keys = [*sampling_keys(greedy, **chosen), *(set_ or ())]
        generator = generator_of(opened(run, *keys, device=device, int8=int8, listener=heard))
        writer = _Writer(generator, heard, tokens, samples, tuple(stop or ()), slide)
        writer.chat = generator.template is not None if chat is None else chat
        writer.system, writer.json = system, json
        writer.echo, writer.inked = echo and not writer.chat, Inked() if probabilities else None
        if asked is None:
            return spoken(lambda text: writer.write([text]))
        for some in waiting(asked, TOGETHER):
            writer.write(some)
        if not writer.count:
            heard.say("nothing was written: there was no prompt")
    return None


class _Writer:
    """Texts as they come; of several, one after another, each under a line that says which."""

    echo, json, chat, system = True, False, False, ""
    inked: Inked | None = None

    def __init__(
        self, generator: "TextGenerator", heard: Shown, tokens: int, samples: int, stop: tuple[str, ...], slide: bool
    ) -> None:
        self.generator, self.heard, self.count = generator, heard, 0
        self.tokens, self.samples, self.stop, self.slide = tokens, samples, stop, slide

    def write(self, prompts: list[str]) -> None:
        """What follows some prompts."""
        from regard.tasks.language.generator import Chunk

        alone = len(prompts) * self.samples == 1 and not self.json
        done: dict[int, Generated] = {}
        shown = 0
        events = self.generator.stream(
            list(map(self._asked, prompts)),
            self.tokens,
            samples=self.samples,
            stop=self.stop,
            slide=self.slide,
            first=self.count,
        )
        if alone:
            self._begin(prompts[0])
        for event in events:
            if isinstance(event, Chunk):
                if alone:
                    self._add(event.text, None if event.written is None else event.written.log_prob)
                continue
            done[event[0]] = event[1]
            while shown in done:
                self._finish(done.pop(shown), shown, alone)
                shown += 1
        self.count += len(prompts)

    def _asked(self, prompt: str) -> "str | list[dict[str, str]]":
        if not self.chat:
            return prompt
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, {"role": "user", "content": prompt}]

    def _begin(self, prompt: str) -> None:
        self.heard.clear()
        if self.echo:
            _out(prompt)

    def _add(self, text: str, log_prob: float | None) -> None:
        _out(text if self.inked is None or log_prob is None else self.inked(text, log_prob), plain=self.inked is None)

    def _finish(self, found: "Generated", place: int, alone: bool) -> None:
        if self.json:
            return print(jsons.dumps(_row(found, place % self.samples), ensure_ascii=False), flush=True)
        if not alone:
            self.heard.clear()
            number = self.count + place // self.samples + 1
            print(
                f"── text {number:,}" + (f", sample {place % self.samples + 1:,}" if self.samples > 1 else "") + " ──"
            )
            self._begin(found.prompt)
            for token in found.tokens if self.inked is not None else ():
                self._add(token.text, token.log_prob)
            if self.inked is None:
                _out(found.text)
        _out("\n")
        if alone and self.inked is not None:
            _out(self.inked.legend() + "\n", plain=False)
        if alone and found.why in SAID:
            self.heard.say("ended: " + SAID[found.why].format(tokens=len(found.tokens), room=self.generator.room))
        return None


def _row(found: "Generated", sample: int) -> dict[str, object]:
    tokens = [{"text": token.text, "log_prob": round(token.log_prob, 6)} for token in found.tokens]
    row = {"prompt": found.prompt, "sample": sample, "text": found.text, "why": found.why}
    return row | {"log_prob": round(found.log_prob, 6), "tokens": tokens}


def _out(text: str, plain: bool = True) -> None:
    """As it is, but for orders to a terminal."""
    if plain and sys.stdout.isatty():
        text = text.translate(ORDERS)
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError as error:  # half a character that was said to be one
        raise InputError(f"cannot be shown: {error.reason}") from error
    sys.stdout.flush()


ORDERS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}")
