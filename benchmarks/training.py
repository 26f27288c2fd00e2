"""A translator's training beside other toolkits: `python benchmarks/training.py --data NAME --peers joeynmt,torch`."""

from typing import Annotated, Any

import typer

from peers.installed import chosen
from regard.commands.show import progress
from regard.measuring.regard_workers import product_worker, training_workers
from regard.measuring.sizes import IdPairs, TrainingWork, TransformerShape
from regard.measuring.workers import Prepare, ProcessWorker, Worker, take_turns
from shown import run, show_beside

PEERS = ("torch", "torch-kept", "marian", "joeynmt")


def main(
    data: Annotated[str, typer.Option(help="NAME for NAME.de and NAME.en; built-in numbers if not said.")] = "",
    source: Annotated[str, typer.Option(help="Language to translate from.")] = "de",
    target: Annotated[str, typer.Option(help="Language to translate to.")] = "en",
    vocab_size: Annotated[int, typer.Option(min=259)] = 8000,
    steps: Annotated[int, typer.Option(min=1, help="Training steps in a turn.")] = 8,
    tokens: Annotated[int, typer.Option(min=1, help="Positions in a batch.")] = 4096,
    rounds: Annotated[int, typer.Option(min=1, help="Everybody takes a turn in each.")] = 9,
    peers: Annotated[str, typer.Option(help=f"Of {', '.join(PEERS)}; all that are installed if not said.")] = "",
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Training steps in real tokens per second, round by round beside other toolkits."""
    from regard.measuring.works import id_pairs  # late: a peer's process must not carry Regard's memory

    names = chosen(peers, PEERS)
    pairs, _ = id_pairs(data, "", (source, target), vocab_size)
    shape, work = TransformerShape(), TrainingWork(steps, tokens)
    workers = [*training_workers(pairs, shape, work), *(peer_worker(name, pairs, shape, work) for name in names)]
    with progress(rounds) as tell:
        turns = take_turns([*workers, product_worker()], rounds, tell)
    show_beside(turns, "real tokens/s", json)


def peer_worker(name: str, pairs: IdPairs, shape: TransformerShape, work: TrainingWork) -> Worker:
    """Another toolkit that trains on the same pairs."""
    from peers.joeynmt import prepare_joeynmt_training
    from peers.marian import prepare_marian_training
    from peers.nn_transformer import prepare_torch_training
    from peers.shared import prepare_keeping_memory

    given = (pairs, shape, work)
    known: dict[str, tuple[str, Prepare, tuple[Any, ...]]] = {
        "torch": ("nn.Transformer", prepare_torch_training, given),
        "torch-kept": ("nn.Transformer, memory kept", prepare_keeping_memory, (prepare_torch_training, *given)),
        "marian": ("HF Marian", prepare_marian_training, given),
        "joeynmt": ("JoeyNMT", prepare_joeynmt_training, given),
    }
    return ProcessWorker(*known[name])


if __name__ == "__main__":
    run(main)
