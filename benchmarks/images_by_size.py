"""What a model must learn that another knows by its build: `python benchmarks/images_by_size.py IMAGES OUT` (item 152).

A Vision Transformer and a residual network of about as many parameters learn from more and more images, all for the
same time on one thread: as many steps as fit into `--minutes` at the speed of each, which is measured once, with a
schedule that ends there. Where asked (`--shuffled`), both learn the same images with their pixels shuffled, too, all
into one order: nothing that they show is lost, but neighbours are neighbours no more. Accuracy is that of the test
images, which nothing was chosen by. Rows that are done (OUT/results.jsonl) are not done again, and one that was cut
short is gone on with. At the end there are a table and curves (OUT/by-size.png). Needs an idle machine.
"""

import json
import time
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer

from abreast import Results, Row, regard, train
from regard.commands.show import columns, console
from shown import run

BATCH = 128
SIZES = "1000,5000,20000,50000"
ALIKE = [
    "data.valid_share=0",
    f"task.batch_images={BATCH}",
    "task.label_smoothing=0.1",
    "augmentation={crop_padding=4,flip=0.5}",
    "training.ema=0",
    "training.checkpoints.best_by=loss",
]
ENCODER = (
    "{kind='transformer',layers=5,attention={kind='multihead',heads=4},positions='learned',"
    "mlp={kind='gelu',hidden=128}}"
)
MODELS: dict[str, list[str]] = {
    "ViT": ["vit-32", f"model.body={{kind='patches',width=64,patch=4,pooling='mean',encoder={ENCODER}}}"],
    "ResNet": ["resnet", "model.body={kind='resnet',width=16,blocks=2,stages=3}"],
}
ORDER = 1  # of the pixels that are shuffled
WARM = 20  # one of so many steps is to warm up


def main(
    images: Annotated[Path, typer.Argument(help="An archive or folder with train and test, CIFAR-10 say.")],
    out: Annotated[Path, typer.Argument(help="Where runs and results go.")],
    sizes: Annotated[str, typer.Option(help="Training images, of every class in proportion.")] = SIZES,
    shuffled: Annotated[str, typer.Option(help="So many of them with shuffled pixels, too.")] = "",
    minutes: Annotated[float, typer.Option(min=0.01, help="For each row.")] = 15.0,
    seeds: Annotated[int, typer.Option(min=1)] = 1,
    abreast: Annotated[int, typer.Option(min=1, help="Rows at a time, a thread each.")] = 2,
) -> None:
    """Accuracy of both by the number of training images, in the same time."""
    results, counts = Results(out), _numbers(sizes)
    base = [*ALIKE, f"data.train={images.resolve()}"]
    speeds = results.speeds({name: [*words, *base] for name, words in MODELS.items()})
    wanted = [
        {"model": name, "images": count, "shuffled": mixed, "seed": seed}
        for seed in range(1, seeds + 1)
        for count in counts
        for mixed in (False, True)[: 1 + (count in _numbers(shuffled))]
        for name in MODELS
    ]
    steps = {name: max(2, int(60 * minutes * each)) for name, each in speeds.items()}
    results.work(wanted, lambda row: _trained(row, base, out, steps[row["model"]]), abreast)
    done = [row for row in results.rows() if "model" in row]
    _show(done)
    _draw(out / "by-size.png", done)


def _numbers(said: str) -> list[int]:
    return [int(number) for number in said.split(",") if number]


def _trained(row: Row, base: list[str], out: Path, steps: int) -> Row:
    folder = out / f"{row['model']}-{row['images']}{'-shuffled' if row['shuffled'] else ''}-{row['seed']}"
    words = [
        *MODELS[row["model"]],
        *base,
        f"data.limit={row['images']}",
        f"task.shuffle_pixels={ORDER if row['shuffled'] else 0}",
        f"training.seed={row['seed']}",
        f"training.steps={steps}",
        f"training.schedule={{kind='cosine',warmup_steps={steps // WARM}}}",
        f"training.checkpoints.validate_every={steps}",
        f"training.checkpoints.save_every={max(2, steps // 5)}",
    ]
    began = time.perf_counter()
    train(words, folder)
    took = time.perf_counter() - began
    scores = json.loads(regard("evaluate", str(folder), "--json"))
    facts = json.loads((folder / "run.json").read_text())
    return {
        "accuracy": scores["accuracy"],
        "loss": scores["loss"],
        "steps": steps,
        "epochs": steps * BATCH / row["images"],
        "seconds": took,
        "parameters": facts["parameters"],
    }


def _show(rows: list[Row]) -> None:
    table = columns("", " images", " epochs", " minutes", " accuracy", " least", " most", " seeds")
    for name, shuffled in ((name, shuffled) for shuffled in (False, True) for name in MODELS):
        for count in sorted({row["images"] for row in rows}):
            found = [row for row in rows if _is(row, name, shuffled, count)]
            if found:
                facts = [f"{count:,}", f"{found[0]['epochs']:.1f}", f"{mean(row['seconds'] for row in found) / 60:.1f}"]
                right = [row["accuracy"] for row in found]
                scores = [f"{kind(right):.1f} %" for kind in (mean, min, max)]
                table.add_row(f"{name}{', shuffled' if shuffled else ''}", *facts, *scores, str(len(found)))
    console.print(table)
    sizes = {row["model"]: row["parameters"] for row in rows}
    console.print(", ".join(f"{name} {count:,}" for name, count in sizes.items()), "parameters")


def _draw(path: Path, rows: list[Row]) -> None:
    """A line for each model, and a broken one where its pixels are shuffled."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    counts = sorted({row["images"] for row in rows})
    for place, name in enumerate(MODELS):
        for shuffled in (False, True):
            points = {
                count: [row["accuracy"] for row in rows if _is(row, name, shuffled, count)]
                for count in counts
                if any(_is(row, name, shuffled, count) for row in rows)
            }
            said = f"{name}{', pixels shuffled' if shuffled else ''}"
            means, line = [mean(each) for each in points.values()], "--" if shuffled else "-"
            axes.plot(list(points), means, label=said, color=f"C{place}", linestyle=line, marker="o")
    axes.set(xscale="log", xlabel="training images", ylabel="accuracy on test images (%)")
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.minorticks_off()
    figure.legend(loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=150)


def _is(row: Row, name: str, shuffled: bool, count: int) -> bool:
    return (row["model"], row["shuffled"], row["images"]) == (name, shuffled, count)


if __name__ == "__main__":
    run(main)
