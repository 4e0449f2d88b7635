"""What a page may read of an answer: of the REST API every one, whoever gave it, so that the page learns why it failed."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.serving import Reply, Serving, received, stage
from support.vaults import write_vault
from vaultwire.transports.guard import MAX_HEAD_BYTES
from vaultwire.transports.rest import CORS, MAX_BODY_BYTES
from vaultwire.trust.keys import Keys

CALL = "/bridge/v1/tools/read_note/call"
BODY = b'{"arguments": {"path": "Note"}}'
ALL = {name.decode(): value.decode() for name, value in CORS}
PAGE = "https://app.example"


def cors_of(reply: Reply) -> dict[str, str]:
    return {name: value for name, value in reply.headers.items() if name in ALL}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe text\n")


@pytest.fixture(scope="module")
def server(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    state = tmp_path_factory.mktemp("state")
    Keys(str(state / "keys")).issue("right")
    with Serving(vault, "--require-key", "--allow-origin", PAGE, VAULTWIRE_STATE=str(state)) as started:
        yield started


@pytest.fixture(scope="module")
def open_server(vault: Path) -> Iterator[Serving]:
    with Serving(vault) as started:
        yield started


REFUSED: dict[str, tuple[int, str, str, bytes, dict[str, str]]] = {
    "no key": (401, "POST", CALL, BODY, {}),
    "a wrong key": (401, "POST", CALL, BODY, {"x_api_key": "wrong"}),
    "a page from elsewhere": (403, "POST", CALL, BODY, {"origin": "https://evil.example"}),
    "another name": (421, "POST", CALL, BODY, {"host": "evil.example"}),
    "no name": (400, "POST", CALL, BODY, {"host": ""}),
    "too long a head": (431, "POST", CALL, BODY, {"padding": "x" * MAX_HEAD_BYTES}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_page_can_read_why_it_was_turned_away(server: Serving, why: str) -> None:
    status, method, path, body, headers = REFUSED[why]
    reply = server.request(method, path, body, **headers)
    assert (reply.status, cors_of(reply)) == (status, ALL)
    assert set(reply.json) == {"error", "message"}


ANSWERED: dict[str, tuple[int, str, str, bytes | Iterator[bytes]]] = {
    "too long a body": (413, "POST", CALL, b" " * (MAX_BODY_BYTES + 1)),
    "a body that is no object": (400, "POST", CALL, b"[]"),
    "no such page": (404, "GET", "/bridge/v1/nothing", b""),
    "no such tool": (404, "POST", "/bridge/v1/tools/nothing/call", b'{"arguments": {}}'),
    "another method": (405, "GET", CALL, b""),
}


@pytest.mark.parametrize("why", ANSWERED)
def test_a_page_can_read_what_is_wrong_with_its_request(open_server: Serving, why: str) -> None:
    status, method, path, body = ANSWERED[why]
    reply = open_server.request(method, path, body)
    assert (reply.status, cors_of(reply)) == (status, ALL)


def test_a_body_of_unknown_length_that_gets_too_long_is_no_exception(open_server: Serving) -> None:
    reply = open_server.request("POST", CALL, iter([b" " * 100_000] * 11))
    assert (reply.status, cors_of(reply)) == (413, ALL)


def test_a_page_can_read_that_a_tool_crashed_and_that_there_was_no_place(tmp_path: Path) -> None:
    with stage(tmp_path, "--limits", '{"connections": 1, "head": 0.5}') as server:
        crashed = server.call("babble", {})
        assert (crashed.status, cors_of(crashed)) == (500, ALL)
        for begun, status in (
            (b"GET /bridge/v1/health HTTP/1.1\r\nX: ", 408),
            (b"nonsense\r\n\r\n", 400),
            (b"GET /bridge/v1/health HTTP/2.0\r\n\r\n", 505),
            (b"GET /bridge/v1/health HTTP/1.1\r\nX: " + b"x" * 40_000, 431),
        ):
            with server.connect() as connection:
                connection.sendall(begun)
                answer = received(connection)
            assert answer.startswith(b"HTTP/1.1 %d " % status)
            assert all(b"%s: %s\r\n" % header in answer for header in CORS)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe that looks like a file")
def test_a_page_can_read_that_too_many_calls_are_worked_on(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    body = json.dumps({"arguments": {"fifo": str(fifo)}}).encode()
    head = b"POST /bridge/v1/tools/wait/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with (
        stage(tmp_path, "--limits", '{"connections": 1}') as server,
        server.connect() as waiting,
        contextlib.ExitStack() as stack,
    ):
        waiting.sendall(head + body)
        pipe = os.open(fifo, os.O_WRONLY)
        stack.callback(os.close, pipe)
        with server.connect() as one_more:
            answer = received(one_more)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert all(b"%s: %s\r\n" % header in answer for header in CORS)


def test_a_page_that_may_call_reads_why_not_at_the_other_doors_too_and_no_other_page_does(server: Serving) -> None:
    for headers in ({}, {"host": "evil.example"}, {"padding": "x" * MAX_HEAD_BYTES}):
        mine = server.request("POST", "/mcp", b"{}", origin=PAGE, **headers)
        assert mine.status in (401, 421, 431)
        assert mine.headers["access-control-allow-origin"] == PAGE
        foreign = server.request("POST", "/mcp", b"{}", origin="https://evil.example", **headers)
        assert foreign.status in (403, 421, 431)
        assert "access-control-allow-origin" not in foreign.headers
