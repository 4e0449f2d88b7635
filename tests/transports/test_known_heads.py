"""Heads that came before are not parsed again: nothing may come out of that but the same requests."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.serving import received
from vaultwire.transports import AT_ONCE, MEMO
from vaultwire.transports.http_server import Limits, run_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import Receive, Scope, Send

LAST = b"GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def tell(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with what the request was, by the shorter way where its path says so."""
    at_once = scope.pop(AT_ONCE) if scope["path"] == "/at-once" else None
    body: bytes | None = None if at_once is None else at_once.body()
    if body is None:
        body, is_all = b"", False
        while not is_all:
            message = await receive()
            body += message["body"]
            is_all = not message["more_body"]
    seen = scope[MEMO].setdefault("seen", [0])
    seen[0] += 1
    told = [scope["method"], scope["path"], [(name.decode(), value.decode()) for name, value in scope["headers"]]]
    answer = json.dumps([*told, body.decode()]).encode()
    headers = [(b"seen", b"%d" % seen[0]), (b"content-length", b"%d" % len(answer))]
    if at_once is None or not at_once.reply(200, b"seen: %d\r\n" % seen[0], answer):
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    ready = threading.Event()
    end: list[Any] = []

    def begin(stop: Any) -> None:
        end.append(stop)
        ready.set()

    async def on_stop() -> None:
        pass

    thread = threading.Thread(target=run_aside, args=(tell, listener, begin, on_stop, Limits()))
    thread.start()
    assert ready.wait(30)
    try:
        yield listener.getsockname()[1]
    finally:
        end[0]()
        thread.join(30)


def answers(port: int, pieces: list[bytes]) -> list[tuple[Any, int]]:
    """Return what was told of each request sent in these pieces, and which of its head it was."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece)
        rest = received(connection)
    found = []
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(lines[b"content-length"])
        found.append((json.loads(rest[:length]), int(lines[b"seen"])))
        rest = rest[length:]
    return found


def call(path: str, body: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", *headers, f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def told(path: str, body: str, *headers: str) -> list[Any]:
    lines = ["Host: localhost", *headers, f"Content-Length: {len(body)}"]
    return ["POST", path, [[line.split(": ")[0].lower(), line.split(": ")[1]] for line in lines], body]


@pytest.mark.parametrize("path", ["/", "/at-once"])
def test_requests_with_one_head_share_what_was_found_out_about_it(port: int, path: str) -> None:
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        for count in range(1, 6):
            connection.sendall(call(path, f"body {count}"))
            answer = connection.recv(1 << 16)
            assert b"\r\nseen: %d\r\n" % count in answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2]) == told(path, f"body {count}")


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(call("/", "a", "Expect: 100-continue"), id="asks before it sends its body"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", id="chunked"
        ),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="no body"),
        pytest.param(b"\r\n" + call("/", "a"), id="line before it"),
        pytest.param(call("/", "a", "Other: " + "o" * 5000), id="longer than is kept"),
    ],
)
def test_a_head_that_is_more_than_a_name_and_a_length_is_parsed_each_time(port: int, first: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        for _ in range(3):
            connection.sendall(first)
            answer = b""
            while b"\r\nseen: " not in answer:
                answer += connection.recv(1 << 16)
            assert b"\r\nseen: 1\r\n" in answer


def test_a_head_whose_end_another_reader_would_see_elsewhere_is_not_known(port: int) -> None:
    # The parser ends a head at a line break without a carriage return, too; so the body has what looks like an end.
    body = "x\r\n\r\n"
    odd = call("/", body).replace(b"Content-Length: 5\r\n\r\n", b"Content-Length: 5\n\r\n")
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        for _ in range(2):
            connection.sendall(odd)
            answer = connection.recv(1 << 16)
            if not answer.startswith(b"HTTP/1.1 200"):
                return  # this parser does not take it, which is as well
            assert json.loads(answer.partition(b"\r\n\r\n")[2])[3] == body
            assert b"\r\nseen: 1\r\n" in answer


REQUESTS = st.tuples(
    st.sampled_from(["/", "/at-once", "/other"]),
    st.sampled_from(["", "a", "b" * 3, "c" * 200, "\r\n\r\n", "POST / HTTP/1.1\r\n\r\n", "0\r\n\r\n"]),
    st.sampled_from([(), ("Accept: x",), ("Accept: x", "Other: y"), ("X-Long: " + "z" * 5000,)]),
)


@settings(max_examples=150)
@given(requests=st.lists(REQUESTS, min_size=1, max_size=12), data=st.data())
def test_however_requests_are_cut_and_sent_each_is_answered_as_it_was(
    port: int, requests: list[tuple[str, str, tuple[str, ...]]], data: st.DataObject
) -> None:
    sent = b"".join(call(path, body, *headers) for path, body, headers in requests) + LAST
    cuts = sorted(data.draw(st.sets(st.integers(1, len(sent) - 1), max_size=12), label="cuts"))
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    got = [what for what, _ in answers(port, pieces)]
    assert got[:-1] == [told(path, body, *headers) for path, body, headers in requests]
    assert got[-1][1] == "/last"


@settings(max_examples=100)
@given(requests=st.lists(REQUESTS, min_size=2, max_size=8), data=st.data())
def test_requests_that_wait_for_their_answers_are_answered_as_they_were(
    port: int, requests: list[tuple[str, str, tuple[str, ...]]], data: st.DataObject
) -> None:
    sent = [call(path, body, *headers) for path, body, headers in requests * 2]
    ahead = 0  # bytes of the next request that went out with the one before
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, (path, body, headers) in enumerate(requests * 2):
            request, following = sent[number][ahead:], [*sent, b""][number + 1]
            ahead = data.draw(st.sampled_from([0, 0, 1, 3, 20]), label="ahead") if following else 0
            cut = data.draw(st.sampled_from([0, len(body), 1, len(request) // 2]), label="cut")
            connection.sendall(request[: len(request) - cut])
            connection.sendall(request[len(request) - cut :] + following[:ahead])
            answer = b""
            while not answer.partition(b"\r\n\r\n")[2].endswith(b"]"):
                answer += connection.recv(1 << 16)
            assert json.loads(answer.partition(b"\r\n\r\n")[2]) == told(path, body, *headers)
