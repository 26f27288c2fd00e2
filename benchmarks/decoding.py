"""Translation beside other toolkits: `python benchmarks/decoding.py --data NAME --test NAME --peers ctranslate2`."""

from typing import Annotated

import typer

from peers.installed import chosen
from regard.commands.show import progress
from regard.measuring.regard_workers import decoding_workers, product_worker
from regard.measuring.sizes import DecodingWork, IdPairs, TransformerShape
from regard.measuring.workers import ProcessWorker, Worker, take_turns
from shown import run, show_beside

PEERS = ("marian", "ctranslate2", "joeynmt")


def main(
    data: Annotated[str, typer.Option(help="NAME for NAME.de and NAME.en; built-in numbers if not said.")] = "",
    test: Annotated[str, typer.Option(help="The same for the sentences to translate.")] = "",
    source: Annotated[str, typer.Option(help="Language to translate from.")] = "de",
    target: Annotated[str, typer.Option(help="Language to translate to.")] = "en",
    vocab_size: Annotated[int, typer.Option(min=259)] = 8000,
    beam: Annotated[int, typer.Option(min=1, help="1 is greedy.")] = 5,
    length: Annotated[int, typer.Option(min=1, help="Tokens of every answer.")] = 20,
    batch: Annotated[int, typer.Option(min=1, help="Sentences translated together.")] = 64,
    rounds: Annotated[int, typer.Option(min=1, help="Everybody takes a turn in each.")] = 5,
    peers: Annotated[str, typer.Option(help=f"Of {', '.join(PEERS)}; all that are installed if not said.")] = "",
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Beam search or greedy decoding in tokens written per second, round by round beside other toolkits."""
    from regard.measuring.works import id_pairs  # late: a peer's process must not carry Regard's memory

    names = chosen(peers, PEERS)
    train, pairs = id_pairs(data, test, (source, target), vocab_size)
    shape, work = TransformerShape(), DecodingWork(beam, length, length, batch)
    workers = decoding_workers(pairs, train, shape, work)
    for name in names:
        workers += peer_workers(name, pairs, shape, work)
    with progress(rounds) as tell:
        turns = take_turns([*workers, product_worker()], rounds, tell)
    show_beside(turns, "tokens written/s", json)


def peer_workers(name: str, pairs: IdPairs, shape: TransformerShape, work: DecodingWork) -> list[Worker]:
    """Another toolkit that translates the same sources, in all its ways."""
    from peers.ctranslate2 import prepare_ctranslate2_decoding
    from peers.joeynmt import prepare_joeynmt_decoding
    from peers.marian import prepare_marian_decoding

    given = (pairs, shape, work)
    if name == "marian":
        return [ProcessWorker("HF Marian", prepare_marian_decoding, given)]
    if name == "joeynmt":
        return [ProcessWorker("JoeyNMT", prepare_joeynmt_decoding, given)]
    return [
        ProcessWorker(f"CTranslate2 {precision}{words}", prepare_ctranslate2_decoding, (*given, precision, abreast))
        for words, abreast in (("", False), (", abreast", True))
        for precision in ("float32", "int8")
    ]


if __name__ == "__main__":
    run(main)
