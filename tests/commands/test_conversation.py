"""A chat on a terminal: the model hears all that was said, as far as it can take it in."""

import json
from pathlib import Path
from signal import SIGHUP, SIGTERM
from typing import Any, cast

import pytest
from heard import Heard
from screen import Screen
from spoken import regard
from started import How, Zygote, until

from regard.commands.conversation import Conversation
from regard.tasks.language.generator import TextGenerator

RECIPE = """
task = { kind = "language", context = 64, batch_tokens = 128 }
data = { train = "text.txt" }
tokenizer = "bytes"
model = { kind = "language_model", width = 8, decoder = { kind = "recurrent", cell = "gru" } }
training = { steps = 2 }
"""
TEMPLATE = "{% for one in messages %}{{ one.role[0] }}:{{ one.content }}\n{% endfor %}a:"
LISTENS = """
import json
from regard.tasks.language.generator import TextGenerator
inner = TextGenerator.stream
def heard(self, prompts, *given, **named):
    with open("heard.jsonl", "a") as file:
        file.writelines(json.dumps(prompt) + "\\n" for prompt in prompts)
    return inner(self, prompts, *given, **named)
TextGenerator.stream = heard
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that chats, not that it has much to say."""
    folder = tmp_path_factory.mktemp("chat")
    (folder / "text.txt").write_text("abc def ghi\n" * 100)
    (folder / "chat.toml").write_text(RECIPE.replace("text.txt", str(folder / "text.txt")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(folder / "cache"))
        done = regard("train", str(folder / "chat.toml"), "--out", str(folder / "run"))
    assert done.code == 0, done.err
    (folder / "run" / "chat_template.jinja").write_text(TEMPLATE)
    facts = json.loads((folder / "run" / "run.json").read_text())
    facts["files"].append("chat_template.jinja")
    (folder / "run" / "run.json").write_text(json.dumps(facts))
    return folder / "run"


def talked(zygote: Zygote, home: Path, words: list[str], typed: list[str]) -> tuple[str, list[Any]]:
    """What is on the screen in the end, and what the model was given to read."""
    with zygote.regard(home, "generate", *words, "-n", "6", "--greedy", how=How(columns=80, code=LISTENS)) as process:
        for number, text in enumerate(typed, 1):
            until(lambda: bytes(process.out).count(b"> ") >= number, lambda: process.said)  # noqa: B023
            process.type(text.encode() + b"\n")
        assert process.end() == 0, process.said
        shown = Screen.of(bytes(process.out), 80).text
    return shown, [json.loads(line) for line in (home / "heard.jsonl").read_text().splitlines()]


def test_it_hears_what_was_said_before_until_a_chat_begins_anew(trained: Path, zygote: Zygote, home: Path) -> None:
    shown, given = talked(zygote, home, [str(trained), "--system", "s"], ["one", "two", "/new", "three", ""])
    assert shown.startswith("Talk to it; /new begins anew, ^C ends an answer, an empty line all:")
    assert "a new chat: what was said is forgotten" in shown
    roles = [[message["role"] for message in chat] for chat in given]
    assert roles == [["system", "user"], ["system", "user", "assistant", "user"], ["system", "user"]]
    assert [chat[-1]["content"] for chat in given] == ["one", "two", "three"]
    assert given[1][1]["content"] == "one"


def test_what_is_too_long_is_said_and_the_next_is_asked_for(trained: Path, zygote: Zygote, home: Path) -> None:
    shown, given = talked(zygote, home, [str(trained)], ["x" * 90, "short", ""])
    assert "a prompt of 95 tokens, and the model takes in 64 in all" in " ".join(shown.split())
    assert [len(chat) for chat in given] == [1, 1]
    assert given[1][0]["content"] == "short"


def test_prompts_of_a_model_that_does_not_chat_stand_alone(trained: Path, zygote: Zygote, home: Path) -> None:
    shown, given = talked(zygote, home, [str(trained), "--no-chat"], ["one", "two", ""])
    assert shown.startswith("Texts to go on with; ^C ends an answer, an empty line all:")
    assert given == ["one", "two"]


WAITS = (
    LISTENS
    + """
from pathlib import Path
from time import sleep
from regard.decoding.sample import OneByOne
choose, steps = OneByOne.choose, []
def waits(*given):
    steps.append(1)
    if len(steps) == 3:
        Path("paused").touch()
        while not Path("go").exists():
            sleep(0.01)
    return choose(*given)
OneByOne.choose = waits
"""
)


def test_an_answer_that_is_interrupted_ends_and_the_talk_goes_on(trained: Path, zygote: Zygote, home: Path) -> None:
    how = How(columns=80, code=WAITS, environment={"REGARD_COMPILED": "0"})
    words = (str(trained), "-n", "40", "--greedy", "--set", "decoding.min_length=40")
    with zygote.regard(home, "generate", *words, how=how) as process:
        for number, text in enumerate(("one", "two"), 1):
            until(lambda: bytes(process.out).count(b"> ") >= number, lambda: process.said)  # noqa: B023
            process.type(text.encode() + b"\n")
            if number == 1:
                process.paused()
                process.type(b"\x03")
                until(lambda: b"^C" in process.out, lambda: process.said)
                process.go()
        until(lambda: bytes(process.out).count(b"> ") >= 3, lambda: process.said)
        process.type(b"\x03")  # nothing is written now: it ends all
        assert process.end() == 130, process.said
    given = [json.loads(line) for line in (home / "heard.jsonl").read_text().splitlines()]
    assert [[message["role"] for message in chat] for chat in given] == [["user"], ["user", "assistant", "user"]]
    assert len(given[1][1]["content"].encode()) < 40


@pytest.mark.parametrize("number", [SIGTERM, SIGHUP])
def test_what_is_to_end_ends_inside_an_answer(number: int, trained: Path, zygote: Zygote, home: Path) -> None:
    how = How(columns=80, code=WAITS, environment={"REGARD_COMPILED": "0"})
    with zygote.regard(home, "generate", str(trained), "-n", "40", "--greedy", how=how) as process:
        until(lambda: b"> " in process.out, lambda: process.said)
        process.type(b"one\n")
        process.paused()
        process.signal(number)
        process.go()
        assert process.end() == 128 + number, process.said


class Small:
    """Takes in 40 letters."""

    room = 40

    def encode_chat(self, messages: list[dict[str, str]]) -> list[int]:
        return [0] * sum(len(one["content"]) for one in messages)


def test_the_oldest_turns_are_forgotten_and_that_is_told() -> None:
    heard = Heard()
    talk = Conversation(cast(TextGenerator, Small()), "system", 100, heard)
    for turn in range(3):
        assert len(talk.ask(f"turn {turn}")) == 2 + 2 * turn
        talk.answered(f"turn {turn}", "ok")
        assert heard.said == []
    kept = talk.ask("turn 3 is a long one")
    assert [one["content"] for one in kept] == ["system", "turn 3 is a long one"]
    assert heard.said == ["its context of 40 tokens is full: the oldest 6 messages are forgotten"]
    talk.answered("turn 3 is a long one", "")
    assert len(talk.ask("x")) == 4
    talk.begin_anew()
    assert len(talk.ask("x")) == 2
