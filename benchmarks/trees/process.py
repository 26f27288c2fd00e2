"""A worker that does its turns with the sources of one tree."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from regard.errors import FailedError
from regard.measuring.workers import Worker

BENCHMARKS = Path(__file__).parent.parent


@final
class TreeWorker(Worker):
    """A process whose PYTHONPATH begins with a tree's sources, whatever else is installed."""

    def __init__(self, name: str, tree: Path, job: dict[str, Any]) -> None:
        super().__init__(name)
        self.tree, self._job = tree, job | {"tree": str(tree)}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        paths = os.pathsep.join([str(self.tree), str(BENCHMARKS)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trees.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
            text=True,
        )
        self._ask(json.dumps(self._job))

    def turn(self) -> tuple[float, int, int]:
        seconds, peak, work = self._ask("work")
        return seconds, peak, work

    def stop(self) -> None:
        if self._process is not None:
            self._process.communicate()  # its input ends, and so does it
            self._process = None

    def _ask(self, line: str) -> Any:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            print(line, file=process.stdin, flush=True)
        said = process.stdout.readline()
        if not said:
            raise FailedError(f"{self.name}: its process ended; what it said last stands above")
        answer = json.loads(said)
        if isinstance(answer, dict):
            raise FailedError(f"{self.name}: {answer['failed']}")
        return answer
