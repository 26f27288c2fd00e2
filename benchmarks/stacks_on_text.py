"""Every causal stack on one text, equal in parameters and in time: `python benchmarks/stacks_on_text.py TEXT OUT`.

First the speed of each row is measured on one thread, one after the other (OUT/speeds.json): that wants an idle
machine. Then each trains for as many steps as fit into `--minutes` at that speed, and its schedule ends there; how busy
the machine is by then is of no matter. Rows that are done (OUT/results.jsonl) are not done again. At the end there are
a table and curves (OUT/curves.png).
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import mean
from typing import Annotated, Any

import typer

from regard.commands.show import columns, console
from regard.errors import FailedError
from shown import run

RECURRENT = ["task.carry_state=true", "training.optimizer.kind=adamw", "training.optimizer.learning_rate=0.003"]
ROWS: dict[str, list[str]] = {
    "full": [],
    "window": ["model.decoder.pattern.kind=window", "model.decoder.pattern.width=32"],
    "linear": ["model.decoder.attention.kind=linear", "model.decoder.positions=sinusoidal"],
    "convolution": ["model.decoder={kind='convolution',layers=8}", "model.width=120"],
    "lstm": ["model.decoder={kind='recurrent',cell='lstm',layers=2}", "model.width=220", *RECURRENT],
    "gru": ["model.decoder={kind='recurrent',cell='gru',layers=2}", "model.width=252", *RECURRENT],
}
CALIBRATION = 60  # steps to measure a row's speed with; the first ten warm up
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
    out.mkdir(parents=True, exist_ok=True)
    base = [recipe, "data.kind=text", f"data.train={text.resolve()}", "data.valid_share=0.1"]
    there = {(row["name"], row["seed"]) for row in _results(out)}
    speeds = _speeds(base, out)
    waiting: SimpleQueue[tuple[str, int]] = SimpleQueue()
    for seed in range(1, seeds + 1):
        for name in ROWS:
            if (name, seed) not in there:
                waiting.put((name, seed))
    steps = {name: int(60 * minutes * speed) for name, speed in speeds.items()}
    workers = [threading.Thread(target=_work, args=(waiting, base, out, steps)) for _ in range(abreast)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    _show(_results(out), minutes)
    _draw(out, _results(out), speeds)


def _speeds(base: list[str], out: Path) -> dict[str, float]:
    """Steps a second of every row, measured once."""
    file = out / "speeds.json"
    speeds: dict[str, float] = json.loads(file.read_text()) if file.is_file() else {}
    for name in (name for name in ROWS if name not in speeds):
        trial = out / f"{name}-speed"
        _regard("train", *base, *ROWS[name], f"training.steps={CALIBRATION}", "--out", str(trial), "--quiet")
        first, *_, last = (line for line in _log(trial) if "loss" in line)
        speeds[name] = (last["step"] - first["step"]) / (last["seconds"] - first["seconds"])
        file.write_text(json.dumps(speeds))
    return speeds


def _work(waiting: "SimpleQueue[tuple[str, int]]", base: list[str], out: Path, steps: dict[str, int]) -> None:
    while True:
        try:
            name, seed = waiting.get_nowait()
        except Empty:
            return
        row = _row([*base, *ROWS[name], f"training.seed={seed}"], out / f"{name}-{seed}", steps[name])
        with (out / "results.jsonl").open("a") as file:
            file.write(json.dumps({"name": name, "seed": seed, **row}) + "\n")


def _row(words: list[str], folder: Path, steps: int) -> dict[str, Any]:
    often = f"training.checkpoints.validate_every={max(1, steps // VALIDATIONS)}"
    _regard("train", *words, f"training.steps={steps}", often, "--out", str(folder), "--quiet")
    scores = json.loads(_regard("evaluate", str(folder), "--json"))["scores"]
    facts = json.loads((folder / "run.json").read_text())
    return {"loss": scores["loss"], "steps": steps, "parameters": facts["parameters"]}


def _regard(*words: str) -> str:
    command = [sys.executable, "-m", "regard", *words]
    done = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise FailedError(f"regard {' '.join(words)}: {done.stderr[-600:]}")
    return done.stdout


def _log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def _results(out: Path) -> list[dict[str, Any]]:
    file = out / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def _show(rows: list[dict[str, Any]], minutes: float) -> None:
    table = columns("", " parameters", f" steps in {minutes:g} minutes", " held-out loss", " least", " most", " seeds")
    for name in ROWS:
        found = [row for row in rows if row["name"] == name]
        if found:
            losses = [row["loss"] for row in found]
            facts = [f"{found[0]['parameters'] / 1e6:.2f}M", f"{found[0]['steps']:,}"]
            table.add_row(name, *facts, *(f"{kind(losses):.3f}" for kind in (mean, min, max)), str(len(found)))
    console.print(table)


def _draw(out: Path, rows: list[dict[str, Any]], speeds: dict[str, float]) -> None:
    """Held-out loss over time, the first seed of each row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for name in ROWS:
        if any(row["name"] == name and row["seed"] == 1 for row in rows):
            seen = [line for line in _log(out / f"{name}-1") if "valid" in line]
            axes.plot(
                [line["step"] / speeds[name] / 60 for line in seen],
                [line["valid"]["loss"] for line in seen],
                label=name,
            )
    axes.set(xlabel="minutes on one thread", ylabel="held-out loss (nats per character)")
    axes.legend()
    figure.savefig(out / "curves.png", dpi=150)


if __name__ == "__main__":
    run(main)
