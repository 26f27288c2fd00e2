"""The document and its server: nothing in them runs but the page, and nobody is answered but this machine's browser."""

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from email.message import Message
from html.parser import HTMLParser
from http.client import HTTPConnection
from io import BytesIO
from threading import Thread
from typing import Any

import pytest
from PIL import Image
from seen_models import classified, read, translated

from regard.errors import InputError
from regard.looking.page.document import bundle, check_runs, safe_json, static_document
from regard.looking.page.live import Live
from regard.looking.page.server import Handler, PageServer, same

NASTY = "</script><script>alert(1)</script><!--\u2028\u2029&"


class Scripts(HTMLParser):
    """What a browser would take for a script, and what for text in one."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.kinds: list[str] = []
        self.contents: list[str] = []
        self._inside = False
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script"
        if self._inside:
            self.kinds.append(dict(attrs).get("type") or "")
            self.contents.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.contents[-1] += data


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer(Live([read("the quick brown ")])) as found:
        Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield found
        found.shutdown()


def asked(
    server: PageServer, path: str, method: str = "GET", body: Any = None, secret: str | None = None, **heads: str
) -> tuple[int, bytes, dict[str, str]]:
    connection = HTTPConnection(*server.server_address[:2], timeout=20)
    given = {name.replace("_", "-"): value for name, value in heads.items()}
    path = f"/{server.secret}{path}" if secret is None else f"{secret}{path}"
    connection.request(method, path, body if isinstance(body, bytes | None) else json.dumps(body), given)
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def test_nothing_in_json_ends_a_script() -> None:
    said = safe_json({"text": NASTY})
    assert not set("<>&\u2028\u2029") & set(said)
    assert json.loads(said) == {"text": NASTY}


def test_a_document_holds_one_script_and_asks_nobody() -> None:
    text = static_document([translated("transformer")])
    scripts = Scripts(text)
    assert scripts.kinds.count("module") == 1
    assert set(scripts.kinds) == {"module", "application/json", "text/plain"}
    assert scripts.contents[scripts.kinds.index("module")] == bundle()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert json.loads(scripts.contents[0])["looks"][0]["read"]


def test_modules_hand_each_other_what_they_import() -> None:
    text = bundle()
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)
    names = re.findall(r"^const (module_\w+) = ", text, re.MULTILINE)
    assert len(names) == len(set(names))
    for name in names:  # none is used before it is made
        assert text.index(f"const {name} = ") + len("const ") == text.index(name)
    for wanted, name in re.findall(r"^const \{([^}]*)\} = (module_\w+);", text, re.MULTILINE):
        exported = re.search(rf"const {name} = .*?\nreturn \{{ ([^}}]*) \}};", text, re.DOTALL)
        assert exported
        assert {one.strip() for one in wanted.split(",")} <= {one.strip() for one in exported[1].split(",")}


def test_four_runs_of_one_task_at_most() -> None:
    look = translated("additive")
    with pytest.raises(InputError, match="too many"):
        check_runs([look] * 5)
    with pytest.raises(InputError, match="these are of language and translation"):
        check_runs([replace(look, about={"task": task}) for task in ("translation", "language")])


def test_the_page_and_its_numbers_are_handed_out(server: PageServer) -> None:
    status, page, heads = asked(server, "/")
    assert status == 200
    assert b"connect-src 'self'" in page
    assert heads["X-Content-Type-Options"] == "nosniff"
    assert heads["X-Frame-Options"] == "DENY"  # no other site may show it inside itself
    assert heads["Cross-Origin-Resource-Policy"] == "same-origin"
    assert heads["Cache-Control"] == "no-store"
    assert server.server_address[0] == "127.0.0.1"
    for path in ("/bytes/0/table/masked.0.1", "/bytes/0/table/masked?rows=0:4&columns=1:3", "/bytes/0/overview/masked"):
        assert asked(server, path)[0] == 200
    assert asked(server, "/bytes/0/vectors/masked.0.1")[0] == 200
    assert len(json.loads(asked(server, "/json/0/written_steps")[1])["steps"]) == 17
    assert {one["name"] for one in json.loads(asked(server, "/json/0/heads")[1])} == {
        f"masked.{n}.{h}" for n in (0, 1) for h in (0, 1)
    }


def test_a_live_page_begins_with_what_was_asked_for() -> None:
    look = read("the quick brown ")
    for words, wanted in ((None, look.words), (True, True), (False, False)):
        with PageServer(Live([look]), words=words) as server:
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            page = asked(server, "/")[1].decode()
            server.shutdown()
        assert json.loads(Scripts(page).contents[0])["words"] is wanted


def test_a_token_is_forced_undone_and_heads_are_off(server: PageServer) -> None:
    forced = json.loads(asked(server, "/do/0/force", "POST", {"step": 3, "id": 5, "tokens": 2})[1])
    ids = forced["sides"]["inputs"]["ids"]
    assert ids[4] == 5
    assert len(ids) <= 7
    assert len(json.loads(asked(server, "/do/0/undo", "POST", {})[1])["sides"]["inputs"]["ids"]) == 17
    assert len(json.loads(asked(server, "/do/0/undo", "POST", {})[1])["sides"]["inputs"]["ids"]) == 17
    without = json.loads(asked(server, "/do/0/without", "POST", {"heads": ["masked.0.1"]})[1])
    assert without["loss"][0] != without["loss"][1]


def test_branches_are_bounded_and_the_first_look_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.looking.page.live.BRANCHES", 2)
    first = read("the quick ")
    live = Live([first])
    for step in range(5):
        live.act(0, "force", {"step": step, "id": 5, "tokens": 0})
    assert len(live._looks[0]) == 3
    for _ in range(3):
        live.act(0, "undo", {})
    assert live.looks == [first]


BAD = {
    "another name": ("GET", "/", {"Host": "evil.example"}, None, 403),
    "nothing": ("GET", "/etc/passwd", {}, None, 404),
    "upwards": ("GET", "/bytes/0/table/../../x", {}, None, 404),
    "no look": ("GET", "/bytes/7/table/masked", {}, None, 400),
    "no head": ("GET", "/bytes/0/table/masked.9.9", {}, None, 400),
    "no kind": ("GET", "/bytes/0/overview/cross", {}, None, 400),
    "no rows": ("GET", "/bytes/0/table/masked?rows=9999999999:2", {}, None, 400),
    "by GET": ("GET", "/do/0/undo", {}, None, 404),
    "no table": ("POST", "/do/0/force", {}, [1], 400),
    "no step": ("POST", "/do/0/force", {}, {"step": 99, "id": 1}, 400),
    "truth": ("POST", "/do/0/force", {}, {"step": True, "id": 1}, 400),
    "no id": ("POST", "/do/0/force", {}, {"step": 1, "id": 10**9}, 400),
    "endless": ("POST", "/do/0/force", {}, {"step": 1, "id": 1, "tokens": 10**9}, 400),
    "no names": ("POST", "/do/0/without", {}, {"heads": [1]}, 400),
    "too many names": ("POST", "/do/0/without", {}, {"heads": ["masked.0.0"] * 2001}, 400),
    "of unknown size": ("GET", "/json/0/heads", {"Transfer_Encoding": "chunked"}, None, 400),
    "too much": ("POST", "/do/0/without", {}, {"heads": ["x" * 70_000]}, 400),
    "no images": ("POST", "/do/0/picture", {}, b"x", 400),
    "no class": ("POST", "/do/0/class", {}, {"id": 0}, 400),
    "no pixels": ("GET", "/bytes/0/image/pixels", {}, None, 400),
    "too many fields": ("GET", "/bytes/0/table/masked?a=1&b=2&c=3&d=4&e=5", {}, None, 400),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(case: str, server: PageServer, capsys: pytest.CaptureFixture[str]) -> None:
    method, path, heads, body, wanted = BAD[case]
    status, said, _ = asked(server, path, method, body, **heads)
    assert status == wanted, said
    assert len(said) < 400
    assert asked(server, "/bytes/0/table/masked")[0] == 200  # and it stays up
    assert not capsys.readouterr().err  # the terminal is not told of what a browser gets wrong


@pytest.mark.parametrize("path", ["/", "/bytes/0/table/masked", "/json/0/heads", "/do/0/undo"])
def test_who_does_not_know_the_secret_gets_nothing(path: str, server: PageServer) -> None:
    for guess in ("", "/", "/x", "/%00", f"/{server.secret[:-1]}"):
        for method in ("GET", "POST"):
            status, said, heads = asked(server, path, method, secret=guess)
            assert (status, b"quick" in said) == (403, False)
            assert server.secret.encode() not in said + str(heads).encode()
    assert server.secret not in asked(server, "/")[1].decode()  # nor does a saved copy of the page tell it


def test_a_ticket_leads_to_the_page_once(server: PageServer) -> None:
    """The command line that starts a browser can be read by other users of a machine."""
    (ticket,) = re.findall(r"/[\w-]{20,}(?=/$)", server.ticket)
    assert server.secret not in ticket
    assert asked(server, "/", "POST", secret=ticket)[0] == 403
    status, _, heads = asked(server, "/", secret=ticket)
    assert (status, heads["Location"]) == (303, f"/{server.secret}/")
    assert asked(server, "/", secret=ticket)[0] == 403


def test_two_requests_at_once_do_not_both_have_the_ticket(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first is being compared."""
    (ticket,) = re.findall(r"/([\w-]{20,})/$", server.ticket)
    taken: list[bool] = []
    second = Thread(target=lambda: taken.append(server.take_ticket(ticket)))

    def compare(one: str, other: str) -> bool:
        monkeypatch.setattr("regard.looking.page.server.same", same)
        second.start()
        second.join(timeout=0.2)
        return same(one, other)

    monkeypatch.setattr("regard.looking.page.server.same", compare)
    taken.append(server.take_ticket(ticket))
    second.join()
    assert sorted(taken) == [False, True]


