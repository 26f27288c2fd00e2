"""Every causal stack on one text, equal in parameters and in time: `python benchmarks/stacks_on_text.py TEXT OUT`.

First the speed of each row is measured on one thread, one after the other: that wants an idle machine. Then each trains
for as many steps as fit into `--minutes` at that speed, and its schedule ends there; how busy the machine is by then is
of no matter. What is done (OUT/results.jsonl) is not done again, and what was cut short is gone on with. At the end
there are a table and curves (OUT/curves.png).
"""

import json
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer

from abreast import Results, Row, log, regard, train
from regard.commands.show import columns, console
from shown import run

# Learning rates of the recurrent rows are the best of 0.003, 0.006 and 0.01 that no seed fell out of.
RECURRENT = ["task.carry_state=true", "training.optimizer.kind=adamw"]
ROWS: dict[str, list[str]] = {
    "full": [],
    "window": ["model.decoder.pattern.kind=window", "model.decoder.pattern.width=32"],
    "linear": ["model.decoder.attention.kind=linear", "model.decoder.positions=sinusoidal"],
    "convolution": ["model.decoder={kind='convolution',layers=8}", "model.width=120"],
    "lstm": [
        "model.decoder={kind='recurrent',cell='lstm',layers=2}",
        "model.width=220",
        *RECURRENT,
        "training.optimizer.learning_rate=0.01",
    ],
    "gru": [
        "model.decoder={kind='recurrent',cell='gru',layers=2}",
        "model.width=252",
        *RECURRENT,
        "training.optimizer.learning_rate=0.003",
    ],
}
VALIDATIONS = 8


def main(
    text: Annotated[Path, typer.Argument(help="The text to learn; its last tenth is held out.")],
    out: Annotated[Path, typer.Argument(help="Where runs and results go.")],
    recipe: Annotated[str, typer.Option(help="What the rows vary.")] = "text-gpt",
    minutes: Annotated[float, typer.Option(min=0.1, help="For each row and seed.")] = 3.0,
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    abreast: Annotated[int, typer.Option(min=1, help="Rows at a time, a thread each.")] = 2,
) -> None:
    """Held-out loss of each stack after the same time."""
    results = Results(out)
    base = [recipe, "data.kind=text", f"data.train={text.resolve()}", "data.valid_share=0.1"]
    speeds = results.speeds({name: [*base, *words] for name, words in ROWS.items()})
    wanted = [{"name": name, "seed": seed} for seed in range(1, seeds + 1) for name in ROWS]
    results.work(wanted, lambda row: _trained(row, base, out, int(60 * minutes * speeds[row["name"]])), abreast)
    done = [row for row in results.rows() if "name" in row]
    _show(done, minutes)
    _draw(out, done, speeds)


def _trained(row: Row, base: list[str], out: Path, steps: int) -> Row:
    folder, often = out / f"{row['name']}-{row['seed']}", max(1, steps // VALIDATIONS)
    words = [*base, *ROWS[row["name"]], f"training.seed={row['seed']}", f"training.steps={steps}"]
    train([*words, f"training.checkpoints.validate_every={often}"], folder)
    scores = json.loads(regard("evaluate", str(folder), "--json"))["scores"]
    facts = json.loads((folder / "run.json").read_text())
    return {"loss": scores["loss"], "steps": steps, "parameters": facts["parameters"]}


def _show(rows: list[Row], minutes: float) -> None:
    table = columns("", " parameters", f" steps in {minutes:g} minutes", " held-out loss", " least", " most", " seeds")
    for name in ROWS:
        found = [row for row in rows if row["name"] == name]
        if found:
            losses = [row["loss"] for row in found]
            facts = [f"{found[0]['parameters'] / 1e6:.2f}M", f"{found[0]['steps']:,}"]
            table.add_row(name, *facts, *(f"{kind(losses):.3f}" for kind in (mean, min, max)), str(len(found)))
    console.print(table)


def _draw(out: Path, rows: list[Row], speeds: dict[str, float]) -> None:
    """Held-out loss over time, the first seed of each row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for name in ROWS:
        if any(row["name"] == name and row["seed"] == 1 for row in rows):
            seen = [line for line in log(out / f"{name}-1") if "loss" in line.get("valid", {})]
            minutes = [line["step"] / speeds[name] / 60 for line in seen]
            axes.plot(minutes, [line["valid"]["loss"] for line in seen], label=name)
    axes.set(xlabel="minutes on one thread", ylabel="held-out loss (nats per character)")
    axes.legend()
    figure.savefig(out / "curves.png", dpi=150)


if __name__ == "__main__":
    run(main)
