"""The card of a packed run: what it is, what it learnt from, how good it is, how it was made and is used."""

import re
import shlex
from typing import Any

from regard.datasets.lines import one_line
from regard.errors import ORDERS
from regard.run.checkpoint import WEIGHTS
from regard.run.run import Run
from regard.run.told import data_lines, licence_lines, score_line

CARD = "README.md"


def card(run: Run, step: int, uses: tuple[str, str]) -> str:
    """As Markdown. Everything in it is what the run says of itself."""
    table, facts = run.recipe, run.facts
    best = run.checkpoints()[0]
    task = table["task"]["kind"] if isinstance(table.get("task"), dict) else str(table.get("task", ""))
    weights = best.folder / WEIGHTS
    named = shlex.quote(run.folder.resolve().name)
    use, begin = (command.format(run=named) for command in uses)
    lines = [
        f"# {table.get('name', run.folder.name)}",
        "",
        f"A model for **{task}**, trained with Regard by the recipe {_recipe(table, facts)}: "
        f"{facts.get('parameters', 0):,} parameters, "
        f"{weights.stat().st_size / 2**20:.1f} MiB of weights (step {step:,} of {facts.get('steps', 0):,}).",
        *_diverged(facts.get("diverged"), step),
        "",
        "## Use",
        "",
        f"From the folder that `{run.folder.resolve().name}` is in (where it is moved or renamed, say its new path):",
        "",
        *_block(f"regard describe {named}", use),
        "",
        "It holds weights only: training cannot go on in it, but another run can begin from it:",
        "",
        *_block(begin),
        "",
        "## Data",
        "",
        *(f"- {split}: {said}" for split, said in data_lines(facts).items()),
        *(f"- `data.{key} = {value}`" for key, value in table.get("data", {}).items() if value not in ("", 0, 0.0)),
        "",
        "## Licence",
        "",
        *(f"- {what}: {one_line(licence)}" for what, licence in licence_lines(facts).items()),
        "",
        "## Scores",
        "",
        "| data | how | scores |",
        "|---|---|---|",
        f"| validation | as training does it | {_scores(best.progress().get('scores'))} |",
        *(_row(one) for one in run.scores()),
        "",
        "## Made",
        "",
        *_block(*facts.get("commands", [])),
        "",
        "With "
        + ", ".join(f"{name} {version}" for name, version in facts.get("versions", {}).items())
        + f", {facts.get('made', '')}.",
        *_origin(facts.get("from")),
    ]
    # a stranger's run is in every line: none of them may break out of its line or give orders to a terminal
    return "\n".join(one_line(line).translate(ORDERS) for line in lines) + "\n"


def _block(*lines: str) -> list[str]:
    """Code, in a fence that is longer than any in the lines, so that none of them closes it."""
    longest = max((len(marks) for line in lines for marks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def _recipe(table: dict[str, Any], facts: dict[str, Any]) -> str:
    """What an imported model is about, its makers say; a recipe speaks of other data than these."""
    about = str(table.get("about", "")).rstrip(".") if "origin" in facts else ""
    return f"`{table.get('name', '')}`" + (f" ({about})" if about else "")


def _row(one: dict[str, Any]) -> str:
    how = " ".join(one.get("how", [])) or "as the recipe says"
    learnt = " (trained on)" if one.get("learnt") else ""
    return f"| {one.get('on') or one.get('split')}{learnt} | {how} | {_scores(one.get('scores'))} |"


def _scores(scores: Any) -> str:
    return score_line(scores, ", ") or "none"


def _diverged(at: Any, step: int) -> list[str]:
    return ["", f"The training diverged at step {at:,}; this is step {step:,}, before that."] if at is not None else []


def _origin(facts: Any) -> list[str]:
    if not isinstance(facts, dict):
        return []
    return ["", f"Begun from the weights of `{facts.get('run')}` (step {facts.get('step')}, {facts.get('sha256')})."]
