"""Commands as a user gives them, in this process, and what they said."""

import hashlib
import io
import re
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.commands import main
from regard.run import STATE, WEIGHTS, Run
from regard.training.stop import HEARD

TOY = ["data.kind=toy", "data.letters=6", "data.max_length=4", "data.train=200", "data.valid=5", "data.test=30"]
SMALL = ["tokenizer.kind=words", "model.width=16", "task.batch_tokens=256", "training.checkpoints.keep=9"]
RATE = ["training.optimizer.learning_rate=0.02", "training.schedule.kind=constant"]
WORDS = ["gru-additive", *TOY, *SMALL, *RATE, "model.encoder.dropout=0.0", "model.decoder.dropout=0.0"]
FILES = (WEIGHTS, STATE)
PROGRESS = re.compile(
    r"^((reading the data|learning the vocabulary|encoding the \w+ data)(  .*)?|(train|valid|test): .*)\n", re.MULTILINE
)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def regard(*words: str, given: bytes = b"") -> Done:
    """The command in this process: only what is imported once is spared."""
    out, err = io.StringIO(), io.StringIO()
    before = {number: signal.getsignal(number) for number in HEARD}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["regard", *words])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as ended:
            main()
    for number, handler in before.items():  # a command hears signals to the end of its process
        signal.signal(number, handler)
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return Done(code or 0, out.getvalue(), err.getvalue())


def refused(code: int, said: str, *words: str, given: bytes = b"") -> None:
    """One line or two, the right exit code, no stack trace; on standard output nothing but how far it came."""
    done = regard(*words, given=given)
    assert done.code == code, done.err
    assert (PROGRESS.sub("", done.out) if words[0] == "train" else done.out) == ""
    assert said in done.err
    assert done.err.startswith("regard: ")
    assert 1 <= len(done.err.splitlines()) <= 2
    assert "Traceback" not in done.err


def end(folder: Path) -> list[str]:
    """The last checkpoint, to the bit."""
    newest = Run.open(folder).checkpoints()[0].folder
    return [newest.name, *(hashlib.sha256((newest / name).read_bytes()).hexdigest() for name in FILES)]