def drawn(size: tuple[int, int]) -> bytes:
    Image.new("L", size).save(out := BytesIO(), "PNG")
    return out.getvalue()


def test_an_image_is_taken_within_bounds_and_from_the_page_alone() -> None:
    with PageServer(Live([classified()])) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        status, said, _ = asked(server, "/do/0/picture?name=a%2Fb.png", "POST", drawn((600, 400)))
        assert (status, json.loads(said)["read"]) == (200, "a/b.png")
        assert len(asked(server, "/bytes/0/image/pixels")[1]) == 12 + 8 * 12
        for part in ("", "?rows=0:3", "?columns=6:7"):
            assert len(asked(server, f"/bytes/0/looks/encoder{part}")[1]) == 20 + 4 * 7 * 2
        whole, beyond = (asked(server, f"/bytes/0/looks/encoder?rows=0:{stop}")[1] for stop in (7, 999))
        assert beyond == whole
        large = drawn((600, 400)) + b"\0" * 70_000  # more than anything else may be
        assert asked(server, "/do/0/picture", "POST", large)[0] == 200
        assert asked(server, "/do/0/picture", "POST", drawn((600, 400)), secret="/x")[0] == 403
        for harm, why in ((drawn((10_000, 10_000)), b"50 million pixels"), (b"GIF89a", b"no image"), (b"", b"empty")):
            status, said, _ = asked(server, "/do/0/picture?name=x", "POST", harm)
            assert (status, why in said) == (400, True), said
        assert asked(server, "/bytes/0/looks/masked")[0] == 400
        assert asked(server, "/do/0/class", "POST", {"id": 3})[0] == 400
        server.shutdown()


