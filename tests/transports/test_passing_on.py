"""Requests that are passed on to another server: as they are, both ways, and ended with either side."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pytest

from support.http_service import ServiceThread
from vaultwire.transports import PASSED_ON, listening, read_body, send_whole
from vaultwire.transports.http_server import Endpoint, Limits
from vaultwire.transports.passing_on import pass_on

if TYPE_CHECKING:
    from vaultwire.transports import App, Message, Receive, Scope, Send

    Serve: TypeAlias = Callable[[App], str]

PATIENCE = 20.0
T = TypeVar("T")


class Nothing:
    """A service that is only its endpoint."""

    def begin(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def end(self) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves an app; returns its address."""
    with ExitStack() as running:

        def begin(app: App) -> str:
            listener = listening.bind("127.0.0.1", 0)
            service = ServiceThread(Nothing(), [Endpoint(app, listener, None, ())], Limits())
            running.callback(service.close)
            return listening.url(listener, tls=False)

        yield begin


def before(address: str) -> App:
    """Return an app that passes everything on to an address."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await pass_on(address, scope, receive, send)

    return app


def connected(address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)


def request(
    address: str, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = connected(address)
    try:
        connection.request(method, path, body, headers, encode_chunked=True)  # type: ignore[arg-type]
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the request as it came."""
    body = await read_body(receive)
    assert body is not None
    names = dict(scope["headers"])
    told = b"%s %s ? %s\n%s\n" % (scope["method"].encode(), scope["raw_path"], scope["query_string"], names[b"x-mine"])
    lines = [(b"content-type", b"text/plain"), (b"x-passed", names.get(PASSED_ON, b"no")), (b"set-cookie", b"a=1")]
    await send_whole(send, 200 if body else 404, [*lines, (b"set-cookie", b"b=2")], told + body)


@pytest.mark.parametrize("body", [b"some bytes", [b"in ", b"two pieces"], b"", b"x" * 700_000])
def test_a_request_and_its_answer_are_as_they_were(serve: Serve, body: bytes | list[bytes]) -> None:
    first = serve(echo)
    sent = (lambda: iter(body)) if isinstance(body, list) else (lambda: body)
    ways = [
        request(address, "POST", "/a%20b?c=d&e", sent(), **{"X-Mine": "1"}) for address in (first, serve(before(first)))
    ]
    (status, headers, data), (passed_status, passed_headers, passed_data) = ways
    assert (passed_status, passed_data) == (status, data)
    assert headers.pop("x-passed") == "no"
    assert passed_headers.pop("x-passed") == "1"
    assert {**passed_headers, "date": ""} == {**headers, "date": ""}


def test_an_answer_without_a_body_ends(serve: Serve) -> None:
    async def head(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send_whole(send, 200, [], b"12345")

    async def empty(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send_whole(send, 204, [])

    status, headers, body = request(serve(before(serve(head))), "HEAD", "/")
    assert (status, headers["content-length"], body) == (200, "5", b"")
    status, _, body = request(serve(before(serve(empty))), "GET", "/")
    assert (status, body) == (204, b"")


def test_a_stream_comes_piece_by_piece_and_ends_when_its_client_leaves(serve: Serve) -> None:
    has_left = threading.Event()

    async def stream(_scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        head: Message = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"text/event-stream")],
        }
        await send(head)
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        has_left.set()

    connection = connected(serve(before(serve(stream))))
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert answer.readline() == b"data: 1\n"
    assert not has_left.is_set()
    answer.close()
    connection.close()
    assert has_left.wait(PATIENCE)


def test_a_server_that_is_not_there_is_told(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    status, headers, body = request(serve(before(address)), "POST", "/", b"x")
    assert (status, headers["retry-after"]) == (503, "2")
    assert b"Nothing was done" in body


@pytest.mark.parametrize(
    ("body", "only_reads", "told"),
    [
        (b"x", False, b"has not answered, and perhaps has done it"),
        (b"x", True, b"has not answered. Nothing was changed."),
        (b"x" * 30_000_000, False, b"nor taken the whole request. Nothing was done."),
    ],
)
def test_a_paused_server_that_is_not_asked_any_more_is_told(
    serve: Serve, body: bytes, told: bytes, *, only_reads: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as paused:  # takes connections, and nothing more
        address = f"http://127.0.0.1:{paused.getsockname()[1]}"

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await pass_on(address, scope, receive, send, lambda: False, only_reads=only_reads)

        status, headers, answer = request(serve(app), "POST", "/", body)
    assert (status, headers["retry-after"]) == (503, "2")
    assert told in answer


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"no HTTP at all\r\n\r\n"])
def test_a_server_that_breaks_off_may_have_done_it(serve: Serve, answer: bytes) -> None:
    status, body = _through(serve, answer, _get)
    assert status == 503
    assert b"perhaps has done it" in body


def test_a_server_that_ends_the_connection_at_once_is_told(serve: Serve) -> None:
    # It may be lost before or after the head is written, so many tries meet both.
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:

        def reset() -> None:
            for _ in range(500):
                connection, _ = listener.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()

        threading.Thread(target=reset, daemon=True).start()  # not waited for: a connection may not have come
        address = serve(before(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        answers = [request(address, "POST", "/", b"a body") for _ in range(500)]
    assert {status for status, _, _ in answers} == {503}


def test_a_server_that_does_not_take_the_whole_request_has_not_done_it(serve: Serve) -> None:
    def begin(address: str) -> bytes:
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), PATIENCE) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nthe first of it")
            return connection.recv(65536)

    told = _through(serve, b"", begin)
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b"nor taken the whole request. Nothing was done" in told


def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(serve: Serve) -> None:
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        _through(serve, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", _get)
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        _through(serve, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", _get)


def _get(address: str) -> tuple[int, bytes]:
    status, _, body = request(address, "GET", "/")
    return status, body


def _through(serve: Serve, answer: bytes, ask: Callable[[str], T]) -> T:
    """Return what comes through from a server that sends these bytes and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                while b"\r\n\r\n" not in connection.recv(65536):
                    pass
                connection.sendall(answer)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            return ask(serve(before(f"http://127.0.0.1:{listener.getsockname()[1]}")))
        finally:
            thread.join()
