"""regard bench training and decoding: how fast a translator is on this machine."""

from typing import Annotated

import typer

from regard.commands.bench import Json, Quiet, bench
from regard.commands.bench_tables import show_turns
from regard.commands.show import progress
from regard.errors import RecipeError

Data = Annotated[str, typer.Option(help="NAME for NAME.de and NAME.en; built-in numbers if not said.")]
VocabSize = Annotated[int, typer.Option(min=259, help="Byte pairs, joint for both languages.")]
Rounds = Annotated[int, typer.Option(min=1, help="Turns that are timed; medians are shown.")]
Peers = Annotated[str, typer.Option(hidden=True)]


@bench.command()
def training(
    data: Data = "",
    source: Annotated[str, typer.Option(help="Language to translate from.")] = "de",
    target: Annotated[str, typer.Option(help="Language to translate to.")] = "en",
    vocab_size: VocabSize = 8000,
    steps: Annotated[int, typer.Option(min=1, help="Training steps in a turn.")] = 8,
    tokens: Annotated[int, typer.Option(min=1, help="Positions in a batch.")] = 4096,
    rounds: Rounds = 9,
    json: Json = False,
    quiet: Quiet = False,
    peers: Peers = "",
) -> None:
    """A translator's training in real tokens per second."""
    _alone("training", peers)
    from regard.measuring.regard_workers import product_worker, training_workers
    from regard.measuring.sizes import TrainingWork, TransformerShape
    from regard.measuring.workers import take_turns
    from regard.measuring.works import id_pairs

    train, _ = id_pairs(data, "", (source, target), vocab_size)
    workers = training_workers(train, TransformerShape(), TrainingWork(steps, tokens))
    with progress(rounds, quiet) as tell:
        turns = take_turns([*workers, product_worker()], rounds, tell)
    show_turns(turns, "real tokens/s", json)


@bench.command()
def decoding(
    data: Data = "",
    test: Annotated[str, typer.Option(help="The same for the sentences to translate.")] = "",
    source: Annotated[str, typer.Option(help="Language to translate from.")] = "de",
    target: Annotated[str, typer.Option(help="Language to translate to.")] = "en",
    vocab_size: VocabSize = 8000,
    beam: Annotated[int, typer.Option(min=1, max=4096, help="1 is greedy.")] = 5,
    length: Annotated[int, typer.Option(min=1, help="Tokens of every answer.")] = 20,
    batch: Annotated[int, typer.Option(min=1, help="Sentences translated together.")] = 64,
    rounds: Rounds = 5,
    json: Json = False,
    quiet: Quiet = False,
    peers: Peers = "",
) -> None:
    """Beam search or greedy decoding in tokens written per second: float32, int8, int8 with a shortlist."""
    _alone("decoding", peers)
    if test and not data:
        raise RecipeError(f"--test {test}: goes with --data; built-in numbers have a test set of their own")
    from regard.measuring.regard_workers import decoding_workers, product_worker
    from regard.measuring.sizes import DecodingWork, TransformerShape
    from regard.measuring.workers import take_turns
    from regard.measuring.works import id_pairs

    train, pairs = id_pairs(data, test, (source, target), vocab_size)
    workers = decoding_workers(pairs, train, TransformerShape(), DecodingWork(beam, length, length, batch))
    with progress(rounds, quiet) as tell:
        turns = take_turns([*workers, product_worker()], rounds, tell)
    show_turns(turns, "tokens written/s", json)


def _alone(work: str, peers: str) -> None:
    """Whoever asks for others is told where they are."""
    if peers:
        raise RecipeError(
            "--peers: this measures Regard alone; beside others, in a checkout of the sources: "
            f"python benchmarks/{work}.py --peers {peers}"
        )