def test_half_a_request_harms_nobody(server: PageServer) -> None:
    for said in (b"GET / HTTP/1.1\r\n", b"\x00\xff" * 50, b"POST /do/0/undo HTTP/1.1\r\nContent-Length: 99\r\n\r\n{"):
        with socket.create_connection(server.server_address[:2]) as half:
            half.sendall(said)
    assert asked(server, "/bytes/0/table/masked")[0] == 200


def test_what_is_no_address_is_answered(server: PageServer, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_connection(server.server_address[:2], timeout=20) as raw:
        raw.sendall(f"GET http://[x/{server.secret}/ HTTP/1.1\r\nHost: {server.names[0]}\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 400 ")
    assert not capsys.readouterr().err


def test_a_browser_that_goes_away_is_not_told_of(server: PageServer, capsys: pytest.CaptureFixture[str]) -> None:
    class Gone(Handler):
        def __init__(self) -> None:
            self.path, self.headers, self.server = f"/{server.secret}/", Message(), server
            self.headers["Host"], self.rfile = server.names[0], BytesIO()

        def _send(self, *_: Any) -> None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        Gone().do_GET()
    assert not capsys.readouterr().err


def test_many_who_ask_at_once_wait_for_their_turn() -> None:
    """They are kept waiting, not turned away: nobody is taken in meanwhile."""
    with PageServer(Live([read("the quick brown ")])) as busy:
        waiting = [socket.create_connection(busy.server_address[:2], timeout=2) for _ in range(60)]
        for one in waiting:
            one.close()


def test_a_port_in_use_is_said_in_a_line(server: PageServer) -> None:
    with pytest.raises(InputError, match=f"port {server.server_address[1]}: another program has it"):
        PageServer(server.live, server.server_address[1])
