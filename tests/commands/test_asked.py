"""regard translate: what is asked, in which way, and how it is to be answered."""

import gzip
import json
import lzma
import os
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from spoken import TOY, Done, refused, regard

from regard.tasks.translation import Translator

MARK = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def answers(trained: tuple[Path, Done]) -> list[str]:
    return regard("translate", str(trained[0]), "a b c", "d e").lines


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize("content", [MARK + b"a b c\r\nd e\r\n", b"a b c\nd e"], ids=["windows", "unix"])
def test_files_and_pipes_are_read_as_training_reads_them(
    ending: str, content: bytes, trained: tuple[Path, Done], answers: list[str], tmp_path: Path
) -> None:
    packed = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending](content)
    (tmp_path / f"in.txt{ending}").write_bytes(packed)
    asked = ["translate", str(trained[0])]
    assert regard(*asked, "--file", str(tmp_path / f"in.txt{ending}")).lines == answers
    assert regard(*asked, given=packed).lines == answers


def test_several_files_are_answered_one_after_another(
    trained: tuple[Path, Done], answers: list[str], tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("a b c\n")
    (tmp_path / "two").write_text("d e\n")
    files = ["--file", str(tmp_path / "one"), "--file", str(tmp_path / "two")]
    assert regard("translate", str(trained[0]), *files).lines == answers
    assert regard("translate", str(trained[0]), *files[:2], "--file", "-", given=b"d e").lines == answers


def test_home_is_where_a_tilde_points(
    trained: tuple[Path, Done], answers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "in.txt").write_text("a b c\nd e\n")
    (tmp_path / "run").symlink_to(trained[0])
    assert regard("translate", "~/run", "--file", "~/in.txt").lines == answers


def test_two_ways_of_saying_the_input_are_refused(trained: tuple[Path, Done], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    said = f"texts and --file {tmp_path / 'in.txt'}: say what to translate in one way, not in two"
    refused(3, said, "translate", str(trained[0]), "x", "--file", str(tmp_path / "in.txt"))


@pytest.mark.parametrize("what", ["no such file", "a folder"])
def test_a_file_that_is_none_is_refused_before_anything_is_loaded(
    what: str, trained: tuple[Path, Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.verbs.runs.open_run", None)
    name = str(tmp_path / "gone.txt") if what == "no such file" else str(tmp_path)
    refused(3, f"{name}: {what}", "translate", str(trained[0]), "--file", name)


def test_an_argument_that_is_no_text_is_refused(trained: tuple[Path, Done]) -> None:
    refused(3, r"text 2 is not UTF-8: b'caf\xff'", "translate", str(trained[0]), "a", "caf\udcff")


def test_a_line_that_is_no_text_is_named_and_answered_like_all(
    trained: tuple[Path, Done], answers: list[str], tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_bytes(b"a b c\nd e\ncaf\xe9\na\n")
    for words, given in ((["--file", str(tmp_path / "in.txt")], b""), ([], (tmp_path / "in.txt").read_bytes())):
        done = regard("translate", str(trained[0]), *words, given=given)
        assert (done.code, done.lines[:2], len(done.lines)) == (0, answers, 4)
        assert done.lines[2:] == regard("translate", str(trained[0]), "caf\ufffd", "a").lines
        assert "line 3: not UTF-8" in done.err


def test_a_text_without_end_is_refused_and_all_others_are_answered(
    trained: tuple[Path, Done], answers: list[str]
) -> None:
    given = b"a b c\n" + b"a " * 600_000 + b"\nd e\n"
    done = regard("translate", str(trained[0]), given=given)
    assert (done.code, done.lines) == (3, [answers[0], "", answers[1]])
    said = ["the pipe: line 2: not translated: over 1 MiB; break it into lines"]
    assert done.err.splitlines() == [*said, "regard: 1 text was not translated"]
    rows = [json.loads(line) for line in regard("translate", str(trained[0]), "--json", given=given).lines]
    assert ["refused" in row for row in rows] == [False, True, False]


def test_an_empty_file_is_told(trained: tuple[Path, Done], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(MARK)
    done = regard("translate", str(trained[0]), "--file", str(tmp_path / "in.txt"))
    assert (done.code, done.out.strip()) == (0, "")
    (tmp_path / "in.txt").write_bytes(b"")
    done = regard("translate", str(trained[0]), "--file", str(tmp_path / "in.txt"))
    assert (done.code, done.out, done.err) == (0, "", "nothing was translated: there was no line\n")


def test_a_damaged_archive_is_told(trained: tuple[Path, Done], tmp_path: Path) -> None:
    packed = gzip.compress(b"a b c\n" * 9)[:-9]
    (tmp_path / "in.gz").write_bytes(packed)
    for words, given, named in (
        (["--file", str(tmp_path / "in.gz")], b"", str(tmp_path / "in.gz")),
        ([], packed, "the pipe"),
    ):
        done = regard("translate", str(trained[0]), *words, given=given)
        assert done.code == 3
        assert done.err.startswith(f"regard: {named}: cannot be read")
        assert len(done.err.splitlines()) == 1


def test_keys_are_set_and_texts_may_have_an_equals_sign(
    trained: tuple[Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    stream = Translator.stream

    def noted(self: Translator, *given: Any, **named: Any) -> Any:
        seen.append(self.search)
        return stream(self, *given, **named)

    monkeypatch.setattr(Translator, "stream", noted)
    run = str(trained[0])
    keys = ["--set", "decoding.kind=beam", "--set", "decoding.length_penalty=0.25", "--set", "decoding.beam_size=3"]
    assert len(regard("translate", run, "a=b", "x.y=z", *keys, "--n-best", "2").lines) == 4
    assert (seen[0].beam_size, seen[0].length_penalty, seen[0].n_best) == (3, 0.25, 2)
    refused(3, "a key is set with --set decoding.beam_size=1", "translate", run, "decoding.beam_size=1")
    refused(3, "a key is set with --set decoding.temperature=-1", "generate", run, "a", "decoding.temperature=-1")
    refused(2, "model.width: cannot be changed once a run is trained", "translate", run, "a", "--set", "model.width=3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "cuda:7"], "'cuda:7': no such device here; there is cpu"),
        (["--device", "gpu"], "'gpu': no device is called so; say cpu, cuda, cuda:1 or auto"),
        (
            ["--device", "cuda", "--int8"],
            "cuda: eight-bit products run on a CPU; leave out --int8, or say --device cpu",
        ),
        (["--beam", "100000"], "--beam: wanted a whole number from 0 to 4,096"),
    ],
)
@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_what_cannot_be_is_refused_before_anything_is_loaded(
    verb: str, words: list[str], said: str, trained: tuple[Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.trained.fitted", None)
    refused(3, said, verb, str(trained[0]), *(["a"] if verb == "translate" else []), *words)


def test_the_device_may_be_named(trained: tuple[Path, Done], answers: list[str]) -> None:
    for device in ("cpu", "auto"):
        done = regard("translate", str(trained[0]), "a b c", "d e", "--device", device, "--quiet")
        assert (done.code, done.lines) == (0, answers)


def test_a_fixed_vector_answers_and_says_that_it_looks_nowhere(tmp_path: Path) -> None:
    words = ["seq2seq-gru-context", *TOY, "tokenizer.kind=words", "model.width=16", "training.steps=2"]
    assert regard("train", *words, "--out", str(tmp_path / "run")).code == 0
    plain = regard("translate", str(tmp_path / "run"), "a b", "c")
    drawn = regard("translate", str(tmp_path / "run"), "a b", "c", "--attention")
    assert (drawn.code, drawn.lines) == (0, plain.lines)
    said = "--attention: this model has no attention to the source to draw: it knows it by one fixed vector"
    assert [line for line in drawn.err.splitlines() if "attention" in line] == [said]
    rows = regard("translate", str(tmp_path / "run"), "a b", "--attention", "--json")
    assert "attention" not in json.loads(rows.out)


def test_the_first_lines_that_are_no_text_are_named_and_the_others_counted(trained: tuple[Path, Done]) -> None:
    done = regard("translate", str(trained[0]), given=b"\xff\n" * 6)
    assert (done.code, len(done.lines)) == (0, 6)
    assert [line.split(":")[1] for line in done.err.splitlines()[:5]] == [f" line {n}" for n in range(1, 6)]
    assert done.err.splitlines()[5:] == ["1 more: not UTF-8: what cannot be read is taken as \ufffd"]


def test_every_line_has_as_many_lines_as_were_asked_for(trained: tuple[Path, Done]) -> None:
    lines = regard("translate", str(trained[0]), "a b", "", "c", "--n-best", "3").out.split("\n")
    assert len(lines) == 10
    assert lines[4:6] == ["-inf\t"] * 2


def test_a_named_pipe_is_read_as_it_comes(trained: tuple[Path, Done], answers: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_text, args=("a b c\nd e\n",))
    writer.start()
    done = regard("translate", str(trained[0]), "--file", str(tmp_path / "pipe"))
    writer.join()
    assert (done.code, done.lines) == (0, answers)


@pytest.mark.parametrize(
    "words", [["translate", "RUN"], ["translate", "RUN", "--file", "-"], ["runs", "remove", "RUN"]]
)
def test_without_standard_input_there_is_nothing_to_read(words: list[str], trained: tuple[Path, Done]) -> None:
    command = [sys.executable, "-m", "regard", *(word.replace("RUN", str(trained[0])) for word in words)]
    done = subprocess.run(["sh", "-c", f"{shlex.join(command)} <&-"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert "bug" not in done.stderr
    assert (trained[0] / "run.json").exists()
