"""A copy of the project with a page's changes made in it, and its commands in one process of that copy."""

import json
import os
import subprocess
import sys
from pathlib import Path

from commands.spoken import Done

TESTS = Path(__file__).parent
SERVE = """
import json, sys
from commands.spoken import regard
for line in sys.stdin:
    done = regard(*json.loads(line))
    print(json.dumps([done.code, done.out, done.err]), file=sys.__stdout__, flush=True)
"""


class CopiedProject:
    """Commands of a copy of the project, run in its folder one after another: torch is imported once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        own = {"PYTHONPATH": str(self.folder / "src"), "REGARD_CACHE": str(self.folder / "cache")}
        inherited = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
        return inherited | own | {"NO_COLOR": "1", "COLUMNS": "80", "OMP_NUM_THREADS": "1"}

    def start(self, *words: str, **options: object) -> "subprocess.Popen[str]":
        """Python in a process of its own."""
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.environment | options.pop("environment", {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def regard(self, *words: str) -> Done:
        """A command, and how it ended."""
        if self._process is None:
            paths = {"PYTHONPATH": f"{self.folder / 'src'}:{TESTS}"}
            self._process = self.start("-c", SERVE, environment=paths, stdin=subprocess.PIPE)
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._process.stderr.read()
        return Done(*json.loads(answer))

    def run(self, *words: str) -> str:
        """What a command printed that must end well."""
        done = self.regard(*words)
        assert done.code == 0, done.out[-3000:] + done.err[-3000:]
        return done.out

    def close(self) -> None:
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait(100)
            self._process.stdout.close()
            self._process.stderr.close()
