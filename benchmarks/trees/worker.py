"""One tree at work: run by `trees.process` with the tree's own PYTHONPATH, never by hand.

Reads a job (one line of JSON) and then orders to work from standard input; answers in lines of JSON. It imports
no part of Regard but the calls of `regard.measuring.works`, or what an old tree has in their place.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def main() -> None:
    """Prepare the job, say so, and do a turn for every line that comes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer

    def answer(said: Any) -> None:
        print(json.dumps(said), file=answers, flush=True)

    job = json.loads(sys.stdin.readline())
    try:
        turn = prepare(job)
        answer("ready")
        for _ in sys.stdin:
            start = time.perf_counter()
            done = turn()
            seconds = time.perf_counter() - start
            highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            answer([seconds, highest if sys.platform == "darwin" else highest * 1024, done])
    except Exception as error:
        answer({"failed": f"{type(error).__name__}: {error}"})
        raise


def prepare(job: dict[str, Any]) -> Callable[[], int]:
    """The turn of work that a job asks for, by the calls of this process's tree."""
    regard: Any = import_module("regard")
    if not Path(regard.__file__).is_relative_to(job["tree"]):
        raise ImportError(f"Regard was found at {regard.__file__}, not in {job['tree']}")
    works = _calls()
    turn: Callable[[], int]
    if job["work"] == "gpt":
        turn = works.gpt_step_work(works.GptShape(**job["shape"]))
        return turn
    given = json.loads(Path(job["pairs"]).read_text(encoding="utf-8"))
    train, test = (works.IdPairs(**table) for table in (given["train"], given["test"]))
    shape = works.TransformerShape(**job["shape"])
    if job["work"] == "training":
        turn = works.training_step_work(train, shape, works.TrainingWork(**job["turn"]))
    else:
        words = train if job["shortlist"] else None
        turn = works.decoding_work(test, shape, works.DecodingWork(**job["turn"]), job["int8"], words)
    return turn


def _calls() -> Any:
    offered = ("regard.measuring", "regard.bench")  # the second is what the room was called before
    room = next((room for room in offered if find_spec(room) and find_spec(f"{room}.works")), None)
    return import_module("trees.at_72bda86" if room is None else f"{room}.works")


if __name__ == "__main__":
    main()
