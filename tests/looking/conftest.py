"""One browser and one way to serve pages, for all tests that look at them."""

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from seen_browser import started

from regard.looking.look import Look
from regard.looking.page.live import Live
from regard.looking.page.server import PageServer


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.fixture
def live() -> Iterator[Any]:
    """Serves looks; closed in the end."""
    servers: list[PageServer] = []

    def serve(*looks: Look) -> PageServer:
        server = PageServer(Live(looks))
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()
