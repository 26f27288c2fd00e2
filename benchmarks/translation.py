"""Real sentences of a trained run beside CTranslate2 with the same weights; each ends where it ends.

python benchmarks/translation.py RUN DATA/test_2016_flickr.de --beam 5
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from regard.commands.show import console, progress
from regard.measuring.regard_workers import product_worker
from regard.measuring.workers import ProcessWorker, Worker, take_turns
from shown import run, show_beside

LONGEST = 100  # tokens of an answer


def main(
    folder: Annotated[str, typer.Argument(help="A run that translates: a Transformer with ReLU and sinusoids.")],
    file: Annotated[Path, typer.Argument(help="Sentences to translate, one a line.")],
    beam: Annotated[int, typer.Option(min=1, help="1 is greedy.")] = 5,
    batch: Annotated[int, typer.Option(min=1, help="Sentences translated together.")] = 64,
    one: Annotated[int, typer.Option(min=0, help="So many sentences, one after another; 0 all at once.")] = 0,
    rounds: Annotated[int, typer.Option(min=1, help="Everybody takes a turn in each.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """The same sentences with the same weights, round by round: tokens written per second."""
    given = (folder, file, beam, batch, one)
    workers: list[Worker] = []
    for precision in ("float32", "int8"):
        workers.append(ProcessWorker(f"regard {precision}", prepare_regard, (*given, precision)))
        for words, abreast in (("", False), (", one thread" if one else ", abreast", True)):
            name = f"CTranslate2 {precision}{words}"
            workers.append(ProcessWorker(name, prepare_ctranslate2, (*given, precision, abreast)))
    with progress(rounds) as tell:
        turns = take_turns([*workers, product_worker()], rounds, tell)
    show_beside(turns, "tokens written/s", json)
    written = {taken.name: taken.work[-1] for taken in turns[:-1]}
    if not json:
        console.print("Tokens of a turn: " + ", ".join(f"{name} {count:,}" for name, count in written.items()))


def sources_of(trained: Any, file: Path, one: int) -> tuple[list[list[int]], Any]:
    """Sentences as ids with their end, and the ids that are no text."""
    tokenizers = trained.answerer.tokenizers
    lines = file.read_text(encoding="utf-8").splitlines()[: one or None]
    return [[*ids, tokenizers.ids.source_eos] for ids in tokenizers.source.encode(lines)], tokenizers.ids


def prepare_regard(folder: str, file: Path, beam: int, batch: int, one: int, precision: str) -> Callable[[], int]:
    from regard.allocator import keep_memory
    from regard.decoding.beam import Beam
    from regard.decoding.compiled.machine_code import MACHINE_CODE
    from regard.decoding.engine import Engine
    from regard.decoding.request import Request
    from regard.decoding.sample import Greedy
    from regard.trained import open_run

    keep_memory()
    MACHINE_CODE.make()
    trained = open_run(folder, int8=precision == "int8")
    sources, ids = sources_of(trained, file, one)
    model: Any = trained.model
    search = Greedy() if beam == 1 else Beam(beam_size=beam)
    engine = Engine(model, search, stop_tokens=[ids.eos], forbidden=ids.never_written, rows=batch * beam)
    requests = [Request([ids.bos], source, LONGEST, number) for number, source in enumerate(sources)]
    lots = [[request] for request in requests] if one else [requests]
    return lambda: sum(len(found[0].tokens) for lot in lots for found in engine.write(lot))


def prepare_ctranslate2(
    folder: str, file: Path, beam: int, batch: int, one: int, precision: Any, abreast: bool
) -> Callable[[], int]:
    import torch

    from peers.converted import converted
    from regard.trained import open_run

    ctranslate2: Any = import_module("ctranslate2")
    trained: Any = open_run(folder)
    sources, ids = sources_of(trained, file, one)
    threads = torch.get_num_threads()
    with TemporaryDirectory() as made:
        converted(trained.model, ids, Path(made), precision)
        inter, intra = (threads, 1) if abreast else (1, threads)
        opened = ctranslate2.Translator(made, compute_type=precision, inter_threads=inter, intra_threads=intra)
    named = [[str(token) for token in source] for source in sources]
    lots = [[source] for source in named] if one else [named]

    def turn() -> int:
        found = [
            opened.translate_batch(lot, max_batch_size=batch, beam_size=beam, max_decoding_length=LONGEST)
            for lot in lots
        ]
        return sum(len(result.hypotheses[0]) for results in found for result in results)

    return turn


if __name__ == "__main__":
    run(main)
