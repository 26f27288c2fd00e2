"""regard generate: a language model goes on with a text, as it is written."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from regard.commands.ahead import check_ahead
from regard.commands.completing import runs as complete_runs
from regard.commands.shown import Shown
from regard.commands.surprise import Inked
from regard.commands.translate import Device, Int8, Quiet, Set, no_keys
from regard.errors import InputError

TOGETHER = 256  # prompts that are gone on with at a time


def generate(
    run: Annotated[Path, typer.Argument(help="A run folder.", autocompletion=complete_runs)],
    prompt: Annotated[
        list[str] | None, typer.Argument(help="Texts to go on with, - for a pipe; asked for if not said.")
    ] = None,
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
        float | None, typer.Option(help="Draw among the likeliest that have this chance together, above 0 up to 1.")
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
    draft: Annotated[
        Path | None,
        typer.Option(
            help="A smaller run of the same vocabulary that guesses ahead: the same probabilities, fewer steps.",
            autocompletion=complete_runs,
        ),
    ] = None,
    draft_tokens: Annotated[
        int, typer.Option(help="Tokens that the draft guesses at a time; 0 adapts to what stands.")
    ] = 0,
    set_: Set = None,
    echo: Annotated[bool, typer.Option("--echo/--no-echo", help="Show the prompt before what follows.")] = True,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Colour every token by its probability.")
    ] = False,
    device: Device = "auto",
    int8: Int8 = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON line per text, for machines.")] = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a text, as a trained language model would: it appears as it is written.

    regard generate runs/gpt 'To be, or not' --tokens 100 --temperature 0.8

    regard generate runs/gpt --file prompts.txt --samples 4 --json > out.jsonl
    """
    check_ahead(run)
    from regard.commands.asked import utf8
    from regard.commands.conversation import Conversation
    from regard.commands.prompts import asked_prompts, chatted, prompt_of, spoken
    from regard.commands.waiting import waiting
    from regard.commands.warned import FOREIGN, Warned
    from regard.commands.writer import Manner, Writer
    from regard.tasks.language.writing import check_stops
    from regard.verbs import check_draft, drafted, generator_of, opened, sampling_keys

    check_stops(stop or ())
    check_draft(draft is not None, draft_tokens)
    asked = asked_prompts(no_keys(prompt or []), file or [], whole)
    stops, system = tuple(utf8(each, "--stop") for each in stop or ()), utf8(system, "--system")
    chosen = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "repetition_penalty": repetition_penalty,
        "seed": seed,
    }
    with Shown(quiet) as heard:
        keys = [*sampling_keys(greedy, set_ or (), **chosen), *(set_ or ())]
        generator = generator_of(opened(run, *keys, device=device, int8=int8, listener=heard))
        if draft is not None:
            generator = drafted(generator, draft, draft_tokens, device, heard)
        inked = Inked() if probabilities else None
        writer = Writer(generator, heard, Manner(tokens, samples, stops, slide, echo, inked, json))
        chats = generator.template is not None if chat is None else chat
        if system and not chats:
            raise InputError("--system: only a chat is told something first, and this goes on with texts; leave it out")
        talk = partial(Conversation, generator, system, tokens, heard)
        if asked is None:
            heard.clear()
            return chatted(writer, talk()) if chats else spoken(lambda text, stop: writer.write([text], stop))
        warned = Warned(heard, "gone on with")
        for some in waiting(asked, TOGETHER):
            texts = [prompt_of(one, warned) for one in some]
            for one in some:
                if not generator.facts.unseen and generator.tokenizer.is_foreign(one.text):  # else it is refused
                    warned.of(FOREIGN, one.place)
            writer.write([talk().ask(text) for text in texts] if chats else texts)
        writer.sum_up()
        warned.sum_up()
    return None
