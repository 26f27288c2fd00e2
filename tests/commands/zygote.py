"""A process that has imported all that is slow, and becomes a command whenever it is asked to.

One request at a time comes over a socket, with the command's three streams: where it runs, what it is told, and the
stage of training at which it waits (it makes the file `paused`, and goes on when the file `go` is there). A command is
a process of its own, in a session of its own; only what is imported once is spared.
"""

import fcntl
import gc
import importlib
import io
import json
import os
import signal
import socket
import sys
import termios
import time
from pathlib import Path
from typing import Any

SLOW = ("regard.training.train", "regard.training.plan", "regard.trained", "regard.verbs", "regard.run.curve")
SLOWER = (
    "torch._dynamo",
    "torch._refs",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "sacrebleu",
    "PIL.PngImagePlugin",
)


class Pause:
    """Waits once, at the nth time that a stage is reached."""

    def __init__(self, stage: str, nth: int, home: Path) -> None:
        self.stage, self.left, self.home = stage, nth, home

    def at(self, stage: str) -> None:
        if not stage or stage != self.stage:
            return
        self.left -= 1
        if self.left == 0:
            (self.home / "paused").touch()
            while not (self.home / "go").exists():
                time.sleep(0.01)


def patch(owner: Any, name: str, before: Any) -> None:
    """Call something before a function is called, with what it is called with."""
    inner = getattr(owner, name)

    def outer(*args: Any, **named: Any) -> Any:
        before(*args, **named)
        return inner(*args, **named)

    setattr(owner, name, outer)


def set_up(asked: dict[str, Any]) -> None:
    """The stages at which it may wait, and how often plain lines come."""
    from regard.commands import live, reporter
    from regard.run import checkpoint
    from regard.training import learner, loop

    pause = Pause(asked["stage"], asked["nth"], Path(asked["home"]))
    words = {"learning": "vocabulary", "answering": "validating"}
    words |= {name: name for name in ("reading", "encoding", "preparing")}
    patch(reporter.Reporter, "at", lambda _, work, *__: pause.at(words.get(work.split()[0], "")))
    patch(learner.Learner, "step", lambda *_: pause.at("training"))
    patch(checkpoint, "write", lambda path, _: pause.at("saving" if ".part/" in str(path) else ""))
    patch(os, "_exit", lambda code: (Path(asked["home"]) / "at-once").write_text(str(code)))
    for name, value in asked["constants"].items():
        owner, _, key = name.rpartition(".")
        places = {"Gap": live.Gap, "live": live, "loop": loop}
        setattr(places[owner], key, value)
    if asked["code"]:
        exec(asked["code"], {})


def become(asked: dict[str, Any], streams: list[int]) -> None:
    """This process is the command from now on."""
    os.setsid()
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
        os.close(handle)
    if os.isatty(1):
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)  # so that ^C and hanging up reach it
    for number in asked["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN if signal.SIGINT in asked["ignored"] else signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["home"])
    sys.argv = ["regard", *asked["words"]]
    code = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False))
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), code, line_buffering=os.isatty(1))
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", 0, closefd=False), code, write_through=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    set_up(asked)
    from regard.commands import main

    main()


def serve(asker: socket.socket) -> None:
    for name in (*SLOW, *SLOWER):
        importlib.import_module(name)
    gc.freeze()  # whoever looks through it for cycles would copy it
    while True:
        said, streams, _, _ = socket.recv_fds(asker, 1 << 20, 3)
        if not said:
            return
        asked = json.loads(said)
        if "wait" in asked:
            number, how = os.waitpid(asked["wait"], os.WNOHANG)
            asker.send(json.dumps({"code": os.waitstatus_to_exitcode(how) if number else None}).encode())
            continue
        number = os.fork()
        if not number:
            break
        for handle in streams:
            os.close(handle)
        asker.send(json.dumps({"process": number}).encode())
    asker.close()
    become(asked, streams)


serve(socket.socket(fileno=int(sys.argv[1])))
