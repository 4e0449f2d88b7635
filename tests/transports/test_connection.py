"""Guard and MCP door on one connection of our HTTP server: one answer for each request, with the same checks each time.

``tools/list`` is answered at once; the answer to a call comes from another thread.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.asking import AskingStage
from support.toolsets import PATIENCE
from support.vaults import open_vault
from support.wire import STATELESS_REVISION, envelope
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server import workers
from vaultwire.server.handlers import Handlers
from vaultwire.transports import guard, streamable_http
from vaultwire.transports.guard import Observer
from vaultwire.transports.http_server import LOCAL, Endpoint, Limits, Server
from vaultwire.transports.http_server.connection import Connection, ConnectionMemory
from vaultwire.trust.policy import Policy
from vaultwire.vault.caller import MEMORY_BUDGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import App, Receive, Scope, Send

MOST_BYTES = 2000
PAGE = "https://page.example"
# What differs between any two answers: numbers of requests, times, and how long those are (which ``_is_whole`` looks at).
VARYING = re.compile(
    rb'(?<=x-request-id: )\S+|(?<="executionTime":)[\d.]+|(?<="timestamp":")[^"]+|(?<=date: )[^\r]+|(?<=length: )\d+'
)


class Heard(Observer):
    """Remembers what it hears."""

    def __init__(self) -> None:
        super().__init__(log_json=False, metrics=False)
        self.listens = True
        self.began = self.begin
        self.began_count = 0
        self.ends: list[tuple[str, int, str]] = []
        self.crashes: list[str] = []

    def begin(self, _id: bytes) -> None:
        self.began_count += 1

    def ended(self, *, door: str, status: int, key: str, **_: object) -> None:
        self.ends.append((door, status, key))

    def crashed(self, *, what: str, **_: object) -> None:
        self.crashes.append(what)


class Wire(asyncio.Transport):
    """The other side of a connection: what was written to it, and who waits for more."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.wanted = asyncio.Event()
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.written += data
        self.wanted.set()

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Hall:
    """The guard before the MCP door, and connections to it."""

    def __init__(self, handlers: Handlers, owner: Callable[[str], str | None], *, key_required: bool) -> None:
        self.observer = Heard()
        identity = Identity("test", "Test", "1", {"tools": {}, "logging": {}}, "Be kind.")
        mcp = streamable_http.StreamableHttp(
            workers.Workers(handlers),
            lambda revision: Session(identity, handlers.methods, revision=revision),
            guard.KEY_NAME,
        )
        rules = guard.Rules(("localhost",), any_address=False, origins=(PAGE,), key_required=key_required, owner=owner)
        self.app = guard.Guard([guard.Door("mcp", "/mcp", mcp, MOST_BYTES)], rules, self.observer)


