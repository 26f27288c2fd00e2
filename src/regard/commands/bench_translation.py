"""regard bench training and decoding: translation beside its peers."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.bench import bench
from regard.commands.show import as_json, columns, console, progress, size
from regard.errors import RecipeError

if TYPE_CHECKING:
    from regard.bench.workers import Turns

Data = Annotated[str, typer.Option(help="NAME for NAME.de and NAME.en; built-in numbers if not said.")]
Peers = Annotated[str, typer.Option(help="Which peers, such as torch,joeynmt; all that are installed if not said.")]
Rounds = Annotated[int, typer.Option(min=1, help="Every peer takes a turn in each.")]
Json = Annotated[bool, typer.Option("--json", help="For machines.")]


@bench.command()
def training(
    data: Data = "",
    source: Annotated[str, typer.Option()] = "de",
    target: Annotated[str, typer.Option()] = "en",
    vocabulary: Annotated[int, typer.Option(min=259)] = 8000,
    steps: Annotated[int, typer.Option(min=1, help="Training steps in a turn.")] = 8,
    tokens: Annotated[int, typer.Option(min=1, help="Positions in a batch.")] = 4096,
    rounds: Rounds = 9,
    peers: Peers = "",
    json: Json = False,
) -> None:
    """A translator's training in real tokens per second, round by round beside its peers."""
    from regard.bench.peers import Shape, Training
    from regard.bench.translation import bench_training, corpora

    names = _chosen(peers, ("torch", "torch-kept", "marian", "joeynmt"))
    corpus, _ = corpora(_pairs(data, "", source, target), vocabulary)
    with progress(rounds) as tell:
        turns = bench_training(corpus, Shape(), Training(steps, tokens), rounds=rounds, names=names, tell=tell)
    _show(turns, "real tokens/s", json)


@bench.command()
def decoding(
    data: Data = "",
    test: Annotated[str, typer.Option(help="The same for the sentences to translate.")] = "",
    source: Annotated[str, typer.Option()] = "de",
    target: Annotated[str, typer.Option()] = "en",
    vocabulary: Annotated[int, typer.Option(min=259)] = 8000,
    beam: Annotated[int, typer.Option(min=1, help="1 is greedy.")] = 5,
    length: Annotated[int, typer.Option(min=1, help="Tokens of every answer.")] = 20,
    batch: Annotated[int, typer.Option(min=1, help="Sentences translated together.")] = 64,
    rounds: Rounds = 5,
    peers: Peers = "",
    json: Json = False,
) -> None:
    """Beam search or greedy decoding in tokens written per second, round by round beside its peers."""
    from regard.bench.peers import Decoding, Shape
    from regard.bench.translation import bench_decoding, corpora

    table, corpus = corpora(_pairs(data, test, source, target), vocabulary)
    forced, names = Decoding(beam, length, length, batch), _chosen(peers, ("marian", "ctranslate2", "joeynmt"))
    with progress(rounds) as tell:
        turns = bench_decoding(corpus, table, Shape(), forced, rounds=rounds, names=names, tell=tell)
    _show(turns, "tokens written/s", json)


def _pairs(data: str, test: str, source: str, target: str) -> Any:
    from regard.data.files import Files
    from regard.data.numbers import Numbers

    if not data:
        return Numbers(source=source, target=target)
    share = 0.0 if test else 0.03
    return Files(train=data, test=test, source=source, target=target, valid_share=0.0, test_share=share)


def _chosen(peers: str, known: tuple[str, ...]) -> list[str]:
    from regard.bench.translation import installed

    names = [name for name in peers.split(",") if name]
    for name in names:
        if name not in known:
            raise RecipeError(f"--peers {name}: there is {', '.join(known)}")
    return names or [name for name in known if name in installed()]


def _show(turns: "list[Turns]", unit: str, json: bool) -> None:
    if json:
        return as_json([asdict(turn) | {"rate": turn.rate} for turn in turns])
    ours = [turn for turn in turns if turn.name.startswith("regard")]
    if len(ours) == 1:
        table = columns("peer", f" {unit}", " spread", " peak", "regard is … times as fast (least–most)")
    else:
        table = columns("peer", f" {unit}", " spread", *(f"{turn.name} is … times as fast" for turn in ours))
    for turn in turns[:-1]:
        ratios = ["" if turn is mine else "{:.2f} ({:.2f}–{:.2f})".format(*mine.ratio(turn)) for mine in ours]
        held = [size(turn.peak)] if len(ours) == 1 else []
        table.add_row(turn.name, f"{turn.rate:,.0f}", f"{turn.spread:.2f}", *held, *ratios)
    console.print(table)
    seconds = sorted(turns[-1].seconds)[len(turns[-1].seconds) // 2]
    console.print(f"\nA 2048³ matrix product in the same rounds: {2 * 2048**3 / seconds / 1e9:.0f} GFLOP/s")
    return None
