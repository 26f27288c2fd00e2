"""regard look as a page: written as a file, served live until ^C, and what it refuses in a line."""

import json
import re
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from spoken import Done, refused, regard
from started import How, Zygote, until


def test_a_page_is_written(trained: tuple[Path, Done], tmp_path: Path) -> None:
    out = tmp_path / "there" / "page.html"
    done = regard("look", str(trained[0]), "a b c", "--with", str(trained[0]), "--out", str(out), "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == {"written": str(out)}
    facts = re.search(r'id="facts">(.*?)</script>', out.read_text("utf-8"), re.DOTALL)
    assert facts
    assert [look["read"] for look in json.loads(facts[1])["looks"]] == ["a b c", "a b c"]


def test_what_is_refused(trained: tuple[Path, Done], tmp_path: Path) -> None:
    look = ("look", str(trained[0]), "a b")
    refused(3, "on the page only", *look, "--with", str(trained[0]))
    refused(3, "choose one of them", *look, "--live", "--out", str(tmp_path / "x.html"))
    refused(3, "the page shows everything", *look, "--view", "alignment", "--out", str(tmp_path / "x.html"))
    refused(3, "the page shows everything", *look, "--live", "--json")


def test_a_live_page_needs_a_port_of_its_own(trained: tuple[Path, Done]) -> None:
    look = ("look", str(trained[0]), "a b")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused(3, f"port {port}: another program has it; leave out --port", *look, "--live", "--port", port)


def test_a_page_begins_with_words_or_with_tokens(trained: tuple[Path, Done], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    for said, words in (("--subwords", False), ("--words", True)):
        done = regard("look", str(trained[0]), "a b c", said, "--out", str(out))
        assert done.code == 0, done.err
        facts = re.search(r'id="facts">(.*?)</script>', out.read_text("utf-8"), re.DOTALL)
        assert facts
        assert json.loads(facts[1])["words"] is words


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_live_page_is_served_until_it_is_ended(
    number: int, code: int, trained: tuple[Path, Done], zygote: Zygote, tmp_path: Path
) -> None:
    """By ^C as it says, which is no failure."""
    with zygote.regard(tmp_path, "look", str(trained[0]), "a b c", "--live", how=How()) as process:
        until(lambda: process.out.endswith(b"/\n"), lambda: f"the address; {process.said}")
        address = re.search(rb"^http://127\.0\.0\.1:\d+/[\w-]{20,}/$", process.out, re.MULTILINE)
        assert address
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address[0].decode().rsplit("/", 2)[0] + "/", timeout=60)
        with urllib.request.urlopen(address[0].decode(), timeout=60) as answer:
            assert b"connect-src 'self'" in answer.read()
        process.signal(number)
        assert process.end() == code
        assert b"Traceback" not in process.err
        assert (b"regard:" in process.err) == bool(code)
