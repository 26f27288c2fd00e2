"""Every causal stack on one text, equal in parameters and in time: `python benchmarks/stacks_on_text.py TEXT OUT`.

Each row trains on one thread, `--abreast` of them side by side, for as many steps as fit into `--minutes` at its own
speed, which is measured first; its schedule ends there. Rows that are done (OUT/results.jsonl) are not done again. At
the end there are a table and curves (OUT/curves.png). Needs an idle machine.
"""

import json
import time
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer

from abreast import Results, Row, log, regard, speed, train
from regard.commands.show import columns, console
from shown import run

RECURRENT = ["task.carry_state=true", "training.optimizer.kind=adamw", "training.optimizer.learning_rate=0.003"]
ROWS: dict[str, list[str]] = {
    "full": [],
    "window": ["model.decoder.pattern.kind=window", "model.decoder.pattern.width=64"],
    "linear": ["model.decoder.attention.kind=linear", "model.decoder.positions=sinusoidal"],
    "convolution": ["model.decoder={kind='convolution',layers=8,dropout=0.2}", "model.width=248"],
    "lstm": ["model.decoder={kind='recurrent',cell='lstm',layers=2,dropout=0.2}", "model.width=448", *RECURRENT],
    "gru": ["model.decoder={kind='recurrent',cell='gru',layers=2,dropout=0.2}", "model.width=512", *RECURRENT],
}


def main(
    text: Annotated[Path, typer.Argument(help="The text to learn; its last tenth is held out.")],
    out: Annotated[Path, typer.Argument(help="Where runs and results go.")],
    recipe: Annotated[str, typer.Option(help="What the rows vary.")] = "gpt-char-medium",
    minutes: Annotated[float, typer.Option(min=0.1, help="For each row and seed.")] = 5.0,
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    abreast: Annotated[int, typer.Option(min=1, help="Rows at a time, a thread each.")] = 2,
) -> None:
    """Held-out loss of each stack after the same time."""
    results = Results(out)
    base = [recipe, "data.kind=text", f"data.train={text.resolve()}", "data.valid_share=0.1"]

    def trained(row: Row) -> Row:
        name, seed = row["name"], row["seed"]
        words = [*base, *ROWS[name], f"training.seed={seed}"]
        return _trained(words, out / f"{name}-{seed}", minutes)

    wanted = [{"name": name, "seed": seed} for seed in range(1, seeds + 1) for name in ROWS]
    results.work(wanted, trained, abreast)
    _show(results.rows())
    _draw(out, results.rows())


def _trained(words: list[str], folder: Path, minutes: float) -> Row:
    steps = max(50, int(60 * minutes * speed(words, folder.with_name(f"{folder.name}-speed"))))
    began = time.perf_counter()
    often = f"training.checkpoints.validate_every={max(1, steps // 10)}"
    train([*words, f"training.steps={steps}", often], folder)
    took = time.perf_counter() - began
    scores = json.loads(regard("evaluate", str(folder), "--json"))["scores"]
    facts = json.loads((folder / "run.json").read_text())
    return {"loss": scores["loss"], "steps": steps, "seconds": took, "parameters": facts["parameters"]}


def _show(rows: list[Row]) -> None:
    table = columns("", " parameters", " steps", " minutes", " held-out loss", " least", " most", " seeds")
    for name in ROWS:
        found = [row for row in rows if row["name"] == name]
        if found:
            losses = [row["loss"] for row in found]
            facts = [f"{found[0]['parameters'] / 1e6:.2f}M", f"{mean(row['steps'] for row in found):,.0f}"]
            facts += [f"{mean(row['seconds'] for row in found) / 60:.1f}"]
            table.add_row(name, *facts, *(f"{kind(losses):.3f}" for kind in (mean, min, max)), str(len(found)))
    console.print(table)


def _draw(out: Path, rows: list[Row]) -> None:
    """Held-out loss over time, the first seed of each row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for name in ROWS:
        if any(row["name"] == name and row["seed"] == 1 for row in rows):
            seen = [line for line in log(out / f"{name}-1") if "valid" in line]
            axes.plot([line["seconds"] / 60 for line in seen], [line["valid"]["loss"] for line in seen], label=name)
    axes.set(xlabel="minutes on one thread", ylabel="held-out loss (nats per character)")
    axes.legend()
    figure.savefig(out / "curves.png", dpi=150)


if __name__ == "__main__":
    run(main)