class Line:
    """One connection to a callable, from the client's side."""

    def __init__(self, app: App) -> None:
        server = self.server = Server(Limits())
        server.loop = asyncio.get_running_loop()
        server.date = b"date: x\r\n"
        endpoint = Endpoint(app, socket.socket())
        endpoint.listener.close()
        self.connection = Connection(server, endpoint, LOCAL)
        self.wire = Wire()
        self.connection.connection_made(self.wire)

    async def ask(self, *pieces: bytes) -> bytes:
        """Send the pieces one after the other, and return the answer."""
        for piece in pieces:
            self.connection.data_received(piece)
        return await self.answer()

    async def answer(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            while not _is_whole(self.wire.written):
                self.wire.wanted.clear()
                await self.wire.wanted.wait()
        answer, self.wire.written = self.wire.written, b""
        return answer


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(end) and (length is None or len(body) == int(length[1]))


async def crash(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise ZeroDivisionError


def request(message: dict[str, Any], path: str = "/mcp", **headers: str) -> tuple[bytes, bytes]:
    """Return the head and the body of a request."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode()
    lines = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **{name.replace("_", "-"): value for name, value in headers.items()},
        "Content-Length": str(len(body)),
    }
    head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    return head.encode(), body


def listing(**headers: str) -> tuple[bytes, bytes]:
    return request({"method": "tools/list"}, **headers)


def call(tool: str = "may_ask", **headers: str) -> tuple[bytes, bytes]:
    return request({"method": "tools/call", "params": {"name": tool, "arguments": {}}}, **headers)


def stateless(method: str) -> tuple[bytes, bytes]:
    params: dict[str, Any] = {"_meta": envelope()}
    routing = {"MCP_Protocol_Version": STATELESS_REVISION, "Mcp_Method": method}
    if method == "tools/call":
        params |= {"name": "may_ask", "arguments": {}}
        routing["Mcp_Name"] = "may_ask"
    return request({"method": method, "params": params}, **routing)


ANSWERS = {"tools/list": b'"tools":[', "tools/call": b'"text":"sure"'}
both_methods = pytest.mark.parametrize("method", ANSWERS)


def asking(method: str, **headers: str) -> tuple[bytes, bytes]:
    return call(**headers) if method == "tools/call" else listing(**headers)


@pytest.fixture
def handlers(stage: AskingStage, tmp_path: Path) -> Handlers:
    by_class = {"file": PATIENCE, "search": PATIENCE}
    return Handlers(stage.toolset(), lambda: open_vault(tmp_path), Policy(), by_class)


@pytest.fixture
def hall(handlers: Handlers) -> Hall:
    return Hall(handlers, lambda _: None, key_required=False)


async def warmed(hall: Hall, **headers: str) -> Line:
    """Return a connection on which a call was answered."""
    line = Line(hall.app)
    assert b'"result"' in await line.ask(b"".join(call(**headers)))
    return line


async def open_session(line: Line) -> dict[str, str]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}
    opened = await line.ask(b"".join(request({"method": "initialize", "params": params})))
    found = re.search(rb"mcp-session-id: (\S+)", opened)
    assert found is not None
    return {"Mcp_Session_Id": found[1].decode(), "MCP_Protocol_Version": "2025-11-25"}


# ---------------------------------------------------------------------- the same answer


@both_methods
@pytest.mark.parametrize("kind", ["stateless", "no session", "session"])
def test_however_a_request_is_cut_its_answer_is_the_same_to_the_byte(hall: Hall, kind: str, method: str) -> None:
    async def main() -> None:
        line = await warmed(hall)
        headers = await open_session(line) if kind == "session" else {}
        head, body = stateless(method) if kind == "stateless" else asking(method, **headers)
        answers = [
            await line.ask(head + body),
            await line.ask(head + body),
            await line.ask(head, body),
            await line.ask(head[:20], head[20:] + body[:5], body[5:]),
            await line.ask(head + body[:1], *(body[number : number + 1] for number in range(1, len(body)))),
        ]
        assert answers[0].startswith(b"HTTP/1.1 200 OK\r\n")
        assert ANSWERS[method] in answers[0]
        assert {VARYING.sub(b"", answer) for answer in answers} == {VARYING.sub(b"", answers[0])}

    asyncio.run(main())


@both_methods
def test_the_last_answer_of_a_connection_says_so(hall: Hall, method: str) -> None:
    async def main() -> None:
        await warmed(hall)
        head, body = asking(method, Connection="close")
        answers = []
        for pieces in ([head + body], [head, body]):
            line = Line(hall.app)
            answers.append(VARYING.sub(b"", await line.ask(*pieces)))
            assert line.wire.is_closed
        assert answers[0] == answers[1]
        assert b"connection: close\r\n\r\n" in answers[0]

    asyncio.run(main())


@both_methods
def test_a_client_that_takes_nothing_is_waited_for(hall: Hall, method: str) -> None:
    async def main() -> None:
        line = await warmed(hall)
        await asyncio.gather(*line.server.tasks)
        line.connection.pause_writing()
        before = hall.observer.began_count
        line.connection.data_received(b"".join(asking(method)))
        await asyncio.sleep(0)
        assert hall.observer.began_count == before  # no answer is made that nobody takes
        line.connection.resume_writing()
        assert ANSWERS[method] in await line.answer()

    asyncio.run(main())


def test_no_call_is_ever_run_by_the_doors_own_thread_however_quick_it_was(hall: Hall, stage: AskingStage) -> None:
    async def main() -> None:
        line = await warmed(hall)
        for _ in range(200):
            await line.ask(b"".join(call()))

    asyncio.run(main())
    assert (len(stage.order), set(stage.order)) == (201, {"vaultwire-worker"})


def test_a_call_whose_client_has_left_is_not_held_on_to(hall: Hall, stage: AskingStage) -> None:
    async def main() -> None:
        line = await warmed(hall)
        before = len(hall.observer.ends)
        params = {"name": "count", "arguments": {"gate": "a"}}
        line.connection.data_received(b"".join(request({"method": "tools/call", "params": params})))
        line.wire.is_closed = True
        line.connection.connection_lost(None)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*line.server.tasks)
        assert hall.observer.ends[before:] == [("mcp", 499, "")]
        assert line.wire.written == b""

    asyncio.run(main())
    stage.gate("a").released.set()


def test_an_error_is_answered_the_same_however_its_request_is_cut(hall: Hall) -> None:
    async def main() -> None:
        line = await warmed(hall)
        head, body = call("no such tool")
        answers = [VARYING.sub(b"", await line.ask(*pieces)) for pieces in ([head + body], [head + body], [head, body])]
        assert b'"code":-32602' in answers[0]
        assert len(set(answers)) == 1

    asyncio.run(main())


# ---------------------------------------------------------------------- the same checks

REFUSED = [
    pytest.param({"Host": "evil.example"}, 421, id="another name"),
    pytest.param({"Origin": "https://evil.example"}, 403, id="a page from elsewhere"),
    pytest.param({"Padding": "x" * 20_000}, 431, id="too long a head"),
    pytest.param({"X_Api_Key": "wrong"}, 401, id="no key of ours"),
    pytest.param({"X_Api_Key": ""}, 401, id="an empty key"),
]


@pytest.mark.parametrize(("headers", "status"), REFUSED)
def test_what_may_not_come_in_is_refused_however_often_it_comes(
    handlers: Handlers, stage: AskingStage, headers: dict[str, str], status: int
) -> None:
    async def main() -> None:
        hall = Hall(handlers, {"right": "somebody"}.get, key_required=True)
        line = await warmed(hall, X_Api_Key="right")
        ran = len(stage.order)
        head, body = call(**{"X_Api_Key": "right", **headers})
        for _ in range(3):
            assert (await line.ask(head + body)).startswith(b"HTTP/1.1 %d " % status)
        assert len(stage.order) == ran
        assert hall.observer.ends[-1][1] == status
        assert b'"text":"sure"' in await line.ask(b"".join(call(X_Api_Key="right")))

    asyncio.run(main())


def test_a_body_that_is_too_long_is_refused_each_time(hall: Hall, stage: AskingStage) -> None:
    async def main() -> None:
        line = await warmed(hall)
        ran = len(stage.order)
        arguments = {"sure": True, "more": "x" * MOST_BYTES}
        long = b"".join(request({"method": "tools/call", "params": {"name": "may_ask", "arguments": arguments}}))
        for _ in range(3):
            assert (await line.ask(long)).startswith(b"HTTP/1.1 413 ")
        assert len(stage.order) == ran

    asyncio.run(main())


def test_a_key_that_was_taken_back_opens_nothing_at_the_very_next_call(handlers: Handlers, stage: AskingStage) -> None:
    async def main() -> None:
        owners = {"key": "somebody"}
        hall = Hall(handlers, owners.get, key_required=True)
        line = await warmed(hall, X_Api_Key="key")
        assert hall.observer.ends[-1] == ("mcp", 200, "somebody")
        ran = len(stage.order)
        owners.clear()
        assert (await line.ask(b"".join(call(X_Api_Key="key")))).startswith(b"HTTP/1.1 401 ")
        assert len(stage.order) == ran
        owners["key"] = "somebody"
        await line.ask(b"".join(call(X_Api_Key="key")))
        assert len(stage.order) == ran + 1

    asyncio.run(main())


def test_a_page_that_may_call_is_told_that_it_may_read_the_answer(hall: Hall) -> None:
    async def main() -> None:
        line = await warmed(hall)
        for _ in range(2):
            answer = await line.ask(b"".join(call(Origin=PAGE)))
            assert b"access-control-allow-origin: https://page.example\r\n" in answer
            assert b'"text":"sure"' in answer

    asyncio.run(main())


# ---------------------------------------------------------------------- who hears of it


def test_each_exchange_is_told_of_once(hall: Hall) -> None:
    async def main() -> None:
        line = await warmed(hall)
        before = len(hall.observer.ends)
        for method in ANSWERS:
            head, body = asking(method)
            await line.ask(head + body)
            await line.ask(head, body)
        assert hall.observer.ends[before:] == [("mcp", 200, "")] * 4

    asyncio.run(main())


def test_a_door_that_crashes_is_an_answer_and_a_word_in_the_log() -> None:
    async def main() -> None:
        observer = Heard()
        rules = guard.Rules(("localhost",), any_address=False, origins=(), key_required=False, owner=lambda _: None)
        guarded = guard.Guard([guard.Door("broken", "/", crash, MOST_BYTES)], rules, observer)
        line = Line(guarded)
        for count in (1, 2):
            answer = await line.ask(b"".join(request({}, "/")))
            assert answer.startswith(b"HTTP/1.1 500 ")
            assert observer.crashes == ["POST /"] * count
            assert observer.ends == [("broken", 500, "")] * count

    asyncio.run(main())


def test_an_app_without_a_guard_that_crashes_ends_the_connection() -> None:
    async def main() -> None:
        line = Line(crash)
        line.connection.data_received(b"".join(request({}, "/")))
        await asyncio.gather(*line.server.tasks)
        assert line.wire.is_closed
        assert line.wire.written == b""

    asyncio.run(main())


class KeepsAll:
    """A transport that has sent a part, and keeps all it was given until the rest is taken, as that of an event loop does."""

    def __init__(self) -> None:
        self.left = 0

    def write(self, data: bytes) -> None:
        self.left += len(data) // 8

    def get_write_buffer_size(self) -> int:
        return self.left


def test_an_answer_counts_whole_until_its_client_has_taken_all_of_it() -> None:
    transport: Any = KeepsAll()
    loop: Any = None
    memory = ConnectionMemory(loop, transport)
    before = MEMORY_BUDGET.total
    for _ in range(3):
        memory.is_blocked = True
        memory.write(b"x" * 800_000)
        memory.write(b"x" * 80_000)
        assert MEMORY_BUDGET.total - before == 880_000
        transport.left = 0
        memory.is_blocked = False
        memory.count()
        assert MEMORY_BUDGET.total == before
