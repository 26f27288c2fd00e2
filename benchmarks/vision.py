"""Image models beside others: `python benchmarks/vision.py --model vit --work training`."""

from enum import StrEnum
from typing import Annotated

import typer

from peers.vision import ResnetShape, VitShape, prepare_huggingface, prepare_plain_resnet, prepare_regard
from regard.commands.show import progress
from regard.measuring.regard_workers import product_worker
from regard.measuring.workers import ProcessWorker, Worker, take_turns
from shown import run, show_beside


class Kind(StrEnum):
    """Which model."""

    VIT = "vit"
    RESNET = "resnet"


class Job(StrEnum):
    """What it does."""

    TRAINING = "training"
    INFERENCE = "inference"


def main(
    model: Annotated[Kind, typer.Option(help="ViT beside Hugging Face's, or a ResNet beside plain torch.")] = Kind.VIT,
    work: Annotated[Job, typer.Option(help="Whole steps of training, or images classified.")] = Job.TRAINING,
    size: Annotated[int, typer.Option(min=0, help="Of the images in pixels; 0: 224 for ViT, 32 for ResNet.")] = 0,
    batch: Annotated[int, typer.Option(min=0, help="Images at once; 0: 16 for ViT, 128 for ResNet.")] = 0,
    rounds: Annotated[int, typer.Option(min=1, help="Everybody takes a turn in each.")] = 9,
    small: Annotated[bool, typer.Option("--small", help="Tiny: only to see that it runs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Images per second, round by round: ViT-tiny/16 or ResNet-20 unless said otherwise."""
    workers = beside(model, work is Job.TRAINING, size, batch, small)
    with progress(rounds) as tell:
        turns = take_turns([*workers, product_worker()], rounds, tell, warm=2)
    show_beside(turns, "images/s", json)


def beside(model: Kind, learning: bool, size: int, batch: int, small: bool) -> list[Worker]:
    """Regard, its peer as it is, and its peer with memory kept between steps."""
    if model is Kind.RESNET:
        resnet = ResnetShape(8, 4, 1, 2, batch=2) if small else ResnetShape(size or 32, batch=batch or 128)
        return [
            ProcessWorker("regard", prepare_regard, (resnet, learning)),
            ProcessWorker("plain torch", prepare_plain_resnet, (resnet, learning)),
            ProcessWorker("plain torch, memory kept", prepare_plain_resnet, (resnet, learning, True)),
        ]
    vit = VitShape(16, 8, 1, 1, 8, 3, 2) if small else VitShape(size or 224, batch=batch or 16)
    workers: list[Worker] = [ProcessWorker("regard", prepare_regard, (vit, learning))]
    if not learning:
        workers.append(ProcessWorker("regard int8", prepare_regard, (vit, learning, True)))
    return [
        *workers,
        ProcessWorker("Hugging Face", prepare_huggingface, (vit, learning)),
        ProcessWorker("Hugging Face, memory kept", prepare_huggingface, (vit, learning, True)),
    ]


if __name__ == "__main__":
    run(main)
