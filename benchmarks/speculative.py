"""What a draft saves: a language model writes with and without one, in turns of one run.

Time is that of the processor, in one thread: on a busy machine the clock says how many others there are.
"""

import time
from pathlib import Path
from statistics import median
from typing import Annotated

import torch
import typer

from regard.commands.show import as_json, columns, console
from regard.decoding.compiled.machine_code import MACHINE_CODE
from regard.tasks.language.generator import TextGenerator
from regard.tasks.language.writing import Generated
from regard.verbs import drafted, generator_of, opened, sampling_keys
from shown import run as shown

PROMPTS = ("The history of the world is", "def read(path):\n    ", "ROMEO:\nWhat is")


def written(generator: TextGenerator, prompt: str, tokens: int) -> tuple[float, Generated]:
    """Milliseconds a token, and the text."""
    start = time.process_time()
    (found,) = generator.generate([prompt], tokens)
    return 1000 * (time.process_time() - start) / max(1, len(found.tokens)), found


def main(
    run: Path,
    draft: Path,
    tokens: Annotated[int, typer.Option(help="Tokens of each text.")] = 48,
    rounds: int = 3,
    guesses: Annotated[str, typer.Option(help="Tokens that are guessed at a time; 0 adapts.")] = "0,2,4,8",
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = 0.0,
    threads: int = 1,
    json: bool = False,
) -> None:
    """Milliseconds of the processor a token, without a draft and with one."""
    torch.set_num_threads(threads)
    MACHINE_CODE.make()
    large = generator_of(opened(run, *sampling_keys(False, temperature=temperature)))
    ways: dict[str, TextGenerator] = {"none": large}
    for count in map(int, guesses.split(",")):
        ways[str(count) if count else "adapts"] = drafted(large, draft, count, None)
    times: dict[str, list[float]] = {way: [] for way in ways}
    counts: dict[str, list[Generated]] = {way: [] for way in ways}
    for number in range(-1, rounds):
        for way, generator in ways.items():
            spent, found = written(generator, PROMPTS[number % len(PROMPTS)], 4 if number < 0 else tokens)
            if number >= 0:
                times[way].append(spent)
                counts[way].append(found)
    rows = []
    for way in ways:
        made = [found.drafted for found in counts[way] if found.drafted is not None]
        stood, proposed, steps = (sum(getattr(one, name) for one in made) for name in ("accepted", "proposed", "steps"))
        pairs = zip(times["none"], times[way], strict=True)
        rows.append({
            "guesses": way,
            "ms a token": round(median(times[way]), 2),
            "least": round(min(times[way]), 2),
            "most": round(max(times[way]), 2),
            "stood": round(stood / proposed, 2) if proposed else None,
            "tokens a step": round(sum(len(found.tokens) for found in counts[way]) / steps, 2) if steps else 1.0,
            "times as fast": round(median([one / other for one, other in pairs]), 2),
            "same text": [found.text for found in counts[way]] == [found.text for found in counts["none"]],
        })  # fmt: skip
    if json:
        return as_json(rows)
    table = columns(*rows[0])
    for row in rows:
        table.add_row(*map(str, row.values()))
    console.print(table)
    return None


if __name__ == "__main__":
    shown(main)
