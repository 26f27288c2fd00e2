"""A page of docs/, followed: its blocks done one after another in an empty folder, as a reader would do them.

```sh       every line is run and must end well; one whose comment says `# refused` must be refused, without a trace
```python   run as a script; where the first line is `# name.py` it is written to that file instead
```toml     the same: `# name.toml` in the first line makes a file of it

Training is cut short: of the steps that a line asks for a thousandth is taken (two where it says nothing), and of
generated data a few hundred rows, so that pages can name the numbers a reader would.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from spoken import regard

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DONE = ("make ", "source ")  # before anything else, by whoever runs this
BLOCK = re.compile(r"^```(sh|python|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
STEPS = re.compile(r"training\.steps=(\d+)")
MINUTES = re.compile(r"training\.minutes=[\d.]+")
SHELL = ("|", "<", ">", "&&", "$", ";", "--plugin")
REFUSED = ("regard: ", 2, 3)
FEW = ("data.train=300", "data.valid=20", "data.test=20")
MADE = re.compile(r"\"numbers-\w+\",")
FEW_CALLED = "".join(f'"{few}", ' for few in FEW)


def blocks(page: str | Path) -> list[tuple[str, str]]:
    """Languages and contents of what is to be done, in their order; a name is that of a page of docs/."""
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def follow(page: str | Path, folder: Path) -> int:
    """All of a page in a folder; how many commands that were. The working directory must be that folder."""
    assert Path.cwd() == folder
    done = 0
    for language, content in blocks(page):
        named = re.match(r"# ([\w.-]+\.(?:py|toml))\n", content)
        if named:
            (folder / named[1]).write_text(content, encoding="utf-8")
        elif language == "python":
            _ended_well("python", [sys.executable, "-c", MADE.sub(rf"\g<0> {FEW_CALLED}", content)])
        elif language == "sh":
            for command in commands(content):
                _run(command)
                done += 1
    return done


def commands(block: str) -> Iterator[str]:
    """The commands of a block: a line each, longer ones continued by a backslash or to the end of a here-document."""
    lines = iter(block.splitlines())
    for line in lines:
        while line.endswith("\\"):
            line = line[:-1] + next(lines).strip()
        here = re.search(r"<<'?(\w+)'?", line)
        while here and not line.endswith(f"\n{here[1]}"):
            line += "\n" + next(lines)
        if line.strip() and not line.startswith(("#", *DONE)):
            yield line


def _run(line: str) -> None:
    command, _, comment = line.partition("  #")
    command = _shortened(command)
    refused = comment.strip().startswith("refused")
    if command.startswith("regard ") and not any(sign in command for sign in SHELL):
        done = regard(*shlex.split(command)[1:])  # in this process: importing torch takes seconds
        assert done.code in (REFUSED[1:] if refused else (0,)), f"{command}\n{done.out}{done.err}"
        assert done.err.startswith(REFUSED[0]) == refused, f"{command}\n{done.err}"
    else:
        assert not refused, f"{line}: only plain commands are looked at when they are refused"
        _ended_well(
            command, ["bash", "-euo", "pipefail", "-c", f'regard() {{ {sys.executable} -m regard "$@"; }}\n{command}']
        )


def _shortened(command: str) -> str:
    """The same with hardly any training."""
    short = STEPS.sub(lambda found: f"training.steps={max(2, int(found[1]) // 1000)}", command)
    if re.match(r"regard bench attention\b", short):
        return "regard bench attention --kinds window --lengths 64 --repeats 1"
    if not re.match(r"regard train\b", short) or "--resume" in short:
        return short
    made = re.search(r"train numbers-|data\.kind=numbers", short) and not re.search(r"data\.train=|from=", short)
    few = f" {' '.join(FEW)}" if made else ""
    if MINUTES.search(short):
        return MINUTES.sub("training.minutes=0.001", short) + few
    return short + few + ("" if "training.steps=" in short else " training.steps=2")


def _ended_well(said: str, words: list[str]) -> None:
    here = os.environ | {"NO_COLOR": "1", "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=here, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{said}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
