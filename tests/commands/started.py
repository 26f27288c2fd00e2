"""Commands as real processes with real signals, pipes and terminals, each from one that has torch already."""

import fcntl
import json
import os
import pty
import select
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

PATIENCE = 120.0  # seconds; only a machine that stands still needs more
TRAIN = ["train", "gru-additive", "tokenizer.vocab_size=262", "model.width=16", "task.batch_tokens=256"]
TRAIN += ["data.train=c", "data.source=de", "data.target=en", "training.steps=8"]


def until(true: Callable[[], Any], what: Callable[[], str], seconds: float = PATIENCE) -> Any:
    """Wait for something, and say what it was if it never comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := true():
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what()}")


def corpus(home: Path) -> Path:
    """Words there and backwards, as c.de and c.en."""
    chance = Random(1)
    rows = [[chance.choice("abcdef") for _ in range(chance.randint(1, 6))] for _ in range(400)]
    (home / "c.de").write_text("".join(" ".join(row) + "\n" for row in rows))
    (home / "c.en").write_text("".join(" ".join(reversed(row)) + "\n" for row in rows))
    return home


class Started:
    """A command under way, and what it has written."""

    def __init__(self, zygote: "Zygote", number: int, home: Path) -> None:
        self.zygote, self.number, self.home = zygote, number, home
        self.out, self.err = bytearray(), bytearray()
        self._handles: dict[int, bytearray] = {}
        self._readers: dict[int, Thread] = {}
        self._code: int | None = None

    def hears(self, handle: int, into: bytearray) -> None:
        self._handles[handle] = into
        self._readers[handle] = Thread(target=self._read, args=(handle, into), daemon=True)
        self._readers[handle].start()

    def _read(self, handle: int, into: bytearray) -> None:
        with suppress(OSError):  # a terminal says so where a pipe just ends
            while handle in self._handles and (some := self._some(handle)) != b"":
                into.extend(some or b"")
        if handle in self._handles:
            del self._handles[handle]
            os.close(handle)

    def _some(self, handle: int) -> bytes | None:
        if not select.select([handle], [], [], 0.05)[0]:
            return None
        return os.read(handle, 65536) if handle in self._handles else b""

    def paused(self) -> None:
        """Wait for the stage at which it waits for us."""
        until(lambda: (self.home / "paused").exists() or self.code() is not None, lambda: f"the stage; {self.said}")
        assert self._code is None, self.said

    def signal(self, *numbers: int) -> None:
        for number in numbers:
            os.kill(self.number, number)

    def type(self, keys: bytes) -> None:
        """On the keyboard of its terminal."""
        os.write(next(iter(self._handles)), keys)

    def nobody_reads(self) -> None:
        """Its standard output (or its terminal) is gone."""
        handle = next(iter(self._handles))
        del self._handles[handle]
        self._readers[handle].join(PATIENCE)  # it looks every 0.05 seconds
        os.close(handle)

    def go(self) -> None:
        (self.home / "go").touch()

    def code(self) -> int | None:
        if self._code is None:
            self._code = self.zygote.ask({"wait": self.number})["code"]
        return self._code

    def end(self) -> int:
        """Its exit code, once all it wrote has been read."""
        until(lambda: self.code() is not None, lambda: f"its end; {self.said}")
        until(lambda: not self._handles, lambda: "the end of what it wrote")
        assert self._code is not None
        return self._code

    def kill(self) -> None:
        if self.code() is None:
            os.kill(self.number, 9)
            until(lambda: self.code() is not None, lambda: "its death")

    @property
    def at_once(self) -> bool:
        """Whether it ended without waiting for anything."""
        return (self.home / "at-once").exists()

    @property
    def said(self) -> str:
        return f"out: {self.out.decode()}\nerr: {self.err.decode()}"


@dataclass
class How:
    """What a command is given beside its words."""

    stage: str = ""
    nth: int = 1
    ignored: Sequence[int] = ()
    columns: int = 0
    """Of a terminal; 0 is a pipe."""
    environment: dict[str, str] = field(default_factory=dict)
    constants: dict[str, float] = field(default_factory=dict)
    code: str = ""
    """Python to run first."""
    given: Path = Path(os.devnull)


class Zygote:
    """The process that becomes commands."""

    def __init__(self) -> None:
        file = Path(__file__).with_name("zygote.py")
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        handle = theirs.fileno()
        command = [sys.executable, str(file), str(handle)]
        self._process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, pass_fds=[handle])
        theirs.close()

    def ask(self, asked: dict[str, Any], streams: Sequence[int] = ()) -> dict[str, Any]:
        socket.send_fds(self._socket, [json.dumps(asked).encode()], streams)
        found: dict[str, Any] = json.loads(self._socket.recv(1 << 16))
        return found

    def close(self) -> None:
        self._socket.close()
        self._process.wait(PATIENCE)

    @contextmanager
    def regard(self, home: Path, *words: str, how: How | None = None) -> "Iterator[Started]":
        """The command, in a folder of its own; ended when we leave."""
        how = how or How()
        home.mkdir(parents=True, exist_ok=True)
        for left in ("paused", "go", "at-once"):
            (home / left).unlink(missing_ok=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "REGARD_CACHE": str(home / "cache")}
        environment |= {"OMP_NUM_THREADS": "1", "TERM": "xterm-256color"} | how.environment
        asked = {"home": str(home), "words": words, "stage": how.stage, "nth": how.nth, "code": how.code}
        asked |= {"environment": environment, "ignored": list(how.ignored), "constants": how.constants}
        theirs, ours = _terminal(how.columns) if how.columns else _pipes(how.given)
        process = Started(self, self.ask(asked, theirs)["process"], home)
        for handle in set(theirs):
            os.close(handle)
        for handle, into in zip(ours, (process.out, process.err), strict=False):
            process.hears(handle, into)
        try:
            yield process
        finally:
            process.kill()


def _terminal(columns: int) -> tuple[list[int], list[int]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return [theirs] * 3, [ours]


def _pipes(given: Path) -> tuple[list[int], list[int]]:
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    return [os.open(given, os.O_RDONLY), to_out, to_err], [out, err]
