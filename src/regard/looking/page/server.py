"""The page, live: a small server for this machine alone.

It listens on 127.0.0.1 and answers to that name only, so that no other site can reach it by a name of its own. Other
users of the machine can reach it, too; so a secret is part of the address, and who does not know it gets nothing. It
reads little, and writes no file.
"""

import errno
import re
import secrets
import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

from regard.disk.files import json_text
from regard.disk.parsing import json_value
from regard.errors import ORDERS, InputError
from regard.looking.page.document import live_document
from regard.looking.page.images import LARGEST_FILE
from regard.looking.page.live import Live

HOME = "127.0.0.1"
LARGEST = 65536  # bytes that are read of a request
PATIENCE = 30.0  # seconds for a browser to say what it wants
PATH = re.compile(r"(bytes|json|do)/(\d{1,2})/([a-z_]{1,20})(?:/([\w.]{1,80}))?")
SECRET = 24  # random bytes


class PageServer(ThreadingHTTPServer):
    """Answers for one page until it is closed."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128  # five by default: a page that asks for much at once would be turned away

    def __init__(self, live: Live, port: int = 0, words: bool | None = None) -> None:
        self.live, self.words = live, words
        self.secret, self._ticket = secrets.token_urlsafe(SECRET), secrets.token_urlsafe(SECRET)
        # requests are answered in threads of their own, and two may hold the ticket
        self._ticket_lock = Lock()
        try:
            super().__init__((HOME, port), Handler)
        except OverflowError:
            raise InputError(f"port {port}: wanted a number from 0 to 65535") from None
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "another program has it" if taken else error.strerror or str(error)
            raise InputError(
                f"port {port}: {why}; ", flag="leave out --port, and a free one is taken", call="0 takes a free one"
            ) from error

    @property
    def address(self) -> str:
        """What to open in a browser; the secret is its path."""
        return f"http://{HOME}:{self.server_address[1]}/{self.secret}/"

    @property
    def ticket(self) -> str:
        """An address that leads to the page once: other users can read the command line that starts a browser."""
        return f"http://{HOME}:{self.server_address[1]}/{self._ticket}/"

    def take_ticket(self, asked: str) -> bool:
        """Whether this is the ticket, which is used up then."""
        with self._ticket_lock:
            valid = same(asked, self._ticket)
            if valid:
                self._ticket = secrets.token_urlsafe(SECRET)
            return valid

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called by whoever asks."""
        return tuple(f"{name}:{self.server_address[1]}" for name in (HOME, "localhost"))

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes away in the middle is nobody's mistake."""
        error = sys.exception() if sys.version_info >= (3, 12) else sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            _complain(error)


class Handler(BaseHTTPRequestHandler):
    """One request: a page, some bytes, some JSON, or something done."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Regard", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        """The page, and all numbers."""
        self._answer("GET")

    def do_POST(self) -> None:
        """What changes something."""
        self._answer("POST")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing is said of requests that go well."""

    def _answer(self, method: str) -> None:
        try:
            (secret, asked), part = _asked(self.path)
            if not self._is_known(secret):
                return self._turn_away(method, secret)
            body = self._body(asked)
            if body is None:
                return self._say(
                    HTTPStatus.BAD_REQUEST, f"too much (images: {LARGEST_FILE >> 20} MiB), or of unknown size"
                )
            return self._found(method, asked, part, body)
        except InputError as error:
            return self._say(HTTPStatus.BAD_REQUEST, str(error))
        except (ConnectionError, TimeoutError):
            raise  # nobody is left to be told
        except Exception as error:  # the page stays up, and says what it could not do
            _complain(error)
            return self._say(HTTPStatus.INTERNAL_SERVER_ERROR, f"that went wrong: {type(error).__name__}")

    def _found(self, method: str, asked: str, part: Mapping[str, str], body: bytes) -> None:
        if not asked and method == "GET":
            page = live_document(self.server.live.looks, self.server.words)
            return self._send(page.encode("utf-8", "replace"), "text/html; charset=utf-8")
        found = PATH.fullmatch(asked)
        if found is None or (found[1] == "do") != (method == "POST"):
            return self._say(HTTPStatus.NOT_FOUND, "nothing here")
        if found[1] == "bytes":
            content = self.server.live.numbers(int(found[2]), found[3], found[4] or "", part)
            return self._send(content, "application/octet-stream")
        if found[3] == "picture" and method == "POST":
            given = {"content": body, "name": part.get("name", "")}
            return self._json(self.server.live.act(int(found[2]), "picture", given))
        return self._told(int(found[2]), found[3], body if method == "POST" else None)

    def _told(self, look: int, what: str, body: bytes | None) -> None:
        if body is None:
            return self._json(self.server.live.facts(look, what))
        given = json_value(body)
        if not isinstance(given, dict):
            return self._say(HTTPStatus.BAD_REQUEST, "wanted a table in JSON")
        return self._json(self.server.live.act(look, what, given))

    def _body(self, asked: str) -> bytes | None:
        """What is sent; much of it only as an image."""
        size = self.headers.get("Content-Length", "0")
        found = PATH.fullmatch(asked)
        most = LARGEST_FILE if found is not None and found[3] == "picture" else LARGEST
        if not size.isdecimal() or len(size) > 9 or int(size) > most or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            return None
        return self.rfile.read(int(size))

    def _json(self, value: object) -> None:
        self._send(json_text(value).encode("utf-8", "replace"), "application/json")

    def _is_known(self, secret: str) -> bool:
        return self.headers.get("Host") in self.server.names and same(secret, self.server.secret)

    def _turn_away(self, method: str, secret: str) -> None:
        """Nothing of what was sent is read; who has the ticket is told where the page is."""
        self.close_connection = True
        if self.headers.get("Host") not in self.server.names:
            return self._say(HTTPStatus.FORBIDDEN, "this page is for this machine alone")
        if method == "GET" and self.server.take_ticket(secret):
            return self._send(b"", "text/plain", HTTPStatus.SEE_OTHER, Location=f"/{self.server.secret}/")
        wanted = "open the whole address that `regard look` printed; every start has another"
        return self._say(HTTPStatus.FORBIDDEN, wanted)

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(text.encode("utf-8", "replace"), "text/plain; charset=utf-8", status)

    def _send(self, content: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK, **more: str) -> None:
        self.send_response(status)
        heads = {"Content-Type": kind, "Content-Length": str(len(content)), "Cache-Control": "no-store"}
        heads |= {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}
        heads |= {"Cross-Origin-Resource-Policy": "same-origin"}
        for name, value in (heads | more).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal; how long this takes does not tell how much of them is."""
    return secrets.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _asked(path: str) -> tuple[tuple[str, str], dict[str, str]]:
    """The secret and the name that is asked for, and what is said of it behind a question mark."""
    try:
        parts = urlsplit(path)
        secret, _, name = parts.path.removeprefix("/").partition("/")
        return (secret, name), dict(parse_qsl(parts.query, max_num_fields=4))
    except ValueError as error:
        raise InputError("that is no address of this page") from error


def _complain(error: BaseException | None) -> None:
    """Of what went wrong for the page; texts of strangers may be in it."""
    said = f"regard: the page asked in vain: {type(error).__name__}: {error}"
    print(said.translate(ORDERS), file=sys.stderr)
